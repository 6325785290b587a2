// Describes the tensor maps that a launch makes for the kernel that copies boxes.
#pragma once
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuLaunch.h"

namespace skewer::gpu {

/// Returns a tensor map for each box of the attention's layout, in its order.
std::vector<GpuTensorMap> mapsOfBoxes(const GpuAttention &);

} // namespace skewer::gpu
