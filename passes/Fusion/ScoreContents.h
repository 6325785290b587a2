// Answers questions about the elements of a score, for ScoreFunction, which cuts the score into a function and sums.
#pragma once
#include "passes/Fusion/ScoreFunction.h"
#include "passes/Fusion/Views.h"
#include "llvm/ADT/DenseMap.h"
#include <list>

namespace skewer {

/// Returns whether the operation is arithmetic on tensors that works on single f32 numbers too.
bool isArithmeticOnNumbers(mlir::Operation *);
/// Returns how far an expansion takes a score apart.
ExpansionOptions optionsOfScores();

class ScoreContents {
public:
  ScoreContents(const std::string &query, const std::string &key, const subscript::Domain &domain,
                const std::optional<subscript::Expr> &mask)
      : query(query), key(key), domain(domain), mask(mask) {}

  /// Returns whether the element has a product of a tensor that the query indexes with one that the key indexes, in a
  /// term or behind arithmetic.
  bool holds(const ElementOf &);
  /// Returns whether the element is a sum of terms without such a product behind arithmetic.
  bool isSum(const ElementOf &);
  /// Returns whether the element has a product of a query vector with a key vector.
  bool hasKeyProduct(const ElementOf &);
  /// Returns whether all that the element's terms read is smaller than the score. A tensor that is computed for each
  /// query and key is not, unless `tables` are accepted and it is a function of the offset of query and key, which
  /// becomes a table (attn-tabulate-offsets).
  bool isSmall(const ElementOf &element) { return isSmall(element, tables); }
  bool isSmall(const ElementOf &, bool takesTables);
  bool tables = false;
  std::set<std::string> axes; // of the scores
  /// Returns whether the element is several summands without a product: such a sum is rounded on its own before others
  /// are added.
  bool isBracket(const ElementOf &);

private:
  /// Returns whether a tensor that is computed for each pair is made of a tensor in memory that is at least as large,
  /// and has at most half as many elements as the scores: it is then computed once for all heads.
  bool isOfPairsInMemory(const Factor &);
  bool readsPairs(const ElementOf &);
  double elements(const std::set<std::string> &axes) const;
  bool isOfOffset(const Factor &factor) const;
  const std::vector<Summand> &summandsOf(const ElementOf &);
  bool depends(const Factor &factor, const std::string &axis) const;
  /// Returns whether arithmetic makes a factor of a term from a content; memory would hold it, one number for each
  /// pair.
  bool hides(const Factor &);
  /// Returns whether the factor is one number for each pair that scales a product of vectors: no vector can take it up.
  bool scalesPairs(const Summand &, const Factor &) const;
  /// Returns whether the summand multiplies a tensor that the query indexes and the key does not with one that the key
  /// indexes.
  bool isContent(const Summand &) const;

  std::string query, key;
  subscript::Domain domain;
  std::optional<subscript::Expr> mask;
  llvm::DenseMap<mlir::Value, bool> hidden;
  // Results of earlier questions: a cut asks several questions about the same elements. Lists, because references must
  // stay valid.
  llvm::DenseMap<mlir::Value, std::list<std::pair<std::vector<subscript::Expr>, std::vector<Summand>>>> expanded;
};

} // namespace skewer
