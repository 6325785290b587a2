// Index expressions that differ between lengths as one expression that reads them.
#pragma once
#include "passes/Lengths/LengthPolynomial.h"

namespace skewer {

/// What stands for each length in a text: the element of the index operand of its name.
subscript::Substitution readsOfLengths(const Lengths &bounds);

/// The expression that is `expressions[k]` at fittingPoints(bounds)[k]; nothing where there is none of the same form.
std::optional<subscript::Expr> fitExpressions(llvm::ArrayRef<subscript::Expr> expressions, const Lengths &bounds);

} // namespace skewer
