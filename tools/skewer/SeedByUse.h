// Seeds operands with values that fit their use in the text: masks of 0 and 1, times, gates near 1. `run` uses it,
// because a layer must be right for such values.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/Inputs.h"

namespace skewer::driver {

/// The use of an operand in a text. It tells the numbers for which the layer must be right; names of operands do not.
enum class OperandUse {
  Any,      // nothing is known: normal numbers
  Mask,     // meets a large number as 1 - x: 0 or 1
  Gate,     // meets no large number as 1 - x: a little below 1
  Times,    // x at one position minus x at another: rising, far from 0
  Far,      // minus another operand: both far from 0
  Additive, // added to scores, the same for several heads: 0 or a large negative number
};

/// Returns the use of each argument of the function.
std::vector<OperandUse> usesOf(mlir::func::FuncOp);

/// Replaces the seeded numbers of arguments that declare no spread with numbers that fit their use.
void seedByUse(Operands &, const KernelPlan &, mlir::func::FuncOp);

} // namespace skewer::driver
