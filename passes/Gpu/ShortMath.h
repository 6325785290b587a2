// Functions of single numbers in a few instructions: by the exponential and the reciprocal that a GPU has.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace skewer {

/// exp of f32, to 3 units in the last place. Operations of f32 that say `fastmath<afn>` (exp, tanh, divisions) to about
/// 2^-20 of the largest value that they take: for who rounds to f16 or bf16 behind them. Before polynomials are asked.
void addShortMath(mlir::RewritePatternSet &);

/// An operation on these operands, with the flags; null where it is of a kind that has none.
mlir::Value emitWithFlags(mlir::OpBuilder &, mlir::Operation *, mlir::ValueRange operands, mlir::arith::FastMathFlags);

} // namespace skewer
