// Proofs that what numbers decide is the same at every length of its range: by algebra, or at each of the lengths.
#pragma once
#include "tools/skewer/Session/EveryLength.h"

namespace skewer::driver {

/// A number over the symbols of lengths, or over those of positions too.
class NumberOfLengths {
public:
  /// The one that has these trees at fittingPoints(bounds), tree by tree; nothing where they are no trees of one form, or
  /// a whole number in them is no sum of products of lengths.
  static std::optional<NumberOfLengths> through(llvm::ArrayRef<language::RealPtr> atFittingPoints,
                                                const Lengths &bounds);

  /// Lengths at which it does not satisfy `holds`; nothing where there are none. `isUnknown` is set where there are more
  /// lengths than can be looked at.
  std::optional<Lengths> firstUnlike(llvm::function_ref<bool(double value, const Lengths &)> holds,
                                     bool &isUnknown) const;
  /// Whether it is the same number at all lengths.
  bool isConstant() const;
  /// In whole-number algebra, over the symbols of the lengths; nothing where it is made of real numbers.
  std::optional<subscript::Expr> expression() const;
  const language::RealPtr &function() const { return fitted; }
  const Lengths &lengths() const { return used; }

private:
  language::RealPtr fitted;
  Lengths used; // the lengths that it depends on, and their bounds
};

/// The first decision that is not proven to be the same at every length, from the decisions at the fitting points.
std::optional<UnlikeDecision> findUnproven(llvm::ArrayRef<language::Decisions> atFittingPoints, const Lengths &bounds);

} // namespace skewer::driver
