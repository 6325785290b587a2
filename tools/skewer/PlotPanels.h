// The panels of a plot, each a grid with its axes, legend and caption.
#pragma once
#include "tools/skewer/PlotData.h"

namespace skewer::driver {

/// The picture of all that was computed: an SVG document.
std::string drawPlot(const PlotData &);

} // namespace skewer::driver
