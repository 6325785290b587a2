// Writes a thread's rows of the result to memory, after the last step.
#pragma once
#include "passes/Gpu/BlockPlace.h"
#include "passes/Gpu/Softmax.h"

namespace skewer::gpu {

/// Divides the rows by their sums and writes them, with their log-sum-exp if that is a result. If the block has a part
/// of the keys, it writes the part's record instead (KeyParts.h).
void writeRows(GpuBuilder &, const GpuAttention &, Operands &, const BlockPlace &, const Powers &, const RowState &);

} // namespace skewer::gpu
