// A thread's rows of the result on their way to memory.
#pragma once
#include "passes/Gpu/BlockPlace.h"
#include "passes/Gpu/Softmax.h"

namespace skewer::gpu {

/// Divides by the sums and writes, with the rows' log-sum-exp if that is a result; or leaves what a part of the
/// keys says (KeyParts.h).
void writeRows(GpuBuilder &, const GpuAttention &, Operands &, const BlockPlace &, const Powers &, const RowState &);

} // namespace skewer::gpu
