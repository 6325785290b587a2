// q_i·k_j + q_i·R[j - i] = q_i·(k_j + R[j - i]): where the rows of a register tile stand a whole vector apart, tile (a,
// b) of the product needs the vector b - a of the table, so that rows + vectors - 1 of them, read at aligned addresses,
// serve rows × vectors products. No band is computed and nothing is skewed; each product costs an addition.
//
// Rows that stand a vector apart are those of one phase, i mod lanes: a work item is one phase of a head, and brings
// the table's columns in the order of that phase first.
#pragma once
#include "passes/Analysis/StridedShape.h"
#include "passes/Cpu/Panels.h"

namespace skewer {

/// accumulators[r][v] + Σ_step rows[r][step] · (keys[v][step] + table[v - r + tileRows - 1][step]).
llvm::SmallVector<mlir::Value> multiplySums(VectorBuilder &, int64_t tileRows, int64_t vectors, int64_t depth,
                                            llvm::SmallVector<mlir::Value> accumulators, const ProductOperand &rows,
                                            const ProductOperand &keys, const ProductOperand &table);

} // namespace skewer
