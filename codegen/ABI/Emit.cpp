// Translates the LLVM dialect to an LLVM module whose only visible symbols are the kernel's C entries.
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/CpuCheck.h"
#include "codegen/ABI/Entry.h"
#include "codegen/ABI/Layout.h"
#include "codegen/ABI/TargetMachine.h"
#include "codegen/ABI/Tiles.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace skewer {
namespace {

Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, const KernelPlan &plan, LLVMContext &context) {
  mlir::MLIRContext &dialects = *module.getContext();
  mlir::registerBuiltinDialectTranslation(dialects);
  mlir::registerLLVMDialectTranslation(dialects);
  std::string why;
  std::unique_ptr<llvm::Module> result;
  {
    mlir::ScopedDiagnosticHandler collect(&dialects, [&](mlir::Diagnostic &diagnostic) {
      why += (why.empty() ? "" : "; ") + diagnostic.str();
      return mlir::success();
    });
    result = mlir::translateModuleToLLVMIR(module, context, plan.name);
  }
  if (!result)
    return kernelError(plan, "an operation has no form in LLVM's IR: " + why);
  return result;
}

/// Checks that the object needs no symbols other than libc's and libm's, and that the kernel's symbols do not replace
/// those.
Error checkSymbols(const llvm::Module &module, const KernelPlan &plan) {
  if (Error error = checkName(plan))
    return error;
  TargetLibraryInfoImpl known(module.getTargetTriple());
  LibFunc function;
  for (const Function &callee : module)
    if (callee.isDeclaration() && !callee.isIntrinsic() && !callee.use_empty() &&
        !known.getLibFunc(callee.getName(), function))
      return kernelError(plan, "the code calls '" + callee.getName() + "', which is neither in libc nor in libm");
  return Error::success();
}

/// Returns whether the function calls another function through a pointer that is one of its arguments.
bool callsPointer(const Function &function) {
  for (const BasicBlock &block : function)
    for (const Instruction &instruction : block)
      if (const auto *call = dyn_cast<CallInst>(&instruction))
        if (!call->getCalledFunction() && !call->isInlineAsm())
          return true;
  return false;
}

void setAttributes(llvm::Module &module, const Target &target) {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    // An exception may leave the caller's parallel_for. It then passes through the function that called parallel_for.
    if (!callsPointer(function))
      function.addFnAttr(Attribute::NoUnwind);
    if (isBaseline(function)) {
      function.addFnAttr("target-cpu", "x86-64");
      function.addFnAttr("target-features", "+sse2");
      continue;
    }
    if (!target.cpu.empty())
      function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    // Some processors' tuning would split the vectors that the schedule chose.
    function.addFnAttr("prefer-vector-width", std::to_string(32 * target.lanes));
  }
}

/// Tells the optimiser that outputs share memory with no other argument. The entry refuses such arguments.
void addMemoryFacts(const KernelPlan &plan, Function &phase) {
  size_t tensors = plan.inputs.size() + plan.outputs.size(), shared = 5 * tensors + plan.sizes.size();
  std::vector<unsigned> descriptors;
  for (size_t k = 0; k < tensors; ++k)
    descriptors.push_back(5 * k);
  descriptors.push_back(shared);
  descriptors.push_back(shared + 5);
  if (plan.preparedBytes)
    descriptors.push_back(shared + 10);
  for (unsigned first : descriptors) {
    bool isInput = first < 5 * plan.inputs.size();
    // Both pointers of a descriptor are equal, but only one of them may be noalias.
    phase.getArg(first)->replaceAllUsesWith(phase.getArg(first + 1));
    phase.addParamAttr(first + 1, Attribute::NoAlias);
    if (isInput)
      phase.addParamAttr(first + 1, Attribute::ReadOnly);
    if (first >= shared)
      phase.addParamAttr(first + 1, Attribute::getWithAlignment(phase.getContext(), Align(64)));
  }
}

} // namespace

Error checkName(const KernelPlan &plan) {
  TargetLibraryInfoImpl known(targetTriple());
  LibFunc function;
  if (known.getLibFunc(plan.name, function))
    return kernelError(plan,
                       "the name is taken by the C library: a function, a variable or a type of it; choose another");
  return Error::success();
}

Expected<std::unique_ptr<llvm::Module>> toLlvmModule(mlir::ModuleOp source, const KernelPlan &plan,
                                                     const Target &target, LLVMContext &context, StringRef specHash) {
  if (Error error = validate(plan))
    return error;
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  auto module = translate(source, plan, context);
  if (!module)
    return module.takeError();
  (*module)->setTargetTriple(targetTriple());
  (*module)->setDataLayout((*machine)->createDataLayout());
  (*module)->setPICLevel(PICLevel::BigPIC);

  std::vector<Function *> phases;
  for (const Phase &phase : plan.phases) {
    Function *function = (*module)->getFunction(phase.function);
    if (Error error = checkPhase(plan, phase, function))
      return error;
    phases.push_back(function);
  }
  if (Error error = checkSymbols(**module, plan))
    return error;
  for (GlobalValue &value : (*module)->global_values()) {
    if (value.isDeclaration())
      continue;
    value.setLinkage(GlobalValue::InternalLinkage);
    value.setName(plan.name + "." + value.getName()); // keeps the entries' names free
  }
  for (Function *phase : phases)
    addMemoryFacts(plan, *phase);
  if (emulatesTiles(target))
    emulateTiles(**module);
  addEntries(**module, plan, phases, manifestText(plan, target, specHash), target, argsVersionOf(specHash));
  setAttributes(**module, target);

  std::string why;
  raw_string_ostream stream(why);
  if (verifyModule(**module, &stream))
    return kernelError(plan, "the generated IR is malformed: " + why);
  return module;
}

} // namespace skewer
