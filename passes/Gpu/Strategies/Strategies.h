// The list of strategies.
#pragma once
#include "passes/Gpu/Strategy.h"

namespace skewer::gpu {

/// Returns the strategies in the order in which the kernel calls them.
Strategies strategiesOf(const KernelContext &);

} // namespace skewer::gpu
