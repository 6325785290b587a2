// A thread's rows of the result on their way to memory.
#pragma once
#include "passes/Gpu/BlockPlace.h"
#include "passes/Gpu/Softmax.h"

namespace skewer::gpu {

/// ln Σ exp(score), of a maximum to base 2 and the sum of what refers to it.
Value logOfSum(GpuBuilder &, Value maximum, Value sum);

/// Divides by the sums and writes, with the rows' log-sum-exp if that is a result; or leaves what a part of the
/// keys says (KeyParts.h). `lateScale`: see KernelContext.
void writeRows(GpuBuilder &, const GpuAttention &, Operands &, const BlockPlace &,
               std::optional<double> lateScale, const RowState &);

} // namespace skewer::gpu
