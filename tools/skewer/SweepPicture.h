// Draws what a sweep measured: a row of panels for each kernel.
#pragma once
#include "tools/skewer/BenchSweep.h"
#include "llvm/ADT/ArrayRef.h"

namespace skewer::driver {

/// Returns the picture as an SVG document: for each kernel the time of a call beside plain attention and the roofline,
/// the workspace, and the time to compile, over the values of the swept name.
std::string drawSweep(const std::string &name, llvm::ArrayRef<SweptRow>);

} // namespace skewer::driver
