// Compiles kernels into this process, binds their operands and calls them.
#include "tools/skewer/Execution.h"
#include "codegen/Compiler/Compiler.h"
#include "dialect/Language/Diagnostics.h"
#include "passes/Schedule/Machine.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Progress.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <fmt/format.h>

namespace skewer::driver {

std::unique_ptr<Execution> Execution::create(Compilation &compilation, const Kernel &kernel, Form form) {
  nowDoing("compiling kernel '" + kernel.name + "'");
  auto execution = std::make_unique<Execution>();
  execution->name = kernel.name;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto made = moduleInProcess(compilation, kernel, *context, [&] {
    return form == Form::Plain     ? compilation.schedulePlain(kernel)
           : form == Form::Unfused ? compilation.cloneEinsum(kernel)
                                   : compilation.schedule(kernel);
  });
  if (!made)
    return nullptr;
  KernelPlan plan = made->all.front().variant.plan;
  plan.name = kernel.name;
  bool isOne = made->all.size() == 1; // functions for several processors have their own features
  auto jit = JitKernel::create(std::move(made->module), std::move(context), plan,
                               isOne ? compilation.target() : dispatcherTarget());
  if (!jit) {
    Compilation::report(kernel.name, jit.takeError());
    return nullptr;
  }
  execution->kernel = std::move(*jit);
  execution->keepChosen(*made);
  if (form == Form::Unfused)
    execution->counted = compilation.schedule(kernel);
  if (!execution->counted)
    return nullptr;
  nowDoing("running kernel '" + kernel.name + "'");
  return execution;
}

/// Keeps the plan, the schedule and the target of the code that calls run.
void Execution::keepChosen(ModuleInProcess &made) {
  chosenCode = kernel->code();
  for (CodesForTarget &one : made.all) {
    std::vector<TargetCode> codes = one.variant.codes;
    if (codes.empty())
      codes.push_back({codeName(one.variant.target), TileUse::None, one.variant.plan, one.variant.details});
    for (auto [code, scheduled] : llvm::zip_equal(codes, one.scheduled)) {
      if (firstCode.empty()) {
        firstCode = code.name;
        firstTiles = code.tiles;
      }
      if (!chosenCode.empty() && code.name != chosenCode)
        continue;
      kernelPlan = code.plan;
      counted = std::move(scheduled);
      bool isSecond = !one.variant.codes.empty() && code.tiles == TileUse::None;
      chosenTarget = isSecond ? withoutTiles(one.variant.target) : one.variant.target;
    }
  }
  kernelPlan.name = name;
}

bool Execution::countAsIn(Compilation &compilation, const Kernel &kernel) {
  bool anyLength = llvm::any_of(kernelPlan.inputs, [](const TensorArgument &input) { return input.isLength; });
  if (anyLength) {
    ForTarget chosen(compilation, chosenTarget);
    counted = compilation.schedule(kernel);
  }
  return static_cast<bool>(*counted);
}

std::string Execution::whyNotFirst() const {
  if (firstTiles != TileUse::Native || chosenCode.empty() || chosenCode == firstCode)
    return "";
  const Target host = hostTarget();
  bool hasAmx = hasFeature(host, "amx-tile") && hasFeature(host, "amx-bf16");
  return fmt::format(" (not {}: {})", firstCode,
                     hasAmx ? "this processor has AMX, but the system or the program refuses it"
                            : "this processor has no AMX");
}

bool Execution::bind(const Operands &operands, ThreadPool &pool) {
  auto outOfMemory = [&](uint64_t bytes) {
    sayError("kernel '" + name + "': no memory for " + llvm::Twine(bytes) + " bytes");
    return false;
  };
  inputs.clear();
  pointers.clear();
  for (size_t k = 0; k < operands.inputs.size(); ++k) {
    size_t bytes = operands.inputs[k].values.size() * bytesOf(kernelPlan.inputs[k].type);
    inputs.emplace_back(bytes, bytesOf(kernelPlan.inputs[k].type));
    if (!inputs.back().data())
      return outOfMemory(bytes);
    pack(kernelPlan.inputs[k].type, operands.inputs[k].values, inputs.back().data());
    pointers.push_back(inputs.back().data());
  }
  outputShapes = operands.outputShapes;
  outputs.clear();
  results.clear();
  for (auto [shape, argument] : llvm::zip(outputShapes, kernelPlan.outputs)) {
    Buffer &output = outputs.emplace_back(*elementsOf(shape) * bytesOf(argument.type), bytesOf(argument.type));
    if (!output.data())
      return outOfMemory(output.size());
    // All bits set is NaN in every type: an element that no phase writes cannot be taken for a result.
    std::memset(output.data(), 0xff, output.size());
    results.push_back(output.data());
  }
  sizes = operands.sizes;
  usefulWork = usefulFlops(*(*counted).getOps<mlir::func::FuncOp>().begin(), operands.sizeByName);
  if (device)
    return bindToDevice();
  exec.workers = pool.workers();
  exec.context = &pool;
  exec.parallelFor = pool.workers() > 1 ? &ThreadPool::parallelFor : nullptr;
  exec.workspaceBytes = kernel->workspaceBytes(sizes, exec.workers);
  workspace = Buffer(exec.workspaceBytes == UINT64_MAX ? 0 : exec.workspaceBytes);
  if (exec.workspaceBytes == UINT64_MAX || !workspace.data())
    return outOfMemory(exec.workspaceBytes);
  exec.workspace = workspace.data();
  return true;
}

bool Execution::run() {
  if (device)
    return runOnDevice();
  return isDone(prepared.size() ? kernel->runPrepared(pointers, results, sizes, exec, prepared.data())
                                : kernel->run(pointers, results, sizes, exec));
}

bool Execution::start(const Operands &operands, ThreadPool &pool, bool isPrepared) {
  if (!bind(operands, pool))
    return false;
  if (isPrepared && !kernelPlan.preparedBytes)
    sayNote("kernel '" + name + "' has nothing to prepare: " +
            (kernelPlan.hasConst() ? "its const operands are read as they are"
                                   : "it has no const operand (write 'const' before its name)"));
  return (!isPrepared || prepare()) && run();
}

bool Execution::prepare() {
  if (device || !kernelPlan.preparedBytes)
    return true;
  prepared = Buffer(kernelPlan.preparedBytes);
  if (!prepared.data()) {
    sayError("kernel '" + name + "': no memory for " + llvm::Twine(kernelPlan.preparedBytes) + " bytes");
    return false;
  }
  return isDone(kernel->prepare(pointers, sizes, exec, prepared.data()));
}

bool Execution::isDone(int status) const {
  if (status == 0)
    return true;
  sayError(fmt::format("kernel '{}' returned status {}: {}", name, status, statusText(status, kernelPlan)));
  return false;
}

Array Execution::resultArray(size_t number) const {
  return unpack(kernelPlan.outputs[number].type, result(number), outputShapes[number]);
}

std::vector<const Kernel *> chooseKernels(const Compilation &compilation, const std::string &name, bool one) {
  std::vector<const Kernel *> chosen;
  std::string known;
  std::vector<std::string> names;
  for (const Kernel &kernel : compilation.kernels) {
    known += (known.empty() ? "" : ", ") + kernel.name;
    names.push_back(kernel.name);
    if (name.empty() || kernel.name == name)
      chosen.push_back(&kernel);
  }
  if (chosen.empty()) {
    sayErrorOf(compilation.path(),
               "no kernel is named '" + name + "'" + language::suggestion(name, names) + "; the spec has " + known);
  } else if (one && chosen.size() > 1) {
    sayErrorOf(compilation.path(), "the spec has several kernels; choose one with --kernel: " + known);
    chosen.clear();
  }
  return chosen;
}

static bool hasInput(const Kernel &kernel, const std::string &name) {
  return llvm::any_of(kernel.signature.inputs,
                      [&](const TensorArgument &input) { return input.isTensor() && input.name == name; });
}

static bool hasSize(const Kernel &kernel, const std::string &name) {
  return llvm::is_contained(kernel.signature.sizes, name);
}

static bool hasOrigin(const Kernel &kernel, const std::string &name) {
  return llvm::any_of(kernel.signature.inputs,
                      [&](const TensorArgument &input) { return input.origin && kOrigins[*input.origin] == name; });
}

Options optionsOf(const Kernel &kernel, llvm::ArrayRef<const Kernel *> chosen, const Options &options) {
  Options own = options;
  auto keep = [&](auto &given, bool (*has)(const Kernel &, const std::string &)) {
    for (auto entry = given.begin(); entry != given.end();) {
      bool isAnothers = !has(kernel, entry->first) &&
                        llvm::any_of(chosen, [&](const Kernel *other) { return has(*other, entry->first); });
      entry = isAnothers ? given.erase(entry) : std::next(entry);
    }
  };
  keep(own.inputs, hasInput);
  keep(own.sizes, hasSize);
  keep(own.origins, hasOrigin);
  return own;
}

} // namespace skewer::driver
