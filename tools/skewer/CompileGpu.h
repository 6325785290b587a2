// `skewer compile` for NVIDIA GPUs: PTX and cubins, as files and as parts of the kernel's object.
#pragma once
#include "codegen/ABI/Cuda.h"
#include "codegen/GPU/Build.h"
#include "tools/skewer/Options.h"
#include "tools/skewer/Session/Compilation.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace skewer::driver {

/// Removes the GPUs ("sm_80") from a list of targets and returns them. The processors remain in `targets`, which may
/// become empty. Returns nothing after a message if a GPU is unknown.
std::optional<std::vector<gpu::GpuTarget>> takeGpuTargets(std::string &targets);

/// Writes a file of the kernel: `suffix` follows the kernel's name, `bytes` is the content.
using AddFile = std::function<void(const std::string &suffix, std::string bytes)>;

/// Returns the code of a kernel for each GPU; nothing after a message.
std::optional<std::vector<gpu::GpuCode>> compileForGpus(Compilation &, const Kernel &, mlir::ModuleOp fused,
                                                        const std::vector<gpu::GpuTarget> &, const Options &);
/// Adds NAME.sm_80.ptx and NAME.sm_80.cubin for each GPU; with --emit=llvm also NAME.sm_80.nvvm.mlir.
void addGpuFiles(const std::vector<gpu::GpuCode> &, const Options &, const AddFile &);
/// Adds NAME.fatbin with the code for all GPUs. Returns false after a message.
bool addFatbin(const std::vector<gpu::GpuCode> &, const Kernel &, const Options &, const AddFile &);
/// Returns the images of this code that the kernel's object contains.
std::vector<CudaImage> imagesOf(const std::vector<gpu::GpuCode> &);

} // namespace skewer::driver
