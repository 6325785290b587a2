// What `skewer bench` does alike on processors and on GPUs.
#pragma once
#include "tools/skewer/Execution.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer::driver {

/// 0 of nothing.
double medianOf(std::vector<double> values);

/// The largest error of the results of a run against the float64 reference, over 32 rows or as many as --rows says.
/// `isRight` becomes false, after a message, where one is above the tolerance. Nothing after a message where the
/// reference cannot judge.
std::optional<double> checkedError(const Options &, const Kernel &, const Operands &, const Execution &, bool &isRight);

/// Each kernel that the command line names, of each spec; false, after a message, where one of the two cannot be had or
/// `measure` says so.
bool forEachKernel(const Options &, llvm::function_ref<bool(Compilation &, const Kernel &)> measure);

/// `skewer bench --target=sm_…`.
int benchOnGpu(const Options &);

} // namespace skewer::driver
