// Measures the maximum speed of this processor's FMA units: the base of "share of peak".
#pragma once
#include "tools/skewer/ThreadPool.h"
#include <string>

namespace skewer::driver {

/// Measures the single-precision GFLOP/s of all the pool's workers together, with register-only FMAs on the processor's
/// widest vectors, for about `seconds`. The clock varies: measure before and after the compared timing.
double measurePeak(ThreadPool &, double seconds = 0.02);
/// Returns the instructions that measurePeak uses here: "avx512f", "avx2+fma", ….
const char *peakInstructions();

} // namespace skewer::driver
