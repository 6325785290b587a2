// The most that this processor's FMA units do: what "share of peak" is a share of.
#pragma once
#include "tools/skewer/ThreadPool.h"
#include <string>

namespace skewer::driver {

/// One measurement: single-precision GFLOP/s of all the pool's workers together, register-only FMAs on the widest
/// vectors the processor has, for about `seconds`. The clock varies: measure before and after what is compared with it.
double measurePeak(ThreadPool &, double seconds = 0.02);
/// "avx512f", "avx2+fma", …: the instructions that measurePeak uses here.
const char *peakInstructions();

} // namespace skewer::driver
