// Describes scores that are not a sum of terms as a function of such sums: tanh(s / c) × c, max(s, 0)², s × exp(g).
#pragma once
#include "mlir/IR/Builders.h"
#include "passes/Fusion/Summands.h"

namespace skewer {
class ScoreFunctionFinder;

/// An element of a tensor, given by index expressions.
struct ElementOf {
  mlir::Value tensor;
  std::vector<subscript::Expr> at;
};

/// A summand of a sum of terms: an element times a scale.
struct ScaledElement : ElementOf {
  double scale = 1;
};

/// Returns whether the element is computed, through arithmetic and index maps, from a product of a tensor that the
/// query indexes with one that the key indexes. Such a product makes a score.
bool holdsContent(const ElementOf &, const std::string &queryAxis, const std::string &keyAxis,
                  const subscript::Domain &);

/// A tensor of scores or weights, taken apart into a function of single numbers and the sums of terms that are its
/// arguments. One of the sums has products of queries and keys, and stands first.
class ScoreFunction {
public:
  /// Finds the function and its sums. Returns nothing if no cut through the arithmetic leaves a few sums of terms. With
  /// `takesGuards`, a guard around the whole tensor goes into `inside`; the elements outside of it are 0.
  static std::optional<ScoreFunction> find(const ElementOf &, const std::string &queryAxis, const std::string &keyAxis,
                                           const subscript::Domain &, const std::optional<subscript::Expr> &mask,
                                           bool takesGuards);

  std::vector<std::vector<ScaledElement>> sums;
  subscript::Expr inside = 1;
  /// Returns whether the function is the first sum itself.
  bool isIdentity() const;
  /// Writes the function into the region of an attention's `through`, and ends the block with the yield of its result.
  void emit(mlir::OpBuilder &, mlir::Region &) const;

private:
  friend class ScoreFunctionFinder;
  struct Step;
  bool search(ScoreFunctionFinder &);
  bool take(ScoreFunctionFinder &, std::optional<std::vector<ElementOf>> cut, bool small);
  bool takeCurved(ScoreFunctionFinder &, bool small);
  ElementOf root;
  /// The one summand of the root that is not a sum of terms, if all others are; the others are then the second sum.
  std::optional<ScaledElement> curved;
  subscript::Domain domain;
  std::optional<subscript::Expr> mask;
};

} // namespace skewer
