// Operands of a fused attention that need no memory: their rows are computed while they are packed.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer {

/// Whether an operation that arithmetic or an index map makes is an operand of the attention by whole rows only, each
/// read where queries, keys or values are packed, and costs no more there than it would in a loop of its own: turned
/// queries and keys, added vectors, scales, norms, conversions.
bool isPackedOperand(attn::AttentionOp, mlir::Value operand);
/// Whether a tensor costs no more where its rows are read, each once, than in a loop of its own: what is put behind a
/// cache, a cache that is widened.
bool isCheapByRows(mlir::Value tensor);

} // namespace skewer
