// The kernel of a fused attention on an NVIDIA GPU. A block has `rows` queries of one leading index (batch, head), and
// each of its warps has some of them. The block goes through the keys that its queries may see in tiles of `keys`:
//
//   fill          copies the next step's tiles while this step is computed (Pipeline.h)
//   scores        adds the terms of each strategy, in the order of Strategy.h; an Engine computes products
//   masks         sets scores of hidden keys to -inf; only in tiles that the edge of a mask crosses (Masks.h)
//   softmax       online; four neighbouring lanes share a row (Softmax.h)
//   values        adds weights times rows; the strategies again
//   write         writes the result's rows and their log-sum-exp (ResultRows.h)
//
// No memory grows with queries × keys. Sources: Dao 2023 (arXiv:2307.08691) for the division of work; PTX ISA for the
// layouts of fragments.
#pragma once
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuBuilder.h"

namespace skewer::gpu {

/// Adds the attention's kernel to the module, as a function. Refuses if an index expression cannot be emitted.
std::optional<Refusal> emitAttentionKernel(GpuBuilder &, const GpuAttention &, mlir::gpu::GPUModuleOp);

} // namespace skewer::gpu
