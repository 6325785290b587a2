// Functions of one whole number that take few values, each on one stretch: buckets of times, of distances. They are told
// by the places of their steps, which are found without looking at every number.
#pragma once
#include "dialect/Language/RealFunction.h"

namespace skewer::language {

/// From this number on, up to the next step, the function has this value.
struct Step {
  int64_t from = 0, value = 0;
};

/// The steps of a function of `symbol` over the range, from low to high, at most so many. Each operation is rounded to
/// f32, as RealProgram does. Nothing where it is not known to rise or to fall piece by piece, where it has more steps, or
/// where it is no whole number somewhere.
std::optional<std::vector<Step>> stepsOf(const RealPtr &, const std::string &symbol, subscript::Range, size_t most);

/// The function by its steps, as an index expression of what the symbol stands for.
subscript::Expr bySteps(const std::vector<Step> &, const subscript::Expr &argument);

/// A function of one form by its steps, at most so many; nothing where it has more, or where they are not known.
std::optional<subscript::Expr> asSteps(const RealForms &, size_t most);

} // namespace skewer::language
