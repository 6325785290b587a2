// Compiles a kernel into this process and calls it through its C entry, so that `run`, `bench` and the tests use the
// same entry as programs.
#include "codegen/ABI/CpuCheck.h"
#include "codegen/ABI/Cuda.h"
#include "codegen/ABI/Dispatch.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/Launcher.h"
#include "codegen/ABI/Layout.h"
#include "codegen/ABI/Status.h"
#include "codegen/ABI/TargetMachine.h"
#include "codegen/ABI/Tiles.h"
#include "codegen/Amx/skewer_amx.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace llvm;

namespace skewer {

struct JitKernel::Implementation {
  std::unique_ptr<orc::LLJIT> jit;
  ArgumentLayout layout;
  std::vector<bool> isOrigin; // for each input
  int32_t (*entry)(const void *args, const void *exec) = nullptr;
  const char *(*code)() = nullptr; // with several codes only
  uint64_t (*workspaceBytes)(const void *args, const void *exec) = nullptr;
  int32_t (*prepare)(const void *args, const void *exec, void *prepared) = nullptr; // with const operands only
  int32_t (*prepared)(const void *args, const void *exec, const void *prepared) = nullptr;
  uint64_t (*cudaWorkspaceBytes)(const void *args) = nullptr; // for GPUs only

  /// Returns the argument struct: the two 32-bit fields in the first word, then one word for each field.
  std::vector<uint64_t> arguments() const {
    std::vector<uint64_t> words(layout.words(), 0);
    words[0] = uint64_t(layout.bytes()) | uint64_t(kAbiVersion) << 32;
    return words;
  }
  bool setSizes(std::vector<uint64_t> &words, ArrayRef<int64_t> sizes) const {
    if (sizes.size() != layout.sizes.size())
      return false;
    for (size_t k = 0; k < sizes.size(); ++k)
      words[layout.sizeWord(k)] = uint64_t(sizes[k]);
    return true;
  }
};

JitKernel::JitKernel() : implementation(std::make_unique<Implementation>()) {}
JitKernel::~JitKernel() = default;

int32_t &refusesTiles() {
  static int32_t refused = 0;
  return refused;
}

Error addLauncher(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *at) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(at), JITSymbolFlags::Exported};
  };
  add("skewer_cuda_call", &skewer_cuda_call);
  add("skewer_cuda_workspace", &skewer_cuda_workspace);
  add("skewer_cuda_load", &skewer_cuda_load);
  add("skewer_cuda_unload", &skewer_cuda_unload);
  add("skewer_cuda_prepared_bytes", &skewer_cuda_prepared_bytes);
  add("skewer_cuda_prepare_const", &skewer_cuda_prepare_const);
  add("skewer_cuda_call_prepared", &skewer_cuda_call_prepared);
  for (const EmulatedInstruction &instruction : emulatedInstructions())
    add(instruction.name, instruction.function);
  add("skewer_amx_request", &skewer_amx_request);
  add(kRefuseTiles, &refusesTiles());
  return jit.getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols)));
}

Expected<std::unique_ptr<JitKernel>> JitKernel::create(std::unique_ptr<llvm::Module> module,
                                                       std::unique_ptr<LLVMContext> context, const KernelPlan &plan,
                                                       const Target &target) {
  // The machine is made only for its checks: a target is refused here with the same message as for an object file.
  if (auto machine = createTargetMachine(target); !machine)
    return machine.takeError();
  return load(std::move(module), std::move(context), plan, target, "");
}

Expected<std::unique_ptr<JitKernel>> JitKernel::createForGpu(const KernelPlan &plan, ArrayRef<CudaImage> images) {
  auto context = std::make_unique<LLVMContext>();
  auto module = cudaModule(plan, images, "", *context, kAbiVersion);
  if (!module)
    return module.takeError();
  return load(std::move(*module), std::move(context), plan, dispatcherTarget(), "_cuda");
}

Expected<std::unique_ptr<JitKernel>> JitKernel::load(std::unique_ptr<llvm::Module> module,
                                                     std::unique_ptr<LLVMContext> context, const KernelPlan &plan,
                                                     const Target &target, StringRef entrySuffix) {
  orc::JITTargetMachineBuilder machine(targetTriple());
  machine.setCPU(target.cpu);
  machine.addFeatures(SubtargetFeatures(target.features).getFeatures());
  machine.setCodeGenOptLevel(CodeGenOptLevel::Aggressive);
  machine.setRelocationModel(Reloc::PIC_);
  machine.getOptions() = targetOptions();

  bool hasCodes = module->getFunction(plan.name + "_code");
  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create();
  if (!jit)
    return jit.takeError();
  // libc and libm come from this process.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (Error error = addLauncher(**jit))
    return error;
  if (Error error = (*jit)->addIRModule(orc::ThreadSafeModule(std::move(module), std::move(context))))
    return error;

  std::unique_ptr<JitKernel> kernel(new JitKernel);
  Implementation &implementation = *kernel->implementation;
  implementation.layout = layoutOf(plan);
  for (const TensorArgument &input : plan.inputs)
    implementation.isOrigin.push_back(!input.isTensor());
  auto entry = (*jit)->lookup((plan.name + entrySuffix).str());
  if (!entry)
    return entry.takeError();
  auto workspace = (*jit)->lookup((plan.name + entrySuffix + "_workspace_bytes").str());
  if (!workspace)
    return workspace.takeError();
  implementation.entry = entry->toPtr<int32_t (*)(const void *, const void *)>();
  if (entrySuffix.empty())
    implementation.workspaceBytes = workspace->toPtr<uint64_t (*)(const void *, const void *)>();
  else
    implementation.cudaWorkspaceBytes = workspace->toPtr<uint64_t (*)(const void *)>();
  if (hasCodes) {
    auto code = (*jit)->lookup(plan.name + "_code");
    if (!code)
      return code.takeError();
    implementation.code = code->toPtr<const char *(*)()>();
  }
  if (entrySuffix.empty() && plan.hasConst()) {
    auto prepare = (*jit)->lookup(plan.name + "_prepare");
    if (!prepare)
      return prepare.takeError();
    auto prepared = (*jit)->lookup(plan.name + "_prepared");
    if (!prepared)
      return prepared.takeError();
    implementation.prepare = prepare->toPtr<int32_t (*)(const void *, const void *, void *)>();
    implementation.prepared = prepared->toPtr<int32_t (*)(const void *, const void *, const void *)>();
  }
  implementation.jit = std::move(*jit);
  return kernel;
}

int JitKernel::run(ArrayRef<const void *> inputs, ArrayRef<void *> outputs, ArrayRef<int64_t> sizes,
                   const Exec &exec) const {
  return call(inputs, outputs, sizes, [&](const void *args) { return implementation->entry(args, &exec); });
}

int JitKernel::run(ArrayRef<const void *> inputs, ArrayRef<void *> outputs, ArrayRef<int64_t> sizes,
                   const skewer_cuda_exec &exec) const {
  return call(inputs, outputs, sizes, [&](const void *args) { return implementation->entry(args, &exec); });
}

int JitKernel::prepare(ArrayRef<const void *> inputs, ArrayRef<int64_t> sizes, const Exec &exec, void *prepared) const {
  std::vector<void *> none(implementation->layout.outputs.size());
  return call(inputs, none, sizes, [&](const void *args) { return implementation->prepare(args, &exec, prepared); });
}

int JitKernel::runPrepared(ArrayRef<const void *> inputs, ArrayRef<void *> outputs, ArrayRef<int64_t> sizes,
                           const Exec &exec, const void *prepared) const {
  return call(inputs, outputs, sizes,
              [&](const void *args) { return implementation->prepared(args, &exec, prepared); });
}

int JitKernel::call(ArrayRef<const void *> inputs, ArrayRef<void *> outputs, ArrayRef<int64_t> sizes,
                    Entry entry) const {
  std::vector<uint64_t> words = implementation->arguments();
  if (inputs.size() != implementation->layout.inputs.size() || outputs.size() != implementation->layout.outputs.size())
    return int(Status::NullTensor);
  if (!implementation->setSizes(words, sizes))
    return int(Status::BadSize);
  for (size_t k = 0; k < inputs.size(); ++k)
    words[implementation->layout.inputWord(k)] = implementation->isOrigin[k]
                                                     ? uint64_t(int64_t(*static_cast<const int32_t *>(inputs[k])))
                                                     : reinterpret_cast<uintptr_t>(inputs[k]);
  for (size_t k = 0; k < outputs.size(); ++k)
    words[implementation->layout.outputWord(k)] = reinterpret_cast<uintptr_t>(outputs[k]);
  return entry(words.data());
}

std::string JitKernel::code() const { return implementation->code ? implementation->code() : ""; }

uint64_t JitKernel::workspaceBytes(ArrayRef<int64_t> sizes, int32_t workers) const {
  std::vector<uint64_t> words = implementation->arguments();
  if (!implementation->setSizes(words, sizes))
    return UINT64_MAX;
  Exec exec;
  exec.workers = workers;
  return implementation->workspaceBytes(words.data(), &exec);
}

uint64_t JitKernel::cudaWorkspaceBytes(ArrayRef<int64_t> sizes) const {
  std::vector<uint64_t> words = implementation->arguments();
  return implementation->setSizes(words, sizes) ? implementation->cudaWorkspaceBytes(words.data()) : UINT64_MAX;
}

} // namespace skewer
