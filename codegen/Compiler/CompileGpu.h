// Makes the code of a fused kernel for NVIDIA GPUs: PTX and cubins. `compile` calls it, and so do `skewer run` and
// `bench` on a GPU.
#pragma once
#include "codegen/ABI/Cuda.h"
#include "codegen/Compiler/Compilation.h"
#include "codegen/Compiler/Request.h"
#include "codegen/GPU/Build.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer {

/// Returns the code of a kernel for each GPU; nothing after a message.
std::optional<std::vector<gpu::GpuCode>> compileForGpus(Compilation &, const Kernel &, mlir::ModuleOp fused,
                                                        const std::vector<gpu::GpuTarget> &, const GpuBuild &);
/// Returns the images of this code that the kernel's object contains.
std::vector<CudaImage> imagesOf(const std::vector<gpu::GpuCode> &);

} // namespace skewer
