// Step functions: functions of one whole number that take few values, each on one stretch, such as buckets of times or
// distances. The typer describes them by the places of their steps, which are found without evaluating every number.
#pragma once
#include "dialect/Language/RealFunction.h"

namespace skewer::language {

/// A step: the function has this value from this number up to the next step.
struct Step {
  int64_t from = 0, value = 0;
};

/// Returns the steps of a function of `symbol` over the range, from low to high, at most `most`. Each operation is
/// rounded to f32, as RealProgram does. Nothing if the function is not known to rise or fall piece by piece, has more
/// steps, or is no whole number somewhere.
std::optional<std::vector<Step>> stepsOf(const RealPtr &, const std::string &symbol, subscript::Range, size_t most);

/// Returns the step function as an index expression of `argument`, which the symbol stands for.
subscript::Expr bySteps(const std::vector<Step> &, const subscript::Expr &argument);

/// Returns a function of one form as a step function of at most `most` steps; nothing if it has more, or if its steps
/// are not known.
std::optional<subscript::Expr> asSteps(const RealForms &, size_t most);

} // namespace skewer::language
