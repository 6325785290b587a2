// One element of a term at a time, at any pair of positions.
#pragma once
#include "passes/Cpu/CpuKernel.h"

namespace skewer {

/// An element of a term without its gates and its guard, in base 2 and f64: rounded by who keeps it.
mlir::Value elementOf(CpuKernel &, const OtherTerm &, Positions::Values at);
/// The product of a term's gates at a query's axes, times `factor`.
mlir::Value timesGates(CpuKernel &, const OtherTerm &, const Positions::Values &at, mlir::Value factor);

} // namespace skewer
