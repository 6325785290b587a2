// Draws the panels of a plot, each a grid with axes, legend and caption.
#pragma once
#include "tools/skewer/PlotData.h"

namespace skewer::driver {

/// Returns the picture of all the data: an SVG document.
std::string drawPlot(const PlotData &);

} // namespace skewer::driver
