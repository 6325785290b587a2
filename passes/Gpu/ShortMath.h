// Lowers functions of single numbers to a few instructions, by the exponential and the reciprocal that a GPU has.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace skewer {

/// Adds patterns for exp of f32, exact to 3 units in the last place, and for operations of f32 that say `fastmath<afn>`
/// (exp, tanh, divisions), exact to about 2^-20 of the largest value that they take: their results are rounded to f16
/// or bf16 later. These patterns are tried before those of polynomials.
void addShortMath(mlir::RewritePatternSet &);

/// Clones an operation with these operands and flags; null if operations of its kind have no flags.
mlir::Value emitWithFlags(mlir::OpBuilder &, mlir::Operation *, mlir::ValueRange operands, mlir::arith::FastMathFlags);

} // namespace skewer
