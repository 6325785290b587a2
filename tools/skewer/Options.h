// The options of the command line: one structure for all commands. main.cpp parses it; the C API fills it from a
// request.
#pragma once
#include "codegen/Compiler/Request.h"
#include "tools/skewer/Sweep.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skewer::driver {

/// Exit codes of every command.
enum ExitCode { kDone = 0, kWrong = 1, kUsage = 2, kNoDevice = 3 };

enum class Command { Compile, Run, Bench, Explain, Plot, Report, Schemes, Target, Format };

/// The options of compile; the other commands use the options that select the code.
struct CompileOptions {
  std::string outputFolder, dependencyFile;
  std::string dependencyTarget;             // the target in the dependency file; empty: all files
  std::string prefix;                       // the prefix of all kernels' names
  std::map<std::string, std::string> names; // names of kernels in the text, and their new names
  std::vector<std::string> chosenKernels;   // empty: all
  std::set<Emit> emit;
  GpuBuild gpu;
  bool fatbin = false;
  int64_t jobs = 1;
  CpuRequest cpuSchedule;
  std::vector<std::string> dialectPlugins, passPlugins;
  std::string passes; // a pipeline in MLIR's syntax, run before fusion
};

/// The options of run and bench: the call and the use of its results.
struct RunOptions {
  std::map<std::string, int64_t> sizes;                 // --size NAME=VALUE
  std::map<std::string, int64_t> origins;               // --origin q0=VALUE
  std::map<std::string, std::string> inputs;            // --input NAME=FILE
  std::map<std::string, std::string> outputs, expected; // --output, --expect: NAME=FILE, or FILE under an empty name
  std::string picture, kernel;
  std::optional<Sweep> sweep; // for bench
  int64_t head = 0; // for plot and report
  std::optional<double> tolerance;
  uint64_t seed = 1, seeds = 1; // the first seed, and the number of seeds
  uint64_t repeats = 1;         // for run: calls with the same operands
  int64_t rows = 0;             // 0: as many as are cheap
  int32_t threads = 1;
  double seconds = 1;
  bool unfused = false, plain = false, besideRead = false, prepared = false, json = false;
};

/// The options of target.
struct TargetOptions {
  std::string machine, machineFile; // NAME; -o
  bool probe = false;
};

struct Options : CompileOptions, RunOptions, TargetOptions {
  Command command = Command::Compile;
  std::vector<std::string> specs;
  std::optional<std::string> text;     // the text of the only spec, whose path is then a name for messages
  std::string scheme;                  // schemes NAME; empty: all
  bool inPlace = false, check = false; // for format
  language::Parameters parameters;     // -D NAME=VALUE
  std::string target = "host";
  /// Returns whether the target is a GPU. For run, bench and explain, which take one target.
  bool isForGpu() const;
};

/// Reads the command line. Returns nothing if the process has nothing left to do (--help, --version) or the line is
/// wrong; `exitCode` is then the exit code.
std::optional<Options> parseOptions(int argc, char **argv, int &exitCode);

} // namespace skewer::driver
