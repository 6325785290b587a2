// Layers whose offset rows can be added to the keys: q_i·k_j + q_i·R[j - i] = q_i·(k_j + R[j - i]); see
// passes/Cpu/Strategies/StridedAdd.cpp.
#pragma once
#include "passes/Analysis/AttentionShape.h"

namespace skewer {

/// The name of this strategy in schedules.

/// Returns whether the score consists of exactly one content term and one offset term of the same queries, over whole
/// positions, and is small enough to be summed in one chain.
bool mayAddStrided(const AttentionShape &);

/// Returns how many heads compute a phase of their queries one after another, so that the table rows of a phase are
/// prepared once for all of them. These are the innermost heads that share the table: the largest number that divides
/// the number of sharing heads and whose packed keys can be held.
int64_t headsOfPhase(const AttentionShape &, int64_t lanes);

} // namespace skewer
