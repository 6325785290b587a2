// Finds operands of a fused attention that need no memory, because their rows are computed while they are packed. The
// division into stages asks it.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer {

/// With fewer queries, keys that heads share are computed once, not once for each head, and are multiplied where they
/// lie.
constexpr int64_t kFewQueries = 32;
class AttentionShapes;

/// Returns whether the attention reads the operand, a result of arithmetic or of an index map, in whole rows only,
/// where queries, keys or values are packed, and computing it there costs no more than in a loop of its own. Such
/// operands are rotated queries and keys, added vectors, scales, norms, conversions.
bool isPackedOperand(attn::AttentionOp, mlir::Value operand, AttentionShapes &);
/// Returns whether the tensor can be computed where its rows are read, each once, at no higher cost than in a loop of
/// its own: new rows behind a cache, a cache that is widened.
bool isCheapByRows(mlir::Value tensor);

} // namespace skewer
