// Draws the panels of a plot as SVG, each a grid with axes, legend and caption. Plot.cpp calls it.
#pragma once
#include "tools/skewer/PlotData.h"

namespace skewer::driver {

/// Returns the picture of all the data as an SVG document.
std::string drawPlot(const PlotData &);

} // namespace skewer::driver
