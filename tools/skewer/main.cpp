// skewer: compiles attention layers with positions to kernels; runs, times and explains them.
#include "codegen/Compiler/Compiler.h"
#include "tools/plugins/PluginFile.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Progress.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>

using namespace skewer;
using namespace skewer::driver;

/// Loads the plugins; returns false after an error.
static bool loadPlugins(const Options &options) {
  auto load = [](const std::vector<std::string> &paths, llvm::Error (*one)(const std::string &)) {
    for (const std::string &path : paths)
      if (llvm::Error error = one(path)) {
        sayError(std::move(error));
        return false;
      }
    return true;
  };
  useDialects(registerPlugins);
  return load(options.dialectPlugins, loadDialectPlugin) && load(options.passPlugins, loadPassPlugin) &&
         useOwnPasses(options.passes);
}

static int dispatch(const Options &options) {
  if (!loadPlugins(options))
    return kWrong;
  switch (options.command) {
  case Command::Compile:
    return compile(options);
  case Command::Run:
    return run(options);
  case Command::Bench:
    return bench(options);
  case Command::Explain:
    return explain(options);
  case Command::Plot:
    return plot(options);
  case Command::Report:
    return report(options);
  case Command::Schemes:
    return schemes(options);
  case Command::Format:
    return format(options);
  case Command::Target:
    return target(options);
  }
  return kUsage;
}

static int runDriver(int argc, char **argv) {
  int exitCode = kDone;
  std::optional<Options> options = parseOptions(argc, argv, exitCode);
  if (!options)
    return exitCode;
  {
    ProgressLine progress;
    exitCode = dispatch(*options);
  }
  // The printed output counts as a result: a full disk behind standard output is an error, not a crash.
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    sayError("cannot write to standard output: " + llvm::outs().error().message());
    llvm::outs().clear_error();
    return kWrong;
  }
  return exitCode;
}

int main(int argc, char **argv) {
  int exitCode = runDriver(argc, argv);
  llvm::errs().clear_error(); // files and results are valid even if notes about them cannot be printed
  return exitCode;
}
