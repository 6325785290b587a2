// Tries tiles in the order of the cost model, and takes the first one that ptxas compiles without spills.
#include "codegen/GPU/Build.h"
#include "codegen/GPU/Ptx.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Schedule/GpuMachine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

/// Returns how many spilled bytes a module is kept with.
static int64_t allowedSpills(ModuleOp module) {
  bool moves = false;
  module.walk([&](NVVM::SetMaxRegisterOp) { moves = true; });
  return moves ? kFewSpilledBytes : 0;
}

/// Makes the PTX and, with `ptxas`, the cubin of a module. Consumes the module.
static llvm::Error makeCode(ModuleOp module, llvm::StringRef ptxas, GpuCode &code) {
  auto ptx = ptxOf(module, code.target);
  if (!ptx)
    return ptx.takeError();
  code.ptx = std::move(*ptx);
  if (ptxas.empty())
    return llvm::Error::success();
  auto assembled = assemble(code.ptx, code.target, ptxas);
  if (!assembled)
    return assembled.takeError();
  code.cubin = std::move(assembled->cubin);
  code.resources = std::move(assembled->resources);
  return llvm::Error::success();
}

/// Tells ptxas that one block for each multiprocessor is enough. Without this, ptxas spills a few registers if another
/// block then fits onto a multiprocessor. Returns false if the kernels already had all registers that there are.
static bool preferRegisters(ModuleOp module, const Resources &resources) {
  bool some = false;
  module.walk([&](LLVM::LLVMFuncOp function) {
    auto kernel = resources.kernels.find(function.getName().str());
    if (kernel == resources.kernels.end() || !kernel->second.spilledBytes || kernel->second.registers >= kMostRegisters)
      return;
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), Builder(module.getContext()).getI32IntegerAttr(1));
    some = true;
  });
  return some;
}

llvm::Expected<std::optional<GpuCode>> skewer::gpu::buildFor(const GpuTarget &target, llvm::StringRef ptxas,
                                                             LowerWithRank lower) {
  int64_t leastShared = 0, leastSpilled = 0, candidates = 1;
  std::string name;
  std::optional<GpuCode> slow; // the first candidate whose products ptxas lets run one after another
  // After the last candidate, if registers were spilled, it tries the schedule by rows.
  for (int64_t rank = 0; rank < candidates + (leastSpilled && !slow ? 1 : 0); ++rank) {
    OwningOpRef<ModuleOp> module = lower(rank < candidates ? rank : -1);
    if (!module)
      return std::nullopt;
    if (auto count = (*module)->getAttrOfType<IntegerAttr>(kGpuCandidates); count && rank == 0)
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
      // With every run-time size 1; the launcher checks the actual sizes.
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
    OwningOpRef<ModuleOp> again = cast<ModuleOp>((*module)->clone());
    int64_t allowed = allowedSpills(*again);
    if (auto error = makeCode(*module, ptxas, code))
      return error;
    if (code.resources.spilledBytes > allowed && preferRegisters(*again, code.resources))
      if (auto error = makeCode(*again, ptxas, code))
        return error;
    if (code.resources.spilledBytes <= allowed) {
      if (code.resources.losses.empty())
        return code;
      if (!slow)
        slow = std::move(code);
      continue;
    }
    leastSpilled = code.resources.spilledBytes;
    for (const auto &[kernel, resources] : code.resources.kernels)
      if (resources.spilledBytes)
        name = kernel;
  }
  if (slow)
    return std::move(*slow);
  if (leastSpilled)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "kernel '" + name + "', target '" + target.name + "': " + llvm::Twine(leastSpilled) +
                                       " bytes of registers are spilled even with the schedule that needs the fewest "
                                       "registers");
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "kernel '" + name + "', target '" + target.name + "': the smallest tile needs " +
                                     llvm::Twine(leastShared) + " bytes of shared memory, of " +
                                     llvm::Twine(target.sharedBytes));
}
