// The strategies that there are.
#pragma once
#include "passes/Gpu/Strategy.h"

namespace skewer::gpu {

/// In the order in which the kernel calls them.
Strategies strategiesOf(const KernelContext &);

} // namespace skewer::gpu
