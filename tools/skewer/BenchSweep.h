// `skewer bench --sweep`: the same kernels at several values of one size.
#pragma once
#include "tools/skewer/BenchKernel.h"

namespace skewer::driver {

/// The figures of one kernel at one value of the sweep.
struct SweptRow {
  std::string kernel; // its name; after that of its file if there are several specs
  int64_t value = 0;  // of the swept name
  int32_t threads = 1;
  Row row;
};

/// Times every kernel at every value of the sweep in the options, beside plain attention and the roofline. Prints a
/// line as soon as it is measured, or JSON at the end, and draws the picture if the options name a file. Returns the
/// exit code.
int benchSweep(const Options &);

} // namespace skewer::driver
