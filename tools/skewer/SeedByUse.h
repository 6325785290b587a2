// Seeded operands that are what the text takes them for: masks of 0 and 1, times, gates near 1.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/Inputs.h"

namespace skewer::driver {

/// What a text does with an operand says which numbers it has to be right for; names say nothing.
enum class OperandUse {
  Any,      // nothing is known: normal numbers
  Mask,     // 1 - x meets a large number: 0 or 1
  Gate,     // 1 - x does not: a little below 1
  Times,    // x at one position less x at another: rising, far from 0
  Far,      // less another operand: both far from 0
  Additive, // added to scores, the same for several heads: 0 or a large negative number
};

/// Of each of the function's arguments.
std::vector<OperandUse> usesOf(mlir::func::FuncOp);

/// Such numbers in place of the seeded ones of arguments that declare no spread.
void seedByUse(Operands &, const KernelPlan &, mlir::func::FuncOp);

} // namespace skewer::driver
