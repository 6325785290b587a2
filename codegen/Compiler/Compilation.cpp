// Compiles a spec to LLVM modules: runs the pipelines of passes/Pipelines/Pipelines.h on each kernel, and reports what
// fails at the line of the spec.
#include "codegen/Compiler/Compilation.h"
#include "codegen/ABI/Emit.h"
#include "codegen/Compiler/Collected.h"
#include "codegen/Compiler/Dialects.h"
#include "codegen/Compiler/MlirDiagnostics.h"
#include "codegen/GPU/Ptx.h"
#include "dialect/IR/Attn.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Language.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Lengths/FitLengths.h"
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Register.h"
#include <fmt/format.h>
#include <functional>

using namespace mlir;

namespace skewer {

static std::string &ownPasses() {
  static std::string pipeline;
  return pipeline;
}

/// Registers the passes and pipelines with MLIR, once.
static void registerPasses() {
  [[maybe_unused]] static const bool isDone = (registerSkewerPasses(), true);
}

bool useOwnPasses(const std::string &pipeline) {
  if (pipeline.empty())
    return true;
  registerPasses();
  std::string why;
  llvm::raw_string_ostream stream(why);
  OpPassManager parsed(ModuleOp::getOperationName());
  if (succeeded(parsePassPipeline(pipeline, parsed, stream))) {
    ownPasses() = pipeline;
    return true;
  }
  sayError("--passes: '" + pipeline + "' is no pipeline of known passes:\n" + llvm::StringRef(why).rtrim());
  return false;
}

func::FuncOp Kernel::einsumFunction() const {
  ModuleOp module = *einsum;
  return *module.getOps<func::FuncOp>().begin();
}

Compilation::Compilation(const Target &target) : machine(target) {
  registerPasses();
  DialectRegistry registry;
  registerDialects(registry);
  // Without threads, because starting them takes longer than one kernel's passes.
  mlirContext = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  mlirContext->printOpOnDiagnostic(false); // the user wrote a spec and has not seen the operation
}
Compilation::~Compilation() { kernels.clear(); } // they end before the context that owns their types

std::unique_ptr<Compilation> Compilation::create(const std::string &spec, const language::Parameters &parameters,
                                                 const Target &target) {
  std::unique_ptr<Compilation> compilation(new Compilation(target));
  compilation->specPath = spec;
  SpecKind kind;
  if (!openSpec(spec, compilation->sources, kind) || !compilation->import(kind, parameters))
    return nullptr;
  return compilation;
}

std::unique_ptr<Compilation> Compilation::createFromText(const std::string &text, const std::string &name,
                                                         const language::Parameters &parameters, const Target &target) {
  std::unique_ptr<Compilation> compilation(new Compilation(target));
  compilation->specPath = name;
  SpecKind kind;
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(text, name);
  if (!addSpec(std::move(buffer), compilation->sources, kind) || !compilation->import(kind, parameters))
    return nullptr;
  return compilation;
}

bool Compilation::import(SpecKind kind, const language::Parameters &given) {
  parameters = given;
  std::vector<std::pair<std::string, std::string>> ordered;
  for (const auto &[name, value] : parameters)
    ordered.emplace_back(name, value.text());
  specHash = hashOfSpec(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(), ordered);

  OwningOpRef<ModuleOp> module;
  language::Decisions decisions;
  isText = kind == SpecKind::Attn;
  if (isText) {
    module = importAt({}, say, &decisions);
    if (module && findFactors(*module, decisions)) {
      decisions.clear();
      Collected said;
      module = importAt({}, said.sink(), &decisions);
    }
  } else {
    if (!parameters.empty()) {
      sayErrorOf(specPath,
                 "-D " + parameters.begin()->first + ": an MLIR spec has no parameters; its sizes are in its types");
      return false;
    }
    MlirDiagnostics said(sources, mlirContext.get());
    module = parseSourceFile<ModuleOp>(sources, ParserConfig(mlirContext.get()));
  }
  if (!module)
    return false;
  MlirDiagnostics said(sources, mlirContext.get());
  return succeeded(verify(*module)) && separate(*module) && importShorter(std::move(decisions));
}

language::Options Compilation::optionsAt(const Lengths &lengths) const {
  language::Options options;
  options.parameters = parameters;
  options.lengths = lengths;
  options.atRunTime = factorsAtRunTime;
  options.spelledOut = spelledFactors;
  return options;
}

language::TypedText Compilation::typedTensors() {
  if (!isText)
    return {};
  auto silent = [](const language::Diagnostic &) {}; // an earlier import has reported them
  return language::typedTensors(sources, optionsAt({}), mlirContext.get(), silent).value_or(language::TypedText());
}

OwningOpRef<ModuleOp> Compilation::importAt(const Lengths &lengths, language::DiagnosticSink said,
                                            language::Decisions *decisions) {
  language::Options options = optionsAt(lengths);
  options.decisions = decisions;
  return language::importSource(sources, options, mlirContext.get(), std::move(said));
}

OwningOpRef<ModuleOp> cloneOf(const Kernel &kernel) {
  return OwningOpRef<ModuleOp>(cast<ModuleOp>((*kernel.einsum)->clone()));
}

OwningOpRef<ModuleOp> moduleOf(func::FuncOp function) {
  OwningOpRef<ModuleOp> own = ModuleOp::create(function.getLoc());
  own->push_back(function.clone());
  return own;
}

std::optional<Kernel> Compilation::kernelAt(const Kernel &kernel, const std::map<std::string, int64_t> &sizes) {
  Lengths lengths = boundsOf(kernel.einsumFunction());
  if (lengths.empty())
    return Kernel{kernel.name, cloneOf(kernel), {}, kernel.signature};
  for (auto &[name, value] : lengths)
    if (auto size = sizes.find(name); size != sizes.end())
      value = size->second;
  Collected collected; // the import at the bounds has reported the notes about the text
  OwningOpRef<ModuleOp> module = importAt(lengths, collected.sink());
  if (!module)
    return collected.sayAll(), std::nullopt;
  auto function = module->lookupSymbol<func::FuncOp>(kernel.name);
  function->removeAttr(attn::kLengths);
  return Kernel{kernel.name, moduleOf(function), {}, signatureOf(function)};
}

/// Checks that a function can be a kernel: the arguments are tensors of f32, f16, bf16, i8, f8E4M3FN or i32, the
/// results tensors of f32, f16 or bf16.
static LogicalResult checkSignature(func::FuncOp function) {
  auto elementOf = [](Type type) -> std::optional<ElementType> {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? elementNamedBy(tensor.getElementType()) : std::nullopt;
  };
  auto isResult = [&](Type type) {
    auto element = elementOf(type);
    return element && mayBeResult(*element);
  };
  if (function.isExternal())
    return function.emitError() << "kernel '" << function.getName() << "' has no body";
  if (!function.getBody().hasOneBlock())
    return function.emitError() << "kernel '" << function.getName() << "' has branches; expected one block";
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (!elementOf(type))
      return function.emitError() << "kernel '" << function.getName() << "': argument " << index
                                  << ": expected a ranked tensor of f32, f16, bf16, i8, f8E4M3FN or i32, found "
                                  << type;
  if (function.getNumResults() == 0 || !llvm::all_of(function.getResultTypes(), isResult))
    return function.emitError() << "kernel '" << function.getName()
                                << "': expected results, each a ranked tensor of f32, f16 or bf16";
  return success();
}

bool Compilation::separate(ModuleOp module) {
  bool anyMarked =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp f) { return f->hasAttr("attn.kernel"); });
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    // A hand-written module need not mark its kernels; then every public function is one.
    if (anyMarked ? !function->hasAttr("attn.kernel") : function.isPrivate())
      continue;
    if (failed(checkSignature(function)))
      return false;
    kernels.push_back({function.getName().str(), moduleOf(function), {}, signatureOf(function)});
  }
  if (kernels.empty())
    sayErrorOf(specPath, "the spec holds no kernel");
  return !kernels.empty();
}

bool Compilation::runPasses(ModuleOp module, const std::string &name, const char *what,
                            llvm::function_ref<void(OpPassManager &)> add, Verify when) {
  MlirDiagnostics said(sources, mlirContext.get());
  // This handler runs before the handler above. It looks at diagnostics and leaves the printing to that handler.
  unsigned errors = 0;
  std::optional<std::pair<Location, std::string>> ownFault;
  ScopedDiagnosticHandler counter(mlirContext.get(), [&](mlir::Diagnostic &diagnostic) {
    bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
    // A verifier names operations that the author of a text has never seen; authors who pin parts of a schedule know
    // them.
    bool mayStrip = isText && isError && !pinned.pins();
    if (auto about = mayStrip ? language::withoutOperation(diagnostic.str()) : std::nullopt) {
      ownFault = ownFault ? ownFault : std::pair(diagnostic.getLocation(), *about);
      return success();
    }
    errors += isError;
    if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
      return failure();
    remarks.push_back({attn::textPlaceOf(diagnostic.getLocation()), diagnostic.str()});
    return success();
  });
  PassManager manager(mlirContext.get(), ModuleOp::getOperationName());
  manager.enableVerifier(when == Verify::AfterEach);
  add(manager);
  if (succeeded(manager.run(module)) && (when == Verify::AfterEach || succeeded(verify(module))))
    return true;
  if (!errors && ownFault)
    reportOwnFault(ownFault->first, name, what, ownFault->second);
  else if (!errors)
    sayErrorOf(specPath, "kernel '" + name + "': " + what + " failed without giving a reason");
  return false;
}

void Compilation::reportOwnFault(Location location, const std::string &name, const char *what,
                                 const std::string &about) {
  if (!attn::firstPlace(location))
    for (const Kernel &kernel : kernels)
      if (kernel.name == name)
        location = kernel.einsumFunction().getLoc();
  InFlightDiagnostic error = emitError(location);
  error << "kernel '" << name << "' cannot be compiled: " << what << " fails here (" << about << ")";
  error.attachNote()
      << "the text is right, and the compiler is at fault; to avoid the fault, write the product or the table here "
         "in another form, or use 'skewer run --unfused'";
}

OwningOpRef<ModuleOp> levelOneOf(const Kernel &kernel) {
  if (kernel.shorter.empty())
    return cloneOf(kernel);
  OwningOpRef<ModuleOp> all = ModuleOp::create((*kernel.einsum)->getLoc());
  all->push_back((*kernel.einsum)->clone());
  for (const auto &shorter : kernel.shorter)
    all->push_back((*shorter)->clone());
  return all;
}

OwningOpRef<ModuleOp> Compilation::runOnAll(const Kernel &kernel, const char *what, std::string pipeline,
                                            bool forGpu) {
  OwningOpRef<ModuleOp> module = levelOneOf(kernel);
  bool isDone = runPasses(*module, kernel.name, what, [&](OpPassManager &manager) {
    if (kernel.shorter.empty()) {
      if (!pipeline.empty())
        (void)parsePassPipeline(pipeline, manager); // cannot fail: useOwnPasses has checked it
      return;
    }
    pipeline += (pipeline.empty() ? "" : ",") + std::string("attn-align-lengths{gpu=") + (forGpu ? "true}" : "false}");
    manager.addPass(createAttnFitLengths({pipeline}));
  });
  return isDone ? std::move(module) : OwningOpRef<ModuleOp>();
}

OwningOpRef<ModuleOp> Compilation::cloneEinsum(const Kernel &kernel) {
  OwningOpRef<ModuleOp> module = runOnAll(kernel, "reading", "");
  if (module)
    module->walk([](attn::AttentionOp attention) { attention.removeScheduleAttr(); });
  return module;
}

OwningOpRef<ModuleOp> Compilation::fuse(const Kernel &kernel, std::string *fusedText, bool forGpu) {
  OwningOpRef<ModuleOp> module =
      runOnAll(kernel, "fusion", ownPasses() + (ownPasses().empty() ? "" : ",") + "attn-fuse", forGpu);
  if (!module)
    return {};
  if (fusedText)
    *fusedText = textOf(*module);
  if (!runPasses(*module, kernel.name, "scheduling", [](OpPassManager &manager) { addOperandPipeline(manager); }))
    return {};
  return module;
}

OwningOpRef<ModuleOp> Compilation::schedule(const Kernel &kernel) {
  OwningOpRef<ModuleOp> module = fuse(kernel);
  return module && scheduleFused(*module, kernel.name) ? std::move(module) : OwningOpRef<ModuleOp>();
}

bool Compilation::scheduleFused(ModuleOp module, const std::string &name) {
  return runPasses(module, name, "scheduling",
                   [&](OpPassManager &manager) { addSchedulePipeline(manager, machine, pinned); });
}

OwningOpRef<ModuleOp> Compilation::schedulePlain(const Kernel &kernel) {
  size_t known = remarks.size();
  bool hasLengths = !kernel.shorter.empty();
  OwningOpRef<ModuleOp> module =
      runOnAll(kernel, "fusion", hasLengths ? "attn-fuse,func.func(attn-keep-content)" : "attn-fuse");
  bool isGood = static_cast<bool>(module);
  // The plain layer is another layer, with its own schedule.
  if (isGood)
    module->walk([](attn::AttentionOp attention) { attention.removeScheduleAttr(); });
  bool isFused = isGood && module->walk([](attn::AttentionOp) { return WalkResult::interrupt(); }).wasInterrupted();
  isGood = isFused && runPasses(*module, kernel.name, "scheduling the plain layer", [&](OpPassManager &manager) {
             if (!hasLengths)
               addPlainPipeline(manager);
             addSchedulePipeline(manager, machine);
           });
  remarks.resize(known); // these repeat the remarks about the layer as written
  return isGood ? std::move(module) : OwningOpRef<ModuleOp>();
}

std::optional<Lowered> Compilation::lower(OwningOpRef<ModuleOp> module, const std::string &name) {
  if (!runPasses(
          *module, name, "lowering to loops", [&](OpPassManager &manager) { addCpuLoweringPipeline(manager, machine); },
          Verify::AtEnd))
    return std::nullopt;
  std::optional<KernelPlan> plan = planOf(*module);
  if (!plan) {
    sayErrorOf(specPath, "kernel '" + name + "': lowering to loops left no plan");
    return std::nullopt;
  }
  return Lowered{std::move(module), std::move(*plan)};
}

OwningOpRef<ModuleOp> Compilation::scheduleForGpu(ModuleOp fused, const std::string &name,
                                                  const gpu::GpuRequest &request) {
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(fused->clone()));
  if (!runPasses(*module, name, "scheduling for a GPU",
                 [&](OpPassManager &manager) { addGpuSchedulePipeline(manager, request); }))
    return {};
  return module;
}

OwningOpRef<ModuleOp> Compilation::lowerForGpu(ModuleOp fused, const std::string &name, const gpu::GpuRequest &request,
                                               std::string *scheduledText) {
  DialectRegistry registry;
  gpu::registerGpuTarget(registry);
  mlirContext->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = scheduleForGpu(fused, name, request);
  if (module && scheduledText)
    *scheduledText = textOf(*module);
  auto addLowering = [](OpPassManager &manager) {
    addGpuLoweringPipeline(manager);
    addNvvmPipeline(manager);
  };
  if (!module || !runPasses(*module, name, "lowering to a GPU kernel", addLowering, Verify::AtEnd))
    return {};
  return module;
}

std::unique_ptr<llvm::Module> Compilation::toLlvm(Lowered &lowered, llvm::LLVMContext &llvmContext) {
  if (!runPasses(
          *lowered.module, lowered.plan.name, "lowering to LLVM",
          [&](OpPassManager &manager) { addLlvmPipeline(manager, machine); }, Verify::AtEnd))
    return nullptr;
  auto module = toLlvmModule(*lowered.module, lowered.plan, machine, llvmContext, specHash);
  if (!module) { // the error is about the kernel's name or an argument's size: report it at its line
    MlirDiagnostics said(sources, mlirContext.get());
    std::string why = llvm::toString(module.takeError());
    if (auto about = isText ? language::withoutOperation(why) : std::nullopt)
      reportOwnFault(lowered.module->getLoc(), lowered.plan.name, "translation to machine code", *about);
    else
      emitError(lowered.module->getLoc()) << why;
    return nullptr;
  }
  return std::move(*module);
}

void Compilation::reportAtLine(const Kernel &kernel, llvm::Error error) {
  MlirDiagnostics said(sources, mlirContext.get());
  emitError(kernel.einsumFunction().getLoc()) << llvm::toString(std::move(error));
}

void Compilation::report(const std::string &name, llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  sayError(llvm::StringRef(text).starts_with("kernel '") ? text : "kernel '" + name + "': " + text);
}

std::string Compilation::textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << "\n";
  return text;
}

} // namespace skewer
