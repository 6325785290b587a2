// Compiles a GPU module of the NVVM dialect to PTX text, without a CUDA toolkit.
#include "codegen/GPU/Ptx.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstIterator.h"

using namespace mlir;

bool skewer::gpu::needsWholeWarp(const llvm::CallBase &call) {
  if (call.isInlineAsm())
    return true; // assume the worst: its text is not examined
  const llvm::Function *callee = call.getCalledFunction();
  llvm::StringRef name = callee ? callee->getName() : "";
  return name.consume_front("llvm.nvvm.") &&
         llvm::any_of(std::initializer_list<llvm::StringRef>{"mma.", "ldmatrix.", "shfl.", "vote.", "barrier", "bar."},
                      [&](llvm::StringRef kind) { return name.starts_with(kind); });
}

/// Marks the calls that need a whole warp as convergent. LLVM knows most of them to be convergent, but it treats mma as
/// a function of numbers, which it may sink to the use of its result.
static void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = dyn_cast<llvm::CallBase>(&instruction); call && skewer::gpu::needsWholeWarp(*call))
        call->setConvergent();
}

/// Collects the registers of 32 bits that a function extends to 64 bits or copies.
static llvm::StringSet<> extendedRegisters(llvm::ArrayRef<llvm::StringRef> lines) {
  llvm::StringSet<> registers;
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (!line.starts_with("cvt.u64.u32") && !line.starts_with("mov."))
      continue;
    for (llvm::StringRef rest = line.split(',').second; rest.contains("%r");) {
      rest = rest.drop_front(rest.find("%r"));
      llvm::StringRef name = rest.take_front(1 + rest.drop_front().take_while(llvm::isAlnum).size());
      registers.insert(name);
      rest = rest.drop_front(name.size());
    }
  }
  return registers;
}

/// Returns the PTX in which an upper half of a product that is extended to 64 bits comes from mul.wide.u32, not from
/// mul.hi.u32. LLVM makes such halves of divisions by constants. ptxas (CUDA 12.9 and 13.0, all GPUs) joins
/// `cvt.u64.u32(mul.hi.u32(a, b)) - x` to IMAD.HI with the addend -x. It takes the carry of that sum for "no borrow",
/// which is wrong if the lower word of x is 0: the difference is too small by 2^32, and an address made of it lies
/// outside of all memory.
static std::string withoutHighHalves(llvm::StringRef ptx) {
  auto ofFunction = [](llvm::StringRef function) {
    llvm::SmallVector<llvm::StringRef> lines;
    function.split(lines, '\n');
    llvm::StringSet<> extended = extendedRegisters(lines);
    auto ofLine = [&](llvm::StringRef line) {
      llvm::StringRef rest = line.trim();
      if (!rest.consume_front("mul.hi.u32"))
        return line.str();
      auto [half, factors] = rest.trim().split(',');
      if (!extended.contains(half))
        return line.str();
      return ("\t{ .reg .b32 %low; .reg .b64 %wide; mul.wide.u32 %wide," + factors + " mov.b64 {%low, " + half +
              "}, %wide; }")
          .str();
    };
    return llvm::join(llvm::map_range(lines, ofLine), "\n");
  };
  llvm::SmallVector<llvm::StringRef> functions;
  ptx.split(functions, "\n}"); // registers belong to a function
  return llvm::join(llvm::map_range(functions, ofFunction), "\n}");
}

void skewer::gpu::registerGpuTarget(DialectRegistry &registry) {
  registry.insert<mlir::gpu::GPUDialect, NVVM::NVVMDialect, LLVM::LLVMDialect, arith::ArithDialect, scf::SCFDialect,
                  cf::ControlFlowDialect>();
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

llvm::Expected<std::string> skewer::gpu::ptxOf(ModuleOp module, const GpuTarget &target,
                                               llvm::function_ref<void(llvm::Module &)> optimized) {
  // MLIR links CUDA's library of functions, although kernels use none of them, and reports an error if there is no
  // library. With a path to no toolkit it skips the link, which takes a quarter of the time for a small kernel's PTX.
  ScopedDiagnosticHandler handler(module.getContext(), [](Diagnostic &diagnostic) {
    return success(llvm::StringRef(diagnostic.str()).starts_with("CUDA path: "));
  });
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  GpuNVVMAttachTargetOptions attach;
  attach.chip = target.name;
  attach.features = target.features;
  attach.optLevel = 3;
  manager.addPass(createGpuNVVMAttachTarget(attach));
  // Some operations of NVVM become inline assembly: the wait for a barrier in memory.
  manager.nest<mlir::gpu::GPUModuleOp>().addPass(createConvertNVVMToLLVMPass());
  // This does the same as the pass gpu-module-to-binary, but also passes LLVM's IR to `optimized`.
  mlir::gpu::TargetOptions options(/*toolkitPath=*/"/dev/null", {}, {}, {}, mlir::gpu::CompilationTarget::Assembly, {},
                                   markConvergent, {}, optimized);
  if (failed(manager.run(module)) || failed(mlir::gpu::transformGpuModulesToBinaries(module, nullptr, options)))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "target '" + target.name + "': the code generator makes no PTX of the kernel");
  for (auto result : module.getOps<mlir::gpu::BinaryOp>())
    for (Attribute object : result.getObjects())
      if (auto text = dyn_cast<mlir::gpu::ObjectAttr>(object))
        // MLIR ends the text with a null byte, for drivers that load it directly.
        return withoutHighHalves(text.getObject().getValue().rtrim('\0'));
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "target '" + target.name + "': the code generator left no PTX");
}
