// Proves that decisions that depend on numbers are the same at every length of the range: by algebra, or at each
// length. ImportLengths.cpp calls it after no counterexample was found (EveryLength.h).
#pragma once
#include "codegen/Compiler/EveryLength.h"

namespace skewer {

/// A number as a function of lengths, or of lengths and positions.
class NumberOfLengths {
public:
  /// Returns the number that has these trees at fittingPoints(bounds), tree by tree. Nothing if the trees have
  /// different forms, or a whole number in them is not a sum of products of lengths.
  static std::optional<NumberOfLengths> through(llvm::ArrayRef<language::RealPtr> atFittingPoints,
                                                const Lengths &bounds);

  /// Returns the first lengths at which the number does not satisfy `holds`; nothing if there are none. Sets
  /// `isUnknown` if there are too many lengths to check.
  std::optional<Lengths> firstUnlike(llvm::function_ref<bool(double value, const Lengths &)> holds,
                                     bool &isUnknown) const;
  /// Returns whether the number is the same at all lengths.
  bool isConstant() const;
  /// Returns the number in whole-number algebra over the symbols of the lengths; nothing if it contains real numbers.
  std::optional<subscript::Expr> expression() const;
  const language::RealPtr &function() const { return fitted; }
  const Lengths &lengths() const { return used; }

private:
  language::RealPtr fitted;
  Lengths used; // the lengths that it depends on, and their bounds
};

/// Returns the first decision that is not proven to be the same at every length, from the decisions at the fitting
/// points.
std::optional<UnlikeDecision> findUnproven(llvm::ArrayRef<language::Decisions> atFittingPoints, const Lengths &bounds);

} // namespace skewer
