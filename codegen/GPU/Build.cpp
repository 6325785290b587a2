// Chooses the tile by what the assembler says of it.
#include "codegen/GPU/Build.h"
#include "codegen/GPU/Ptx.h"
#include "passes/Schedule/GpuMachine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

llvm::Expected<std::optional<GpuCode>> skewer::gpu::buildFor(const GpuTarget &target, llvm::StringRef ptxas,
                                                             LowerWithRank lower) {
  int64_t leastShared = 0, leastSpilled = 0, candidates = 1;
  std::string name;
  for (int64_t rank = 0; rank < candidates; ++rank) {
    OwningOpRef<ModuleOp> module = lower(rank);
    if (!module)
      return std::nullopt;
    if (auto count = (*module)->getAttrOfType<IntegerAttr>(kGpuCandidates))
      candidates = count.getInt();
    auto plan = planOf(*module);
    auto modules = module->getOps<mlir::gpu::GPUModuleOp>();
    auto program = modules.empty() ? std::nullopt : programOf(*modules.begin());
    if (!plan || !program || program->launches.empty())
      return llvm::createStringError(llvm::inconvertibleErrorCode(), "the lowering left no kernel for a GPU");
    name = program->name;
    int64_t shared = 0;
    for (const GpuLaunch &launch : program->launches) {
      shared = std::max(shared, launch.sharedBytes);
      // With every run-time size 1; the launcher looks at what they are.
      if (int64_t blocks = launch.blocks.fixed + launch.blocks.scaled; blocks > INT32_MAX)
        return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                       "kernel '" + launch.kernel + "' needs " + llvm::Twine(blocks) +
                                           " blocks; a grid has at most 2147483647: split the layer by its heads or "
                                           "queries ('part' in the spec)");
    }
    if (shared > target.sharedBytes) {
      leastShared = shared;
      continue;
    }
    GpuCode code{target, *program, *plan, "", "", "", "", {}};
    llvm::raw_string_ostream(code.nvvm) << *module;
    auto ptx = ptxOf(*module, target);
    if (!ptx)
      return ptx.takeError();
    code.ptx = std::move(*ptx);
    if (ptxas.empty())
      return code;
    auto assembled = assemble(code.ptx, target, ptxas);
    if (!assembled)
      return assembled.takeError();
    code.cubin = std::move(assembled->cubin);
    code.resources = std::move(assembled->resources);
    if (code.resources.spilledBytes == 0)
      return code;
    leastSpilled = code.resources.spilledBytes;
    for (const auto &[kernel, resources] : code.resources.kernels)
      if (resources.spilledBytes)
        name = kernel;
  }
  if (leastSpilled)
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "kernel '" + name + "', target '" + target.name + "': " + llvm::Twine(leastSpilled) +
            " bytes of registers are spilled even in the tile that takes the fewest; its heads are too wide");
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "kernel '" + name + "', target '" + target.name + "': the smallest tile needs " +
                                     llvm::Twine(leastShared) + " bytes of shared memory, of " +
                                     llvm::Twine(target.sharedBytes));
}
