// What elements of a score are made of, as far as it matters where the score is cut into a function and sums.
#pragma once
#include "passes/Fusion/ScoreFunction.h"
#include "passes/Fusion/Views.h"
#include "llvm/ADT/DenseMap.h"
#include <list>

namespace skewer {

/// Arithmetic on tensors that is the same on single numbers of f32.
bool isArithmeticOnNumbers(mlir::Operation *);
/// How far a score is taken apart.
ExpansionOptions optionsOfScores();

class ScoreContents {
public:
  ScoreContents(const std::string &query, const std::string &key, const subscript::Domain &domain,
                const std::optional<subscript::Expr> &mask)
      : query(query), key(key), domain(domain), mask(mask) {}

  /// Whether it has a product of what the query picks with what the key picks, in a term or behind arithmetic.
  bool holds(const ElementOf &);
  /// Whether it is a sum of terms none of which has such a product behind arithmetic.
  bool isSum(const ElementOf &);
  /// Whether it has a product of a query's vector with a key's.
  bool hasKeyProduct(const ElementOf &);
  /// Whether all that its terms read is smaller than the score: what is computed for each query and key is not, unless
  /// `tables` are taken and it is a function of their offset, of which a table will be made (attn-tabulate-offsets).
  bool isSmall(const ElementOf &element) { return isSmall(element, tables); }
  bool isSmall(const ElementOf &, bool takesTables);
  bool tables = false;
  std::set<std::string> axes; // of the scores
  /// Whether it is several summands that hold no product: what is rounded by itself before it meets others.
  bool isBracket(const ElementOf &);

private:
  /// Whether what is computed for each pair is made of a tensor in memory that is no smaller, and at most half of what
  /// the scores would be: one for all heads is computed once.
  bool isOfPairsInMemory(const Factor &);
  bool readsPairs(const ElementOf &, unsigned depth = 0);
  double elements(const std::set<std::string> &axes) const;
  bool isOfOffset(const Factor &factor) const;
  const std::vector<Summand> &summandsOf(const ElementOf &);
  bool depends(const Factor &factor, const std::string &axis) const;
  /// Whether a factor of a term is made of a content by arithmetic: it would be held in memory, a number for each pair.
  bool hides(const Factor &);
  /// Whether the factor is one number for each pair, by which a product of vectors is scaled: no vector takes it up.
  bool scalesPairs(const Summand &, const Factor &) const;
  /// Something that the query picks and the key does not, times something that the key picks.
  bool isContent(const Summand &) const;

  std::string query, key;
  subscript::Domain domain;
  std::optional<subscript::Expr> mask;
  llvm::DenseMap<mlir::Value, bool> hidden;
  // What was asked for once: a cut asks several questions about the same elements. Lists, since references stay.
  llvm::DenseMap<mlir::Value, std::list<std::pair<std::vector<subscript::Expr>, std::vector<Summand>>>> expanded;
};

} // namespace skewer
