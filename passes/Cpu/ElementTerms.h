// Computes single elements of a term, at any pair of positions. Strategies that prepare values and the "element"
// strategy call it.
#pragma once
#include "passes/Cpu/KernelContext.h"

namespace skewer {

/// Returns an element of a term without its gates and its guard, in base 2 and in f64. The caller rounds it.
mlir::Value elementOf(KernelContext &, const OtherTerm &, Positions::Values at);
/// Returns the product of a term's gates at the axes of a query, times `factor`.
mlir::Value timesGates(KernelContext &, const OtherTerm &, const Positions::Values &at, mlir::Value factor);

/// Returns whether prepared values of a term say where its guard does not hold. There the term is nothing, whatever its
/// gates are, NaN included: -0 stands for it, and no other value is -0.
inline bool saysNothing(const OtherTerm &term) { return !term.gates.empty() && term.guard; }
/// Stores the prepared value of such a term at a pair of positions.
void storeOrNothing(KernelContext &, const OtherTerm &, const Positions::Values &at, mlir::Value memory,
                    mlir::Value where);
/// Returns `sum` + `gate` × prepared values of a term with gates.
mlir::Value addGated(VectorBuilder &, const OtherTerm &, mlir::Value gate, mlir::Value prepared, mlir::Value sum);

} // namespace skewer
