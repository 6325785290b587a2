// The request that a caller gives to `compile` (Compiler.h), and the result that it returns. The command line and the C
// API fill in the same request.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include "dialect/Language/Parameter.h"
#include "passes/Cpu/Schedule/CostModel.h"
#include "passes/Schedule/GpuMachine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace skewer {

/// The texts and modules on the way from a spec to an object, in their order, and the forms of the object. A request
/// names those that become artefacts; `Object` always does.
enum class Emit { Resolved, Typed, Attn, Fused, Scheduled, Loops, Llvm, Assembly, Object, Shared };
/// Returns their names ("resolved", "typed", …) in the order of the enumeration.
llvm::ArrayRef<llvm::StringLiteral> emitNames();

/// The options for GPU code.
struct GpuBuild {
  std::string cudaPath;     // the folder of a CUDA toolkit; empty: search for one
  bool ptxOnly = false;     // make PTX only, without ptxas
  gpu::GpuRequest schedule; // the parts that are given instead of chosen; its target and rank are unused
};

/// A request to compile specs for targets.
struct CompileRequest {
  std::vector<std::string> specs;   // files that end in .attn or .mlir
  std::optional<std::string> text;  // the text of the only spec, whose path is then only a name for messages
  language::Parameters parameters;  // values for `param` and `size`
  std::string target = "host";      // processors and GPUs: "x86-64-v3,sm_80". Of several processors a call chooses one
  std::vector<std::string> kernels; // the kernels to compile, by their names in the text; empty: all
  std::map<std::string, std::string> names; // kernels in the text, and their new names
  std::string prefix;                       // the prefix of all kernels' names
  std::set<Emit> emit;
  bool fatbin = false;    // also one file with the code for all GPUs
  unsigned jobs = 1;      // so many specs, targets or kernels are compiled at a time, each on a thread
  CpuRequest cpuSchedule; // the parts of a processor's schedule that are given instead of chosen
  GpuBuild gpu;
  /// Called with the current activity, "compiling kernel 'layer'", on the thread that begins it.
  std::function<void(const std::string &)> doing;
};

/// A file that the compiler made: its name, without a folder, and its content.
struct Artefact {
  std::string name, bytes;
};

/// The outcome. Done: all artefacts are there. Wrong: a spec has an error, or the tools of a target cannot compile it;
/// the artefacts of the other specs are there.
/// BadRequest: the request itself has an error, whatever the spec is.
enum class CompileStatus { Done, Wrong, BadRequest };

struct CompileResult {
  CompileStatus status = CompileStatus::Done;
  std::vector<Artefact> artefacts;               // NAME.o, NAME.h, NAME.json and more, in the order of the specs
  std::vector<language::Diagnostic> diagnostics; // the same order, whatever the number of jobs
};

} // namespace skewer
