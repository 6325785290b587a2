// Draws curves on two logarithmic axes. SweepPicture.cpp calls it.
#pragma once
#include "tools/skewer/PlotSvg.h"
#include <utility>
#include <vector>

namespace skewer::driver {

struct Curve {
  enum class Line { Solid, Dashed, Dotted };
  std::string name;
  Line line = Line::Solid;
  std::vector<std::pair<double, double>> points; // x and y, both positive, in the order of the line
};

struct CurvePanel {
  std::string id, title, xName; // `id`: of the panel's group in the picture
  std::string withoutPoints;    // the text of a panel whose curves have no points
  std::vector<Curve> curves;
  std::string (*tickText)(double y); // returns the text of a tick of the vertical axis
};

constexpr double kCurvesWidth = 330, kCurvesHeight = 300; // of a panel, with its margins

/// Draws a panel with its upper left corner at a point. Each point of a curve is a circle with the attributes `data-x`
/// and `data-y`, in a group `ID-curveNUMBER`.
void drawCurves(Svg &, double x, double y, const CurvePanel &);

/// A logarithmic axis.
struct LogAxis {
  double low = 1, high = 10;
  std::vector<double> ticks;
  /// Returns how far along the axis a number is, from 0 to 1.
  double shareOf(double number) const;
};
/// Returns an axis that holds the numbers. It begins and ends at numbers of the series 1, 2, 5, 10, 20, … Its ticks are
/// the numbers of the series, or only powers of ten if those are many.
LogAxis logAxisOf(const std::vector<double> &numbers);

std::string plainText(double number); // "0.05", "200"

} // namespace skewer::driver
