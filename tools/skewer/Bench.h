// What `skewer bench` does alike on processors and on GPUs.
#pragma once
#include "tools/skewer/Execution.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer::driver {

/// 0 of nothing.
double medianOf(std::vector<double> values);

/// What one checked run says of a kernel.
struct CheckedRow {
  std::string name;
  double flops = 0, error = 0; // error: the largest of its results, against the float64 reference
  double tolerance = 0;
  std::vector<std::string> seeded; // names of operands
  uint64_t workspaceBytes = 0;
  bool isRight = true; // within the tolerance
};
/// Runs once and compares 32 rows, or as many as --rows says, with the reference. False after a message where it cannot
/// run or be judged; a wrong result is said and noted in the row.
bool runChecked(const Options &, const Kernel &, const Operands &, ThreadPool &, Execution &, CheckedRow &);

/// Each kernel that the command line names, of each spec; false, after a message, where one of the two cannot be had or
/// `measure`, which gets the options that are the kernel's, says so.
bool forEachKernel(const Options &, llvm::function_ref<bool(const Options &, Compilation &, const Kernel &)> measure);

/// `skewer bench --target=sm_…`.
int benchOnGpu(const Options &);

} // namespace skewer::driver
