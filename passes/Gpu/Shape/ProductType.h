// The type in which a fused attention on a GPU multiplies.
#pragma once
#include "dialect/IR/Attn.h"
#include "passes/Analysis/AttentionShape.h"

namespace skewer::gpu {

/// Returns f16 or bf16 if a query, a key or the values have that type: the first one that is found. Returns f32 if none
/// has, and also if both factors of one product and the values come from operands of f32: a table of fewer bits, which
/// another product reads, takes no digits from them. What is computed comes from the largest of its operands. If some
/// are stored in 8 bits and none comes from f32, returns the result's type, if that is f16 or bf16: both have every
/// number of 8 bits.
mlir::Type typeOfProducts(attn::AttentionOp, const AttentionShape &);

/// Returns the queries, keys and values that the attention multiplies, in the order of its terms; the values are last.
llvm::SmallVector<mlir::Value> factorsOf(attn::AttentionOp, const AttentionShape &);

} // namespace skewer::gpu
