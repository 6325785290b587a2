// `skewer compile` for NVIDIA GPUs.
#include "tools/skewer/CompileGpu.h"
#include "codegen/GPU/Fatbinary.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Progress.h"
#include "tools/skewer/Session/Targets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/ADT/StringExtras.h"

namespace skewer::driver {

std::optional<std::vector<gpu::GpuTarget>> takeGpuTargets(std::string &targets) {
  std::vector<gpu::GpuTarget> gpus;
  std::string others;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(targets).split(names, ',');
  for (llvm::StringRef name : names) {
    if (!gpu::isGpuName(name)) {
      others += (others.empty() ? "" : ",") + name.str();
      continue;
    }
    auto target = gpu::findGpuTarget(name);
    if (!target) {
      std::vector<std::string> names;
      for (const gpu::GpuTarget &known : gpu::knownGpuTargets())
        names.push_back(known.name);
      sayError("--target: unknown GPU '" + name + "'" + nearestTarget(name) + "; known: " + llvm::join(names, ", "));
      return std::nullopt;
    }
    if (llvm::any_of(gpus, [&](const gpu::GpuTarget &other) { return other.name == target->name; })) {
      sayError("--target: '" + name + "' is given twice");
      return std::nullopt;
    }
    gpus.push_back(std::move(*target));
  }
  targets = others;
  return gpus;
}

std::optional<std::vector<gpu::GpuCode>> compileForGpus(Compilation &compilation, const Kernel &kernel,
                                                        mlir::ModuleOp fused,
                                                        const std::vector<gpu::GpuTarget> &targets,
                                                        const Options &options) {
  std::string ptxas;
  if (!options.ptxOnly) {
    auto found = gpu::findPtxas(options.cudaPath);
    if (!found) {
      sayError(found.takeError());
      return std::nullopt;
    }
    ptxas = std::move(*found);
  }
  std::vector<gpu::GpuCode> codes;
  for (const gpu::GpuTarget &target : targets) {
    nowDoing("compiling kernel '" + kernel.name + "' for " + target.name);
    gpu::GpuRequest request = options.gpuSchedule;
    request.target = target.name;
    std::string scheduledText;
    auto code = gpu::buildFor(target, ptxas, [&](int64_t rank) {
      request.rank = rank;
      return compilation.lowerForGpu(fused, kernel.name, request, &scheduledText);
    });
    if (!code) {
      Compilation::report(kernel.name, code.takeError());
      if (request.pinsTile())
        sayNote("--schedule pins parts of the tile; with less of it, or without it, a smaller tile may be found");
      return std::nullopt;
    }
    if (!*code)
      return std::nullopt;
    (*code)->scheduled = std::move(scheduledText);
    for (const gpu::GpuLaunch &launch : (*code)->program.launches)
      if (!launch.note.empty())
        sayWarning("kernel '" + launch.kernel + "', target '" + target.name + "': goes by rows, which is slow: " +
                   launch.note);
    codes.push_back(std::move(**code));
  }
  return codes;
}

void addGpuFiles(const std::vector<gpu::GpuCode> &codes, const Options &options, const AddFile &add) {
  for (const gpu::GpuCode &code : codes) {
    add("." + code.target.name + ".ptx", code.ptx);
    if (!code.cubin.empty())
      add("." + code.target.name + ".cubin", code.cubin);
    if (llvm::is_contained(options.emit, "scheduled"))
      add("." + code.target.name + ".scheduled.mlir", code.scheduled);
    if (llvm::is_contained(options.emit, "llvm"))
      add("." + code.target.name + ".nvvm.mlir", code.nvvm);
  }
}

bool addFatbin(const std::vector<gpu::GpuCode> &codes, const Kernel &kernel, const Options &options,
               const AddFile &add) {
  auto fatbinary = gpu::findFatbinary(options.cudaPath);
  if (!fatbinary) {
    sayError(fatbinary.takeError());
    return false;
  }
  auto fatbin = gpu::fatbinOf(codes, *fatbinary);
  if (!fatbin)
    return Compilation::report(kernel.name, fatbin.takeError()), false;
  add(".fatbin", std::move(*fatbin));
  return true;
}

std::vector<CudaImage> imagesOf(const std::vector<gpu::GpuCode> &codes) {
  std::vector<CudaImage> images;
  for (const gpu::GpuCode &code : codes)
    images.push_back({code.target.name, code.cubin, code.ptx, code.program.launches, code.program.workspace,
                      code.plan.preparedBytes});
  return images;
}

} // namespace skewer::driver
