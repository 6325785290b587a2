// Sums of weights × rows for a group of queries at a time, and sums of the vectors of a row. The kernel, its strategies
// and softmax stages use them.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Adds weight(r) × values[v] to sums[r][v], for `rows` queries. If `isSeen` is given, a weight for which it is false
/// adds nothing, whatever the values are: they may belong to masked keys and be NaN. If `scale` is given, it
/// multiplies the values.
void addWeighted(VectorBuilder &, int64_t rows, llvm::ArrayRef<mlir::Value> values,
                 llvm::function_ref<mlir::Value(int64_t row)> weight,
                 const std::function<mlir::Value(mlir::Value weight)> &isSeen, llvm::SmallVectorImpl<mlir::Value> &sums,
                 mlir::Value scale = {});

/// Returns start + Σ term(x) for x from 0 to `count`, which is at most `most`, a vector at a time. Each chain of
/// `chain` vectors has a sum of its own; if there may be more than `kChain` chains, so has each group of `kChain`
/// chains. With `chain` 0, all vectors are one chain.
mlir::Value sumOfVectors(VectorBuilder &, mlir::Value count, int64_t most, mlir::Value start, int64_t chain,
                         llvm::function_ref<mlir::Value(mlir::Value x)> term);

} // namespace skewer
