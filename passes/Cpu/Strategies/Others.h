// Ways to compute summands without a contraction, and parts of masks that are no interval: what does not depend on the
// queries' vectors.
#pragma once
#include "passes/Cpu/Strategy.h"

namespace skewer {

/// Values that are prepared before the scores are computed: a strategy for each buffer (PreparedLines.cpp).
std::vector<std::unique_ptr<CpuStrategy>> makePreparedLines(CpuKernel &);
/// Rows of operands, loaded where they are needed (RowLoads.cpp).
std::unique_ptr<CpuStrategy> makeRowLoad(CpuKernel &, const OtherTerm &);
/// What nothing better is known for: one element at a time. Null if there is no such term or mask (Elements.cpp).
std::unique_ptr<CpuStrategy> makeElements(CpuKernel &);
/// What is computed for a vector of keys at a time; null likewise (Lanes.cpp).
std::unique_ptr<CpuStrategy> makeLanes(CpuKernel &);

} // namespace skewer
