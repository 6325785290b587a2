// The parts of `skewer bench` that are the same for processors and GPUs.
#pragma once
#include "tools/skewer/Execution.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer::driver {

/// Returns the median; 0 if `values` is empty.
double medianOf(std::vector<double> values);

/// The outcome of one checked run of a kernel.
struct CheckedRow {
  std::string name;
  double flops = 0, error = 0; // error: the largest over the results, against the float64 reference
  double tolerance = 0;
  std::vector<std::string> seeded; // names of operands
  uint64_t workspaceBytes = 0;
  bool isRight = true; // the error is within the tolerance
};
/// Compares 32 rows (or the number that --rows gives) of a kernel that was called with the reference. Returns false
/// after a message if the result cannot be judged. A wrong result prints a message and clears `isRight` in the row.
bool checkRun(const Options &, const Kernel &, const Operands &, const Execution &, CheckedRow &);

/// Calls `measure` for each kernel that the command line names, of each spec; `measure` gets the options of that
/// kernel. Returns false, after a message, if a spec or a kernel cannot be opened or `measure` returns false.
bool forEachKernel(const Options &, llvm::function_ref<bool(const Options &, Compilation &, const Kernel &)> measure);

/// Runs `skewer bench --target=sm_…`; returns the exit code.
int benchOnGpu(const Options &);

} // namespace skewer::driver
