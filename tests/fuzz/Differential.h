// One spec through the compiler, judged by the float64 reference.
#pragma once
#include "passes/Schedule/GpuMachine.h"
#include "tests/fuzz/RandomSpec.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer::fuzz {

enum class Failure {
  None,
  Spec,      // the language refused it: the generator writes what is no spec, or the language is wrong
  Compile,   // a pass or the code generator gave up
  Call,      // the kernel returned a status, or memory for it was missing
  Reference, // the reference cannot judge it
  Mismatch,  // the result is off by more than the tolerance
  NotFinite, // NaN or infinity on one side alone
  Threads,   // other bits with three threads than with one
  Unfused,   // the generic path's result is not the fused kernel's
  Names,     // other names of axes make another kernel
  Fault,     // a GPU kernel races, reads what nobody wrote, or touches what is not its own
  Crash,     // a signal
  Timeout,
};
const char *nameOf(Failure);

/// The checks of a spec, in addition to the comparison of one call with the reference.
struct Plan {
  std::string target = "host";
  std::optional<gpu::GpuRequest> gpu; // as kernels for this GPU, which the interpreter runs
  uint64_t operandSeed = 1;
  bool onlyFusion = false;        // stop after fusing and scheduling
  bool threads = false;           // call again with three threads
  bool unfused = false;           // compile for the generic path too
  std::optional<uint64_t> poison; // one element of operand `poison % operands` is NaN
  bool eachPoisoned = false;      // call the same kernel again with a NaN in each operand, one after the other
  bool renamed = false;           // compile with other names of axes too
  bool guardPages = true;         // memory of operands ends where the process may read no further
  bool wholeTolerance = false;    // knows how much of the tolerance an error takes, not only whether it is within
  std::string exportFolder;       // writes a folder KERNEL of files there for each kernel that was called (Export.h)
};
/// The plan of a seed: samples of all of the above.
Plan planFor(uint64_t seed);

struct Outcome {
  Failure failure = Failure::None;
  std::string message;
  double error = 0, tolerance = 0;  // of the largest value
  int64_t operands = 0;             // of the last kernel
  bool isFused = false;             // the fused kernel was made, and not the generic one; of GPUs, on tensor cores
  std::string generic;              // why not
  std::vector<std::string> classes; // of the terms, by the registry; "query only" where such a term was dropped
};

/// The text whose kernels are judged. Run-time sizes that have no value are 2, origins 0.
struct Subject {
  std::string text;
  std::map<std::string, int64_t> sizes = {}, origins = {};
};
Subject subjectOf(const Spec &);
/// Diagnostics go to standard error.
Outcome judge(const Subject &, const Plan &);

} // namespace skewer::fuzz
