// Compiles the specs of a request to objects, headers and manifests: the whole way, from top to bottom of this file.
// The steps of a kernel are those of Compilation.h, and passes/Pipelines/Pipelines.cpp lists the passes of each step in
// the same order.
#include "codegen/ABI/Dispatch.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/SharedObject.h"
#include "codegen/Compiler/Compiler.h"
#include "codegen/Compiler/Jobs.h"
#include "codegen/Compiler/KernelNames.h"
#include "codegen/Compiler/ObjectJob.h"
#include "codegen/Compiler/TargetCode.h"
#include "codegen/GPU/Fatbinary.h"
#include "dialect/Language/Language.h"
#include "dialect/Language/Resolved.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>
#include <iterator>

namespace skewer {
namespace {

/// The targets of a request.
struct TargetList {
  std::vector<Target> processors; // several: an object for each, and one that chooses among them
  std::vector<gpu::GpuTarget> gpus;
  bool hasProcessor = true; // false: `processors` is the host, whose description is used only to import kernels
};

/// Makes the artefacts of one spec of a request. Specs share nothing but the request, so that each may be compiled on a
/// thread of its own.
class SpecCompiler {
public:
  SpecCompiler(const CompileRequest &request, const TargetList &targets, const std::string &path,
               llvm::ThreadPoolInterface *workers)
      : path(path), request(request), targets(targets), objects(workers, JobGroup::Caller::Works) {}
  /// Makes the artefacts of all kernels. Returns false after an error.
  bool run();

  const std::string &path;
  std::deque<Artefact> artefacts; // jobs fill in the bytes, so that an artefact keeps its place
  DeclaredNames declared;
  bool isGood = false;

private:
  friend class KernelCompiler;
  std::unique_ptr<Compilation> open();
  bool addKernels(Compilation &);
  void addNames(Compilation &);
  bool wants(Emit kind) const { return request.emit.count(kind) != 0; }
  Artefact &add(const std::string &name, llvm::StringRef suffix, std::string bytes) {
    return artefacts.emplace_back(Artefact{name + suffix.str(), std::move(bytes)});
  }

  const CompileRequest &request;
  const TargetList &targets;
  JobGroup objects; // the machine code of each object
};

/// Makes the artefacts of a kernel.
class KernelCompiler {
public:
  KernelCompiler(SpecCompiler &all, Compilation &compilation, const Kernel &kernel)
      : all(all), request(all.request), targets(all.targets), compilation(compilation), kernel(kernel) {}
  bool run();

private:
  bool addGpuCode(mlir::OwningOpRef<mlir::ModuleOp> &fused);
  bool addGpuArtefacts();
  bool addProcessor(mlir::ModuleOp fused);
  bool addProcessors(mlir::ModuleOp fused);
  mlir::OwningOpRef<mlir::ModuleOp> scheduled(mlir::ModuleOp fused);
  std::optional<TargetVariant> addObject(mlir::ModuleOp fused, const std::string &variant);
  bool addDispatcher(std::vector<TargetVariant>);
  bool addGpuObject();
  bool addSharedObject(size_t first);
  void addManifest(std::string manifest);

  bool wants(Emit kind) const { return all.wants(kind); }
  Artefact &add(llvm::StringRef suffix, std::string bytes) { return all.add(kernel.name, suffix, std::move(bytes)); }
  bool failed(llvm::Error error) const {
    Compilation::report(kernel.name, std::move(error));
    return false;
  }

  SpecCompiler &all;
  const CompileRequest &request;
  const TargetList &targets;
  Compilation &compilation;
  const Kernel &kernel;
  std::vector<gpu::GpuCode> codes; // the code for each GPU
  std::vector<CudaImage> images;   // the same code, as the object holds it
};

} // namespace

// 1. A request has targets and specs.

/// Finds the targets that a request names; nothing after an error in the request.
static std::optional<TargetList> targetsOf(const CompileRequest &request) {
  TargetList targets;
  std::string processors = request.target;
  auto gpus = takeGpuTargets(processors);
  if (!gpus)
    return std::nullopt;
  targets.gpus = std::move(*gpus);
  targets.hasProcessor = targets.gpus.empty() || !processors.empty();
  if (request.fatbin && targets.gpus.empty()) {
    sayError("--fatbin: --target names no GPU; add one, as in --target=host,sm_80");
    return std::nullopt;
  }
  if (request.emit.count(Emit::Shared) && !targets.gpus.empty()) {
    sayError("--emit=shared: a shared object is for processors, and --target names a GPU; link NAME.o and the "
             "launcher's sources instead");
    return std::nullopt;
  }
  if (!checkPins(request.cpuSchedule, request.gpu.schedule, targets.hasProcessor, !targets.gpus.empty()))
    return std::nullopt;
  auto found = targetsNamed(targets.hasProcessor ? processors : "host");
  if (!found)
    return std::nullopt;
  targets.processors = std::move(*found);
  return targets;
}

CompileResult compile(const CompileRequest &request) {
  CompileResult result;
  DiagnosticsTo diagnostics([&](language::Diagnostic one) { result.diagnostics.push_back(std::move(one)); });
  std::optional<TargetList> targets = targetsOf(request);
  if (!targets) {
    result.status = CompileStatus::BadRequest;
    return result;
  }
  // The thread of the only spec does its share of the objects. Several specs each have a thread, and this one waits.
  bool isOne = request.specs.size() == 1;
  std::optional<llvm::DefaultThreadPool> workers;
  if (request.jobs > 1)
    workers.emplace(llvm::hardware_concurrency(request.jobs - isOne));
  llvm::ThreadPoolInterface *pool = workers ? &*workers : nullptr;
  std::deque<SpecCompiler> specs;
  JobGroup jobs(isOne ? nullptr : pool, JobGroup::Caller::Waits);
  for (const std::string &path : request.specs) {
    SpecCompiler &spec = specs.emplace_back(request, *targets, path, pool);
    jobs.add([&spec] { return spec.isGood = spec.run(); });
  }
  jobs.finish();
  DeclaredNames declared; // by all specs
  for (SpecCompiler &spec : specs) {
    if (spec.isGood && declared.addAll(spec.path, spec.declared))
      llvm::move(spec.artefacts, std::back_inserter(result.artefacts));
    else
      result.status = CompileStatus::Wrong;
  }
  return result;
}

// 2. A spec is read, checked and imported to level 1, einsums: once, or at several lengths (ImportLengths.cpp). Each of
// its kernels has a module of its own from then on.

std::unique_ptr<Compilation> SpecCompiler::open() {
  const Target &target = targets.processors.front();
  return request.text ? Compilation::createFromText(*request.text, path, request.parameters, target)
                      : Compilation::create(path, request.parameters, target);
}

bool SpecCompiler::run() {
  std::unique_ptr<Compilation> compilation = open();
  if (!compilation)
    return false;
  compilation->pinned = request.cpuSchedule;
  if (request.doing)
    compilation->doing = request.doing;
  bool areAdded = chooseAndName(*compilation, request) && addKernels(*compilation);
  return objects.finish() && areAdded;
}

bool SpecCompiler::addKernels(Compilation &compilation) {
  if (llvm::sys::path::extension(path) != ".mlir")
    addNames(compilation);
  for (const Kernel &kernel : compilation.kernels)
    if (!declared.add(path, kernel.name) || !KernelCompiler(*this, compilation, kernel).run())
      return false;
  return true;
}

/// Adds files, named after the spec's file, that say what the names in a text mean and which tensors it computes.
void SpecCompiler::addNames(Compilation &compilation) {
  std::string name = llvm::sys::path::stem(path).str();
  if (wants(Emit::Resolved)) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(compilation.text(), path), llvm::SMLoc());
    auto names = language::resolvedNames(sources, [](const language::Diagnostic &) {}); // the spec has no errors
    add(name, ".resolved.txt", names.value_or(""));
  }
  if (wants(Emit::Typed))
    add(name, ".typed.txt", compilation.typedTensors().text);
}

// 3. A kernel is fused: level 1 to level 2 (addFusionPipeline). Targets part here.

bool KernelCompiler::run() {
  compilation.doing("compiling kernel '" + kernel.name + "'");
  if (wants(Emit::Attn))
    add(".attn.mlir", Compilation::textOf(*levelOneOf(kernel)));
  std::string fusedText;
  mlir::OwningOpRef<mlir::ModuleOp> fused = compilation.fuse(kernel, &fusedText);
  if (!fused)
    return false;
  if (wants(Emit::Fused))
    add(".fused.mlir", std::move(fusedText));
  if (!targets.gpus.empty() && !addGpuCode(fused))
    return false;
  if (!targets.hasProcessor)
    return addGpuObject();
  size_t first = all.artefacts.size();
  if (targets.processors.size() > 1 ? !addProcessors(*fused) : !addProcessor(*fused))
    return false;
  return !wants(Emit::Shared) || addSharedObject(first);
}

// 4. For each GPU: level 2 to a schedule (addGpuSchedulePipeline), to kernels in the NVVM dialect
// (addGpuLoweringPipeline, addNvvmPipeline), to PTX and to a cubin; a candidate that spills or does not fit is followed
// by the next (codegen/GPU/Build.h).

bool KernelCompiler::addGpuCode(mlir::OwningOpRef<mlir::ModuleOp> &fused) {
  // Layers of several lengths are compared in the form that the target's stages need.
  bool hasLengths = !kernel.shorter.empty();
  auto ofGpu = hasLengths ? compilation.fuse(kernel, nullptr, /*forGpu=*/true) : mlir::OwningOpRef<mlir::ModuleOp>();
  if (hasLengths && !ofGpu)
    return false;
  auto compiled = compileForGpus(compilation, kernel, hasLengths ? *ofGpu : *fused, targets.gpus, request.gpu);
  if (!compiled)
    return false;
  codes = std::move(*compiled);
  images = imagesOf(codes);
  return addGpuArtefacts();
}

/// Adds NAME.sm_80.ptx and NAME.sm_80.cubin for each GPU, the modules that the request wants, and NAME.fatbin.
bool KernelCompiler::addGpuArtefacts() {
  for (const gpu::GpuCode &code : codes) {
    add("." + code.target.name + ".ptx", code.ptx);
    if (!code.cubin.empty())
      add("." + code.target.name + ".cubin", code.cubin);
    if (wants(Emit::Scheduled))
      add("." + code.target.name + ".scheduled.mlir", code.scheduled);
    if (wants(Emit::Llvm))
      add("." + code.target.name + ".nvvm.mlir", code.nvvm);
  }
  if (!request.fatbin)
    return true;
  auto fatbinary = gpu::findFatbinary(request.gpu.cudaPath);
  if (!fatbinary) {
    sayError(fatbinary.takeError());
    return false;
  }
  auto fatbin = gpu::fatbinOf(codes, *fatbinary);
  if (!fatbin)
    return failed(fatbin.takeError());
  add(".fatbin", std::move(*fatbin));
  return true;
}

// 5. For each processor: level 2 to level 3, a schedule (addSchedulePipeline).

/// Adds the artefacts for the only processor.
bool KernelCompiler::addProcessor(mlir::ModuleOp fused) {
  auto made = addObject(fused, "");
  if (!made)
    return false;
  add(".h", headerText(*made, compilation.hash(), images));
  addManifest(manifestText(*made, compilation.hash()));
  return true;
}

/// Adds an object for each of several processors, and NAME.o, which chooses among them.
bool KernelCompiler::addProcessors(mlir::ModuleOp fused) {
  std::vector<TargetVariant> variants;
  for (const Target &target : targets.processors) {
    compilation.retarget(target);
    compilation.doing("compiling kernel '" + kernel.name + "' for " + target.name);
    if (!all.declared.add(all.path, kernel.name + "_" + symbolSuffix(target.name)))
      return false;
    auto made = addObject(fused, target.name);
    if (!made)
      return false;
    variants.push_back(std::move(*made));
  }
  compilation.retarget(targets.processors.front());
  return addDispatcher(std::move(variants));
}

/// Returns the fused module with a schedule for the compilation's target.
mlir::OwningOpRef<mlir::ModuleOp> KernelCompiler::scheduled(mlir::ModuleOp fused) {
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::cast<mlir::ModuleOp>(fused->clone()));
  return compilation.scheduleFused(*module, kernel.name) ? std::move(module) : mlir::OwningOpRef<mlir::ModuleOp>();
}

// 6. Level 3 to level 4, loops (addCpuLoweringPipeline), to the LLVM dialect (addLlvmPipeline), to an LLVM module with
// the C entries (codegen/ABI/Emit.h), and to machine code. Code with AMX's tiles is joined with code without
// (TargetCode.h).

/// Adds NAME.o, or for one of several processors NAME.VARIANT.o, whose symbols begin with NAME_VARIANT.
std::optional<TargetVariant> KernelCompiler::addObject(mlir::ModuleOp fused, const std::string &variant) {
  std::string suffix = variant.empty() ? "" : "." + variant;
  ModuleTexts texts;
  texts.wants = [&](Emit kind) { return wants(kind); };
  texts.add = [&](Emit kind, const std::string &code, std::string text) {
    add(suffix + (code.empty() ? "" : "." + code) + (kind == Emit::Loops ? ".loops.mlir" : ".scheduled.mlir"),
        std::move(text));
  };
  auto context = std::make_unique<llvm::LLVMContext>();
  std::string symbol = kernel.name + (variant.empty() ? "" : "_" + symbolSuffix(variant));
  auto built = codesForTarget(
      compilation, kernel, symbol, *context, [&] { return scheduled(fused); }, &texts);
  if (!built)
    return std::nullopt;
  TargetVariant made = std::move(built->variant);
  made.object = kernel.name + suffix + ".o";
  // The rest needs nothing of the Compilation: it may run while this thread goes on with the next target.
  auto job = std::make_shared<ObjectJob>();
  job->kernel = kernel.name;
  job->specHash = compilation.hash();
  job->variant = made;
  if (variant.empty())
    job->images = images;
  job->context = std::move(context);
  job->modules = std::move(built->modules);
  if (wants(Emit::Llvm))
    job->llvmText = &add(suffix + ".ll", "");
  if (wants(Emit::Assembly))
    job->assembly = &add(suffix + ".s", "");
  job->object = &add(suffix + ".o", "");
  all.objects.add([job] { return job->run(); });
  return made;
}

// 7. What a program links and includes: NAME.o with the entries of all targets, NAME.h, NAME.json, and NAME.so.

bool KernelCompiler::addDispatcher(std::vector<TargetVariant> variants) {
  std::string manifest = manifestText(kernel.name, variants, compilation.hash());
  std::vector<TargetVariant> inObject;
  for (const TargetVariant &variant : variants)
    inObject.push_back(withoutDetails(variant));
  llvm::LLVMContext context;
  auto module =
      dispatcherModule(kernel.name, variants, manifestText(kernel.name, inObject, compilation.hash()), context);
  if (!module)
    return failed(module.takeError());
  KernelPlan plan = variants.front().plan;
  plan.name = kernel.name;
  if (!images.empty())
    if (llvm::Error error = addCudaEntries(**module, plan, images, argsVersionOf(compilation.hash())))
      return failed(std::move(error));
  auto object = emitObject(**module, dispatcherTarget());
  if (!object)
    return failed(object.takeError());
  add(".o", std::move(*object));
  add(".h", headerText(kernel.name, variants, compilation.hash(), images));
  addManifest(std::move(manifest));
  return true;
}

/// Adds NAME.o with entries for GPUs only.
bool KernelCompiler::addGpuObject() {
  const KernelPlan &plan = codes.front().plan;
  std::string manifest = gpu::addGpuTargets(manifestText(plan, compilation.hash()), codes);
  llvm::LLVMContext context;
  auto module = cudaModule(plan, images, manifest, context, argsVersionOf(compilation.hash()));
  if (!module)
    return compilation.reportAtLine(kernel, module.takeError()), false;
  auto object = emitObject(**module, dispatcherTarget());
  if (!object)
    return failed(object.takeError());
  add(".o", std::move(*object));
  add(".h", cudaHeaderText(plan, compilation.hash(), images));
  add(".json", std::move(manifest));
  return true;
}

void KernelCompiler::addManifest(std::string manifest) {
  add(".json", codes.empty() ? std::move(manifest) : gpu::addGpuTargets(manifest, codes));
}

/// Adds NAME.so from the kernel's objects, which are among the artefacts from `first` on.
bool KernelCompiler::addSharedObject(size_t first) {
  if (!all.objects.finish())
    return false;
  std::vector<llvm::StringRef> objects;
  for (const Artefact &artefact : llvm::drop_begin(all.artefacts, first))
    if (llvm::StringRef(artefact.name).ends_with(".o"))
      objects.push_back(artefact.bytes);
  auto shared = linkShared(kernel.name, objects);
  if (!shared)
    return failed(shared.takeError());
  add(".so", std::move(*shared));
  return true;
}

llvm::ArrayRef<llvm::StringLiteral> emitNames() {
  static constexpr llvm::StringLiteral kNames[] = {"resolved", "typed", "attn", "fused", "scheduled",
                                                   "loops",    "llvm",  "asm",  "obj",   "shared"};
  return kNames;
}

} // namespace skewer
