// The command line: one structure with what every command may be told.
#pragma once
#include "dialect/Language/Parameter.h"
#include "passes/Schedule/CostModel.h"
#include "passes/Schedule/GpuMachine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skewer::driver {

/// Exit codes of every command.
enum ExitCode { kDone = 0, kWrong = 1, kUsage = 2, kNoDevice = 3 };

enum class Command { Compile, Run, Bench, Explain, Plot, Report, Schemes, Target, Format };

/// What compile is told, and the others of what code they make.
struct CompileOptions {
  std::string outputFolder, dependencyFile;
  std::string dependencyTarget;             // what the dependency file says is made; empty: all files
  std::string prefix;                       // of all kernels' names
  std::map<std::string, std::string> names; // kernels' names in the text, and what they are called instead
  std::vector<std::string> chosenKernels;   // empty: all
  std::vector<std::string> emit;
  std::string cudaPath; // of a CUDA toolkit; empty: where one is found
  bool ptxOnly = false, fatbin = false;
  gpu::GpuRequest gpuSchedule; // --schedule; its target and rank are nobody's
  CpuRequest cpuSchedule;
  std::vector<std::string> dialectPlugins, passPlugins;
  std::string passes; // a pipeline of MLIR's syntax, run before fusion
};

/// What run and bench are told, of a call and of what is done with its results.
struct RunOptions {
  std::map<std::string, int64_t> sizes;                 // --size NAME=VALUE
  std::map<std::string, int64_t> origins;               // --origin q0=VALUE
  std::map<std::string, std::string> inputs;            // --input NAME=FILE
  std::map<std::string, std::string> outputs, expected; // --output, --expect: NAME=FILE, or FILE under an empty name
  std::string picture, kernel;
  int64_t head = 0; // of plot and report
  std::optional<double> tolerance;
  uint64_t seed = 1, seeds = 1; // the first one, and how many
  int64_t rows = 0;             // 0: as many as are cheap
  int32_t threads = 1;
  double seconds = 1;
  bool unfused = false, plain = false, besideRead = false, prepared = false, json = false;
};

/// What target is told.
struct TargetOptions {
  std::string machine, machineFile; // NAME; -o
  bool probe = false;
};

struct Options : CompileOptions, RunOptions, TargetOptions {
  Command command = Command::Compile;
  std::vector<std::string> specs;
  std::optional<std::string> text;     // of the only spec, which is then no file but a name for messages
  std::string scheme;                  // schemes NAME; empty: all
  bool inPlace = false, check = false; // of format
  language::Parameters parameters;     // -D NAME=VALUE
  std::string target = "host";
  /// Of run, bench and explain, which take one target: whether that is a GPU.
  bool isForGpu() const;
};

/// Reads the command line. Nothing where the process has nothing left to do (--help, --version) or the line is wrong;
/// `exitCode` then says what to return.
std::optional<Options> parseOptions(int argc, char **argv, int &exitCode);

} // namespace skewer::driver
