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

/// Takes the GPUs ("sm_80") out of a list of targets; processors remain in `targets`, which may become empty. Nothing
/// after a message where a GPU is not known.
std::optional<std::vector<gpu::GpuTarget>> takeGpuTargets(std::string &targets);

/// Writes a file of the kernel: what follows its name, and the bytes.
using AddFile = std::function<void(const std::string &suffix, std::string bytes)>;

/// A kernel's code for each GPU. Nothing after a message.
std::optional<std::vector<gpu::GpuCode>> compileForGpus(Compilation &, const Kernel &, mlir::ModuleOp fused,
                                                        const std::vector<gpu::GpuTarget> &, const Options &);
/// NAME.sm_80.ptx and NAME.sm_80.cubin for each GPU, with --emit=llvm NAME.sm_80.nvvm.mlir.
void addGpuFiles(const std::vector<gpu::GpuCode> &, const Options &, const AddFile &);
/// NAME.fatbin with all of it. False after a message.
bool addFatbin(const std::vector<gpu::GpuCode> &, const Kernel &, const Options &, const AddFile &);
/// What the kernel's object holds of it.
std::vector<CudaImage> imagesOf(const std::vector<gpu::GpuCode> &);

} // namespace skewer::driver
