// Combines index expressions that differ between lengths into one expression that reads the lengths. The comparison of
// layers uses it (FitLengths.cpp), and so does the check of a text's decisions (codegen/Compiler/EveryLength.h).
#pragma once
#include "passes/Lengths/LengthPolynomial.h"

namespace skewer {

/// Returns the expression that replaces each length in a text: the element of the index operand with its name.
subscript::Substitution readsOfLengths(const Lengths &bounds);

/// Returns the expression that equals `expressions[k]` at fittingPoints(bounds)[k]; nothing if there is none of the
/// same form.
std::optional<subscript::Expr> fitExpressions(llvm::ArrayRef<subscript::Expr> expressions, const Lengths &bounds);

} // namespace skewer
