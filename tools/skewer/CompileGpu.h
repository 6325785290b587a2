// `skewer compile` for NVIDIA GPUs: PTX, cubins, header and manifest beside what processors get.
#pragma once
#include "codegen/GPU/GpuTarget.h"
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

/// NAME.sm_80.ptx and NAME.sm_80.cubin for each GPU, NAME.gpu.h, NAME.gpu.json. False after a message.
bool compileForGpus(Compilation &, const Kernel &, mlir::ModuleOp scheduled, const std::vector<gpu::GpuTarget> &,
                    const Options &, const AddFile &);

} // namespace skewer::driver
