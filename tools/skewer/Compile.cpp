// `skewer compile`: turns the options into a request to the compiler, and writes the artefacts completely or not at
// all. A spec with an error has no artefacts; those of the other specs are written.
#include "codegen/Compiler/Compiler.h"
#include "passes/Schedule/Machine.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Progress.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

namespace skewer::driver {

static CompileRequest requestOf(const Options &options) {
  CompileRequest request;
  request.specs = options.specs;
  request.text = options.text;
  request.parameters = options.parameters;
  request.target = options.target;
  request.kernels = options.chosenKernels;
  request.names = options.names;
  request.prefix = options.prefix;
  request.emit = options.emit;
  request.fatbin = options.fatbin;
  request.jobs = static_cast<unsigned>(options.jobs);
  request.cpuSchedule = options.cpuSchedule;
  request.gpu = options.gpu;
  request.doing = [](const std::string &what) { nowDoing(what); };
  return request;
}

/// Escapes a path for Make.
static std::string escaped(llvm::StringRef path) {
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

/// Returns the rule of Make that says which files the artefacts are made from.
static std::string dependencies(const Options &options, const std::vector<OutputFile> &files) {
  std::string text = escaped(options.dependencyTarget);
  for (const OutputFile &file : files)
    if (options.dependencyTarget.empty())
      text += (text.empty() ? "" : " \\\n  ") + escaped(file.path);
  text += ":";
  for (const std::string &spec : options.specs)
    text += " " + escaped(spec);
  for (llvm::StringRef name : llvm::split(options.target, ','))
    if (TargetName parts(name); parts.isFile())
      text += " " + escaped(parts.machine);
  return text + "\n";
}

int compile(const Options &options) {
  CompileResult result = skewer::compile(requestOf(options));
  for (language::Diagnostic &diagnostic : result.diagnostics)
    say(std::move(diagnostic));
  int exitCode = result.status == CompileStatus::Done ? kDone : result.status == CompileStatus::Wrong ? kWrong : kUsage;
  if (exitCode != kDone && result.artefacts.empty())
    return exitCode;
  std::vector<OutputFile> files;
  for (Artefact &artefact : result.artefacts) {
    llvm::SmallString<128> path(options.outputFolder);
    llvm::sys::path::append(path, artefact.name);
    files.push_back({path.str().str(), std::move(artefact.bytes)});
  }
  if (!options.dependencyFile.empty() && exitCode == kDone) // Make would take the rule for one that holds
    files.push_back({options.dependencyFile, dependencies(options, files)});
  if (std::error_code code = makeFolders(options.outputFolder)) {
    sayError("cannot make the folder '" + options.outputFolder + "': " + code.message());
    return kWrong;
  }
  if (llvm::Error error = writeFiles(files)) {
    sayError(std::move(error));
    return kWrong;
  }
  return exitCode;
}

} // namespace skewer::driver
