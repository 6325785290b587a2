// Computes single elements of a term, at any pair of positions. Strategies that prepare values and the "element"
// strategy call it.
#pragma once
#include "passes/Cpu/KernelContext.h"

namespace skewer {

/// Returns an element of a term without its gates and its guard, in base 2 and in f64. The caller rounds it.
mlir::Value elementOf(KernelContext &, const OtherTerm &, Positions::Values at);
/// Returns the product of a term's gates at the axes of a query, times `factor`.
mlir::Value timesGates(KernelContext &, const OtherTerm &, const Positions::Values &at, mlir::Value factor);

} // namespace skewer
