// A fused attention on an NVIDIA GPU. A block has `rows` queries of one leading index (batch, head), a warp some of
// them. It goes through the keys that its queries may see in tiles of `keys`:
//
//   fill          tiles of the next step, while this one is computed (Pipeline.h)
//   scores        what each strategy adds, in Strategy.h's order; products by an Engine
//   masks         scores of keys that are not seen become -inf; only in tiles that a mask's edge crosses (Masks.h)
//   softmax       online, a row in four neighbouring lanes (Softmax.h)
//   values        weights times rows, by the strategies again
//   write         the result's rows, and their log-sum-exp (ResultRows.h)
//
// Nothing grows with queries × keys. Sources: Dao 2023 (arXiv:2307.08691) for the division of work; PTX ISA for the
// layouts of fragments.
#pragma once
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuBuilder.h"

namespace skewer::gpu {

/// The attention's kernel as a function of the module. False with a `reason`.
bool emitAttentionKernel(GpuBuilder &, const GpuAttention &, mlir::gpu::GPUModuleOp, std::string &reason);

} // namespace skewer::gpu
