// Whether a text decides the same at every length as at those that its layer is fitted to.
#pragma once
#include "dialect/Language/Decisions.h"
#include "passes/Lengths/LengthPolynomial.h"

namespace skewer::driver {

/// Lengths at which decisions are looked at again: each length short, and some 2 a doubling up to its bound, the others
/// at their bounds or as short. What a comparison with a number decides, it decides so on one side of that number: of
/// the lengths on its other side some are here.
std::vector<Lengths> sampledLengths(const Lengths &bounds);

/// "H = 3, W = 5"
std::string sayLengths(const Lengths &);

/// What is decided otherwise somewhere: where in the text, and what to say of it.
struct UnlikeDecision {
  llvm::StringRef place;
  std::string what;
};

/// Whether a table of a function of positions (Decision::Table) has the values that a larger one has at the same places;
/// true where they have no such places.
bool isPartOf(const language::Decision &part, const language::Decision &whole);

/// What a kernel for all lengths takes for decided, from the decisions at fittingPoints(bounds).
class EveryLength {
public:
  EveryLength(std::vector<language::Decisions> atFittingPoints, const Lengths &bounds);
  /// The first that differs between the fitting points themselves.
  std::optional<UnlikeDecision> amongFitted() const;
  /// The first that is not what is taken for decided, at a length that was not fitted.
  std::optional<UnlikeDecision> at(const Lengths &lengths, const language::Decisions &there) const;

private:
  std::vector<language::Decisions> fitted;
  Lengths bounds;
};

} // namespace skewer::driver
