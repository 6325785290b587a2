// Scores that are no sum of terms, as a function of such sums: tanh(s / c) × c, max(s, 0)², s × exp(g).
#pragma once
#include "mlir/IR/Builders.h"
#include "passes/Fusion/Summands.h"

namespace skewer {
class ScoreFunctionFinder;

/// An element of a tensor, by index expressions.
struct ElementOf {
  mlir::Value tensor;
  std::vector<subscript::Expr> at;
};

/// A summand of a sum of terms.
struct ScaledElement : ElementOf {
  double scale = 1;
};

/// Whether the element is made, through arithmetic and index maps, of a product of something that the query picks with
/// something that the key picks: what makes a score.
bool holdsContent(const ElementOf &, const std::string &queryAxis, const std::string &keyAxis,
                  const subscript::Domain &);

/// A tensor of scores or weights, taken apart: a function of single numbers, and the sums of terms that go into it. One
/// of them has products of queries and keys, and stands first.
class ScoreFunction {
public:
  /// Nothing where no cut through the arithmetic leaves a few sums of terms. `takesGuards`: where a guard stands
  /// around the whole, elements at which it does not hold are 0, and `inside` says so.
  static std::optional<ScoreFunction> find(const ElementOf &, const std::string &queryAxis, const std::string &keyAxis,
                                           const subscript::Domain &, const std::optional<subscript::Expr> &mask,
                                           bool takesGuards);

  std::vector<std::vector<ScaledElement>> sums;
  subscript::Expr inside = 1;
  /// Whether the function is the first sum itself.
  bool isIdentity() const;
  /// The block of an attention's `through`, with what it gives at its end.
  void emit(mlir::OpBuilder &, mlir::Region &) const;

private:
  friend class ScoreFunctionFinder;
  struct Step;
  bool search(ScoreFunctionFinder &);
  bool take(ScoreFunctionFinder &, std::optional<std::vector<ElementOf>> cut, bool small);
  bool takeCurved(ScoreFunctionFinder &, bool small);
  ElementOf root;
  /// The one summand of the root that is no sum of terms, where the others are: these are the second sum.
  std::optional<ScaledElement> curved;
  subscript::Domain domain;
};

} // namespace skewer
