// Queries and keys that are integers of 8 bits in memory, each row times a number of its own: those of a quantised
// layer. Their products are sums of integers times numbers, so that a processor may multiply them as integers. The cost
// model and the CPU kernel ask the same function.
#pragma once
#include "passes/Analysis/AttentionShape.h"

namespace skewer {

/// Returns whether each row of an operand of an attention is a row of an i8 argument, as it is or times a number that
/// does not vary along the row, and nothing but this attention reads what lies between the argument and the operand.
bool hasByteRows(attn::AttentionOp, mlir::Value operand);
/// Returns whether the rows of `depth` elements that a walk reads are whole rows of an operand, so that a kernel may
/// read the argument in place of the operand.
bool readsWholeRows(const Walk &, int64_t depth, mlir::Value operand, const attn::ScoreSpace &);
/// Returns whether the content of an attention may be multiplied as integers: it is one product of such queries and
/// keys. With few queries, keys are multiplied where they lie, or are shared by heads.
bool mayMultiplyBytes(const AttentionShape &);

} // namespace skewer
