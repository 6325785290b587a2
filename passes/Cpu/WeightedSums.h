// Sums of weights × rows, for a group of queries at a time, and of vectors of a row.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// sums[r][v] += weight(r) × values[v], for `rows` queries. Where `isSeen` is given, a weight of which it says no adds
/// nothing, whatever the values are: they may belong to masked keys, and be no numbers.
void addWeighted(VectorBuilder &, int64_t rows, llvm::ArrayRef<mlir::Value> values,
                 llvm::function_ref<mlir::Value(int64_t row)> weight,
                 const std::function<mlir::Value(mlir::Value weight)> &isSeen,
                 llvm::SmallVectorImpl<mlir::Value> &sums);

/// start + Σ term(x) for x from 0 to `count`, which is at most `most`, a vector at a time. Chains of `chain` vectors are
/// summed up by themselves, and where there may be more than `kChain` of those, as many of them; 0: all are one chain.
mlir::Value sumOfVectors(VectorBuilder &, mlir::Value count, int64_t most, mlir::Value start, int64_t chain,
                         llvm::function_ref<mlir::Value(mlir::Value x)> term);

} // namespace skewer
