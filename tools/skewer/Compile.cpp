// `skewer compile`: object files, headers and manifests, whole or not at all.
#include "codegen/ABI/Emit.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/CompileGpu.h"
#include "tools/skewer/Facts.h"
#include "tools/skewer/Session/Compilation.h"
#include "tools/skewer/Session/Targets.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace skewer::driver {
namespace {

struct Emitter {
  const Options &options;
  const Target &target;
  const std::vector<gpu::GpuTarget> &gpus;
  bool forProcessor = true;
  std::vector<OutputFile> files;
  std::set<std::string> names;

  bool wants(const char *kind) const {
    return std::find(options.emit.begin(), options.emit.end(), kind) != options.emit.end();
  }
  void add(const std::string &name, const char *suffix, std::string bytes) {
    llvm::SmallString<128> path(options.outputFolder);
    llvm::sys::path::append(path, name + suffix);
    files.push_back({path.str().str(), std::move(bytes)});
  }

  bool addKernel(Compilation &compilation, const Kernel &kernel) {
    if (!names.insert(kernel.name).second) {
      llvm::errs() << compilation.path() << ": error: two kernels are named '" << kernel.name << "'\n";
      return false;
    }
    if (wants("attn"))
      add(kernel.name, ".attn.mlir", Compilation::textOf(*kernel.einsum));
    std::string fused;
    auto scheduled = compilation.schedule(kernel, &fused);
    if (!scheduled)
      return false;
    if (wants("fused"))
      add(kernel.name, ".fused.mlir", std::move(fused));
    if (wants("scheduled"))
      add(kernel.name, ".scheduled.mlir", Compilation::textOf(*scheduled));
    if (!gpus.empty() && !compileForGpus(compilation, kernel, *scheduled, gpus, options,
                                         [&](const std::string &suffix, std::string bytes) {
                                           add(kernel.name, suffix.c_str(), std::move(bytes));
                                         }))
      return false;
    if (!forProcessor)
      return true;
    std::string details = manifestDetails(kernel, *scheduled);
    auto lowered = compilation.lower(std::move(scheduled), kernel.name);
    if (!lowered)
      return false;
    if (wants("loops"))
      add(kernel.name, ".loops.mlir", Compilation::textOf(*lowered->module));
    llvm::LLVMContext context;
    std::string llvmText;
    auto module = compilation.toLlvm(*lowered, context, wants("llvm") ? &llvmText : nullptr);
    if (!module)
      return false;
    if (wants("llvm"))
      add(kernel.name, ".ll", std::move(llvmText));
    if (wants("asm")) {
      // Code generation changes the module, so the assembly is made from a copy.
      auto assembly = emitObject(*llvm::CloneModule(*module), target, /*assembly=*/true);
      if (!assembly)
        return Compilation::report(kernel.name, assembly.takeError()), false;
      add(kernel.name, ".s", std::move(*assembly));
    }
    auto object = emitObject(*module, target);
    if (!object)
      return Compilation::report(kernel.name, object.takeError()), false;
    add(kernel.name, ".o", std::move(*object));
    add(kernel.name, ".h", headerText(lowered->plan, compilation.hash()));
    add(kernel.name, ".json", manifestText(lowered->plan, target, compilation.hash(), details));
    return true;
  }
};

/// A path as Make reads it.
std::string escaped(llvm::StringRef path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#' || c == '\\')
      text += '\\';
    if (c == '$')
      text += '$';
    text += c;
  }
  return text;
}

} // namespace

int compile(const Options &options) {
  std::string processors = options.target;
  auto gpus = takeGpuTargets(processors);
  if (!gpus)
    return kUsage;
  bool forProcessor = gpus->empty() || !processors.empty();
  std::optional<Target> target = targetNamed(forProcessor ? processors : "host");
  if (!target)
    return kUsage;
  Emitter emitter{options, *target, *gpus, forProcessor, {}, {}};
  for (const std::string &spec : options.specs) {
    auto compilation = Compilation::create(spec, options.parameters, *target);
    if (!compilation)
      return kWrong;
    for (const Kernel &kernel : compilation->kernels)
      if (!emitter.addKernel(*compilation, kernel))
        return kWrong;
  }
  if (!options.dependencyFile.empty()) {
    std::string text;
    for (const OutputFile &file : emitter.files)
      text += (text.empty() ? "" : " \\\n  ") + escaped(file.path);
    text += ":";
    for (const std::string &spec : options.specs)
      text += " " + escaped(spec);
    emitter.files.push_back({options.dependencyFile, text + "\n"});
  }
  if (std::error_code code = llvm::sys::fs::create_directories(options.outputFolder)) {
    llvm::errs() << "skewer: error: cannot make the folder '" << options.outputFolder << "': " << code.message()
                 << "\n";
    return kWrong;
  }
  if (llvm::Error error = writeFiles(emitter.files)) {
    llvm::errs() << "skewer: error: " << llvm::toString(std::move(error)) << "\n";
    return kWrong;
  }
  return kDone;
}

} // namespace skewer::driver
