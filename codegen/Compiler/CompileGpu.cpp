// Lowers a fused kernel to each GPU, and compiles its PTX with ptxas.
#include "codegen/Compiler/CompileGpu.h"
#include "codegen/Compiler/Messages.h"

namespace skewer {

std::optional<std::vector<gpu::GpuCode>> compileForGpus(Compilation &compilation, const Kernel &kernel,
                                                        mlir::ModuleOp fused,
                                                        const std::vector<gpu::GpuTarget> &targets,
                                                        const GpuBuild &how) {
  std::string ptxas;
  if (!how.ptxOnly) {
    auto found = gpu::findPtxas(how.cudaPath);
    if (!found) {
      sayError(found.takeError());
      return std::nullopt;
    }
    ptxas = std::move(*found);
  }
  std::vector<gpu::GpuCode> codes;
  for (const gpu::GpuTarget &target : targets) {
    compilation.doing("compiling kernel '" + kernel.name + "' for " + target.name);
    gpu::GpuRequest request = how.schedule;
    request.target = target.name;
    std::string scheduledText;
    auto code = gpu::buildFor(target, ptxas, [&](int64_t rank) {
      request.rank = rank;
      return compilation.lowerForGpu(fused, kernel.name, request, &scheduledText);
    });
    if (!code) {
      Compilation::report(kernel.name, code.takeError());
      if (request.pinsTile())
        sayNote("--schedule sets parts of the tile; set fewer parts, and the compiler may find a smaller tile");
      return std::nullopt;
    }
    if (!*code)
      return std::nullopt;
    (*code)->scheduled = std::move(scheduledText);
    for (const gpu::GpuLaunch &launch : (*code)->program.launches)
      if (!launch.note.empty())
        sayWarning("kernel '" + launch.kernel + "', target '" + target.name + "': goes by rows, which is slow: " +
                   launch.note);
    if (llvm::StringRef losses = (*code)->resources.losses; !losses.empty())
      sayWarning("kernel '" + kernel.name + "', target '" + target.name +
                 "': slower than its schedule says, with every tile that fits: " + losses.split('\n').first.str());
    codes.push_back(std::move(**code));
  }
  return codes;
}

std::vector<CudaImage> imagesOf(const std::vector<gpu::GpuCode> &codes) {
  std::vector<CudaImage> images;
  for (const gpu::GpuCode &code : codes)
    images.push_back({code.target.name, code.cubin, code.ptx, code.program.launches, code.program.workspace,
                      code.plan.preparedBytes});
  return images;
}

} // namespace skewer
