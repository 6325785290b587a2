// Layers whose offsets may be added to the keys: q_i·k_j + q_i·R[j - i] = q_i·(k_j + R[j - i]); see Cpu/StridedAdd.h.
#pragma once
#include "passes/Analysis/AttentionShape.h"

namespace skewer {

/// What the schedule calls it.
constexpr llvm::StringLiteral kStridedAdd = "strided_add";

/// Whether the score is one content and one offset of the same queries, over whole positions, and nothing else, and
/// small enough to be summed up in one chain.
bool mayAddStrided(const AttentionShape &);

/// Heads that take a phase of their queries one after the other, so that what is made of the table for a phase is made
/// once for all of them: the innermost heads that share the table, as many as divide these and whose keys may be held.
int64_t headsOfPhase(const AttentionShape &, int64_t lanes);

} // namespace skewer
