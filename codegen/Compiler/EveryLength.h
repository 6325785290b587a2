// Checks whether a text leads to the same decisions at every length as at the lengths that its layer is fitted to. One
// kernel serves all lengths, so a decision that differs must be an error. ImportLengths.cpp looks for counterexamples
// at some lengths here, and then asks ExactDecisions.h for a proof.
#pragma once
#include "dialect/Language/Decisions.h"
#include "passes/Lengths/LengthPolynomial.h"

namespace skewer {

/// Returns lengths at which decisions are checked again: each length short, about 2 for each doubling up to its bound,
/// the others at their bounds or equally short. If a comparison with a number changes its result at that number, some
/// of these lengths are on each side.
std::vector<Lengths> sampledLengths(const Lengths &bounds);

/// Returns a text such as "H = 3, W = 5".
std::string sayLengths(const Lengths &);

/// A decision that differs at some length: its place in the text, and the message.
struct UnlikeDecision {
  llvm::StringRef place;
  std::string what;
};

/// Returns the message for a decision of a text, made at `bounds`, that differs at other lengths: a choice, whether a
/// number is whole, or a number.
std::string sayUnlike(const language::Decision &atBounds, const Lengths &there, const Lengths &bounds);

/// Returns whether a table of a function of positions (Decision::Table) has the same values as a larger one at the same
/// places; true if they share no places.
bool isPartOf(const language::Decision &part, const language::Decision &whole);

/// The decisions that a kernel for all lengths assumes, taken from the decisions at fittingPoints(bounds).
class EveryLength {
public:
  EveryLength(std::vector<language::Decisions> atFittingPoints, const Lengths &bounds);
  /// Returns the first decision that differs between the fitting points themselves.
  std::optional<UnlikeDecision> amongFitted() const;
  /// Returns the first decision at a length outside the fitting points that differs from the assumed one.
  std::optional<UnlikeDecision> at(const Lengths &lengths, const language::Decisions &there) const;

private:
  std::vector<language::Decisions> fitted;
  Lengths bounds;
};

} // namespace skewer
