// `skewer compile`: writes object files, headers and manifests, completely or not at all.
#include "codegen/ABI/Dispatch.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/TakenNames.h"
#include "dialect/Language/Language.h"
#include "dialect/Language/Resolved.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/CompileGpu.h"
#include "tools/skewer/Facts.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/OpenSpec.h"
#include "tools/skewer/Progress.h"
#include "tools/skewer/ScheduleText.h"
#include "tools/skewer/Session/Compilation.h"
#include "tools/skewer/Session/Targets.h"
#include "tools/skewer/SharedObject.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace skewer::driver {
namespace {

class Emitter {
public:
  Emitter(const Options &options, const std::vector<Target> &targets, const std::vector<gpu::GpuTarget> &gpus,
          bool forProcessor)
      : options(options), targets(targets), gpus(gpus), forProcessor(forProcessor) {}

  const Options &options;
  const std::vector<Target> &targets; // if more than one: an object for each, and a dispatcher object
  const std::vector<gpu::GpuTarget> &gpus;
  bool forProcessor;
  std::vector<OutputFile> files;
  std::map<std::string, std::string> names; // declared names, each with the kernel that declares it

  bool wants(const char *kind) const {
    return std::find(options.emit.begin(), options.emit.end(), kind) != options.emit.end();
  }
  void add(const std::string &name, const char *suffix, std::string bytes) {
    llvm::SmallString<128> path(options.outputFolder);
    llvm::sys::path::append(path, name + suffix);
    files.push_back({path.str().str(), std::move(bytes)});
  }

  /// Adds NAME.resolved.txt of a spec, named after its file: the meanings of its names. The spec has been compiled, so
  /// it has no errors.
  void addNames(const Options &options, const std::string &spec) {
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
        options.text ? llvm::MemoryBuffer::getMemBuffer(*options.text, spec) : llvm::MemoryBuffer::getFile(spec);
    if (!file) // not expected: the file has been read before
      return;
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
    auto names = language::resolvedNames(sources, [](const language::Diagnostic &) {});
    add(llvm::sys::path::stem(spec).str(), ".resolved.txt", names.value_or(""));
  }

  bool addKernel(Compilation &compilation, const Kernel &kernel) {
    if (!isNew(compilation, kernel.name))
      return false;
    nowDoing("compiling kernel '" + kernel.name + "'");
    if (wants("attn"))
      add(kernel.name, ".attn.mlir", Compilation::textOf(*kernel.einsum));
    std::string fused;
    auto module = compilation.fuse(kernel, &fused);
    if (!module)
      return false;
    if (wants("fused"))
      add(kernel.name, ".fused.mlir", std::move(fused));
    codes.clear();
    if (!gpus.empty()) {
      auto forGpu = kernel.shorter.empty() ? std::move(module) : compilation.fuse(kernel, nullptr, /*forGpu=*/true);
      auto compiled = forGpu ? compileForGpus(compilation, kernel, *forGpu, gpus, options) : std::nullopt;
      if (kernel.shorter.empty())
        module = std::move(forGpu);
      if (!compiled)
        return false;
      codes = std::move(*compiled);
      auto addFile = [&](const std::string &suffix, std::string bytes) {
        add(kernel.name, suffix.c_str(), std::move(bytes));
      };
      addGpuFiles(codes, options, addFile);
      if (options.fatbin && !addFatbin(codes, kernel, options, addFile))
        return false;
    }
    images = imagesOf(codes);
    if (!forProcessor)
      return addDeviceObject(compilation, kernel);
    size_t first = files.size();
    if (targets.size() > 1 ? !addVariants(compilation, kernel) : !addOne(compilation, kernel, std::move(module)))
      return false;
    return !wants("shared") || addShared(kernel, first);
  }

private:
  /// Adds NAME.so from the kernel's objects, which are among the files from `first` on.
  bool addShared(const Kernel &kernel, size_t first) {
    std::vector<llvm::StringRef> objects;
    for (const OutputFile &file : llvm::drop_begin(files, first))
      if (llvm::StringRef(file.path).ends_with(".o"))
        objects.push_back(file.bytes);
    auto shared = linkShared(kernel.name, objects);
    if (!shared)
      return Compilation::report(kernel.name, shared.takeError()), false;
    add(kernel.name, ".so", std::move(*shared));
    return true;
  }

  /// Adds the files of a kernel for one processor.
  bool addOne(Compilation &compilation, const Kernel &kernel, mlir::OwningOpRef<mlir::ModuleOp> module) {
    if (!compilation.scheduleFused(*module, kernel.name))
      return false;
    if (wants("scheduled"))
      add(kernel.name, ".scheduled.mlir", Compilation::textOf(*module));
    auto made = addObject(compilation, kernel, std::move(module), "");
    if (!made)
      return false;
    add(kernel.name, ".h", headerText(made->plan, compilation.hash(), images));
    addManifest(kernel, manifestText(made->plan, made->target, compilation.hash(), made->details));
    return true;
  }

  std::vector<gpu::GpuCode> codes; // of the current kernel, for each GPU
  std::vector<CudaImage> images;

  void addManifest(const Kernel &kernel, std::string manifest) {
    add(kernel.name, ".json", codes.empty() ? std::move(manifest) : gpu::addGpuTargets(manifest, codes));
  }

  bool isNew(const Compilation &compilation, const std::string &name) {
    for (const std::string &declared : declaredNames(name)) {
      auto [known, isNew] = names.emplace(declared, name);
      if (isNew)
        continue;
      sayErrorOf(compilation.path(), known->second == name
                                         ? "two kernels are named '" + name + "'"
                                         : "kernels '" + known->second + "' and '" + name + "' would both have '" +
                                               declared + "' in their headers; rename one, here or with --name");
      return false;
    }
    return true;
  }

  /// Adds NAME.o with entries for GPUs only.
  bool addDeviceObject(Compilation &compilation, const Kernel &kernel) {
    const KernelPlan &plan = codes.front().plan;
    std::string manifest = gpu::addGpuTargets(manifestText(plan, compilation.hash()), codes);
    llvm::LLVMContext context;
    auto module = cudaModule(plan, images, manifest, context, argsVersionOf(compilation.hash()));
    if (!module)
      return compilation.reportAtLine(kernel, module.takeError()), false;
    auto object = emitObject(**module, dispatcherTarget());
    if (!object)
      return Compilation::report(kernel.name, object.takeError()), false;
    add(kernel.name, ".o", std::move(*object));
    add(kernel.name, ".h", cudaHeaderText(plan, compilation.hash(), images));
    add(kernel.name, ".json", std::move(manifest));
    return true;
  }

  /// Adds NAME.o, or for one of several processors NAME.VARIANT.o, whose symbols begin with NAME_VARIANT.
  std::optional<TargetVariant> addObject(Compilation &compilation, const Kernel &kernel,
                                         mlir::OwningOpRef<mlir::ModuleOp> scheduled, const std::string &variant) {
    TargetVariant made;
    made.target = compilation.target();
    made.details = manifestDetails(kernel, *scheduled);
    std::string suffix = variant.empty() ? "" : "." + variant;
    auto addFile = [&](const char *kind, std::string bytes) {
      add(kernel.name, (suffix + kind).c_str(), std::move(bytes));
    };
    auto lowered = compilation.lower(std::move(scheduled), kernel.name);
    if (!lowered)
      return std::nullopt;
    if (wants("loops"))
      addFile(".loops.mlir", Compilation::textOf(*lowered->module));
    if (!variant.empty())
      lowered->plan.name += "_" + symbolSuffix(variant);
    llvm::LLVMContext context;
    std::string llvmText;
    auto module = compilation.toLlvm(*lowered, context, wants("llvm") ? &llvmText : nullptr);
    if (!module)
      return std::nullopt;
    if (wants("llvm"))
      addFile(".ll", std::move(llvmText));
    if (variant.empty() && !images.empty())
      if (llvm::Error error = addCudaEntries(*module, lowered->plan, images, argsVersionOf(compilation.hash())))
        return Compilation::report(kernel.name, std::move(error)), std::nullopt;
    if (wants("asm")) {
      // Code generation changes the module, so the assembly is made from a copy.
      auto assembly = emitObject(*llvm::CloneModule(*module), made.target, /*assembly=*/true);
      if (!assembly)
        return Compilation::report(kernel.name, assembly.takeError()), std::nullopt;
      addFile(".s", std::move(*assembly));
    }
    auto object = emitObject(*module, made.target);
    if (!object)
      return Compilation::report(kernel.name, object.takeError()), std::nullopt;
    addFile(".o", std::move(*object));
    made.plan = std::move(lowered->plan);
    made.symbol = made.plan.name;
    made.object = kernel.name + suffix + ".o";
    return made;
  }

  /// Adds an object for each processor, and NAME.o, which chooses among them.
  bool addVariants(Compilation &compilation, const Kernel &kernel) {
    std::vector<TargetVariant> variants;
    for (const Target &target : targets) {
      compilation.retarget(target);
      nowDoing("compiling kernel '" + kernel.name + "' for " + target.name);
      if (!isNew(compilation, kernel.name + "_" + symbolSuffix(target.name)))
        return false;
      auto scheduled = compilation.schedule(kernel);
      if (!scheduled)
        return false;
      if (wants("scheduled"))
        add(kernel.name, ("." + target.name + ".scheduled.mlir").c_str(), Compilation::textOf(*scheduled));
      auto made = addObject(compilation, kernel, std::move(scheduled), target.name);
      if (!made)
        return false;
      variants.push_back(std::move(*made));
    }
    compilation.retarget(targets.front());
    std::string manifest = manifestText(kernel.name, variants, compilation.hash());
    std::vector<TargetVariant> inObject = variants; // NAME_info() describes the call, not the schedule
    for (TargetVariant &variant : inObject)
      variant.details = "{}";
    llvm::LLVMContext context;
    auto module =
        dispatcherModule(kernel.name, variants, manifestText(kernel.name, inObject, compilation.hash()), context);
    if (!module)
      return Compilation::report(kernel.name, module.takeError()), false;
    if (llvm::Error error = optimize(**module, dispatcherTarget()))
      return Compilation::report(kernel.name, std::move(error)), false;
    KernelPlan plan = variants.front().plan;
    plan.name = kernel.name;
    if (!images.empty())
      if (llvm::Error error = addCudaEntries(**module, plan, images, argsVersionOf(compilation.hash())))
        return Compilation::report(kernel.name, std::move(error)), false;
    auto object = emitObject(**module, dispatcherTarget());
    if (!object)
      return Compilation::report(kernel.name, object.takeError()), false;
    add(kernel.name, ".o", std::move(*object));
    add(kernel.name, ".h", headerText(kernel.name, variants, compilation.hash(), images));
    addManifest(kernel, std::move(manifest));
    return true;
  }
};

void setName(Kernel &kernel, const std::string &name) {
  kernel.einsumFunction().setName(name);
  for (const auto &shorter : kernel.shorter)
    (*(*shorter).getOps<mlir::func::FuncOp>().begin()).setName(name);
  kernel.signature.name = name;
  kernel.name = name;
}

/// Keeps the kernels that --kernel chooses, under the names that --prefix and --name give them. Returns false after an
/// error.
bool chooseAndName(Compilation &compilation, const Options &options) {
  std::vector<std::string> known;
  for (const Kernel &kernel : compilation.kernels)
    known.push_back(kernel.name);
  auto isKnown = [&](const char *option, const std::string &name) {
    if (llvm::is_contained(known, name))
      return true;
    sayErrorOf(compilation.path(),
               option + (" '" + name) + "': the spec has no such kernel; it has " + llvm::join(known, ", "));
    return false;
  };
  for (const std::string &name : options.chosenKernels)
    if (!isKnown("--kernel", name))
      return false;
  for (const auto &[name, made] : options.names)
    if (!isKnown("--name", name))
      return false;
  if (!options.chosenKernels.empty())
    llvm::erase_if(compilation.kernels,
                   [&](const Kernel &kernel) { return !llvm::is_contained(options.chosenKernels, kernel.name); });
  for (Kernel &kernel : compilation.kernels) {
    auto named = options.names.find(kernel.name);
    std::string name = options.prefix + (named == options.names.end() ? kernel.name : named->second);
    std::string why = name == kernel.name ? "" : whyNoKernel(name); // a wrong name in the text is reported at its line
    if (!why.empty()) {
      sayError("kernel '" + kernel.name + "' would be called '" + name + "': " + why);
      return false;
    }
    if (name != kernel.name)
      setName(kernel, name);
  }
  return true;
}

/// Escapes a path for Make.
std::string escaped(llvm::StringRef path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#')
      text += '\\';
    if (c == '$')
      text += '$';
    text += c;
  }
  return text;
}

} // namespace

int compileInMemory(const Options &options, std::vector<OutputFile> &files) {
  std::string processors = options.target;
  auto gpus = takeGpuTargets(processors);
  if (!gpus)
    return kUsage;
  if (options.fatbin && gpus->empty()) {
    sayError("--fatbin: --target names no GPU; add one, as in --target=host,sm_80");
    return kUsage;
  }
  if (llvm::is_contained(options.emit, "shared") && !gpus->empty()) {
    sayError("--emit=shared: a shared object is for processors, and --target names a GPU; link NAME.o and the "
             "launcher's sources instead");
    return kUsage;
  }
  bool forProcessor = gpus->empty() || !processors.empty();
  if (!checkSchedule(options, forProcessor, !gpus->empty()))
    return kUsage;
  std::optional<std::vector<Target>> targets = targetsNamed(forProcessor ? processors : "host");
  if (!targets)
    return kUsage;
  Emitter emitter(options, *targets, *gpus, forProcessor);
  for (const std::string &spec : options.specs) {
    auto compilation = openSpecOf(options, spec, targets->front());
    if (!compilation)
      return kWrong;
    compilation->pinned = options.cpuSchedule;
    if (!chooseAndName(*compilation, options))
      return kWrong;
    if (emitter.wants("resolved") && llvm::sys::path::extension(spec) != ".mlir")
      emitter.addNames(options, spec);
    if (emitter.wants("typed") && llvm::sys::path::extension(spec) != ".mlir")
      emitter.add(llvm::sys::path::stem(spec).str(), ".typed.txt", compilation->typedTensors().text);
    for (const Kernel &kernel : compilation->kernels)
      if (!emitter.addKernel(*compilation, kernel))
        return kWrong;
  }
  if (!options.dependencyFile.empty()) {
    std::string text = escaped(options.dependencyTarget);
    for (const OutputFile &file : emitter.files)
      if (options.dependencyTarget.empty())
        text += (text.empty() ? "" : " \\\n  ") + escaped(file.path);
    text += ":";
    for (const std::string &spec : options.specs)
      text += " " + escaped(spec);
    for (llvm::StringRef name : llvm::split(options.target, ','))
      if (isMachineFile(name))
        text += " " + escaped(name);
    emitter.files.push_back({options.dependencyFile, text + "\n"});
  }
  files = std::move(emitter.files);
  return kDone;
}

int compile(const Options &options) {
  std::vector<OutputFile> files;
  if (int exitCode = compileInMemory(options, files))
    return exitCode;
  if (std::error_code code = makeFolders(options.outputFolder)) {
    sayError("cannot make the folder '" + options.outputFolder + "': " + code.message());
    return kWrong;
  }
  if (llvm::Error error = writeFiles(files)) {
    sayError(std::move(error));
    return kWrong;
  }
  return kDone;
}

} // namespace skewer::driver
