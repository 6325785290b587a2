// Draws axes, ticks, curves and their legend.
#include "tools/skewer/PlotCurves.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

constexpr double kLeft = 64, kTop = 56, kWidth = 248, kHeight = 190; // of the area between the axes
constexpr size_t kMostTicks = 7;
constexpr double kTickDistance = 34; // pixels between two texts below the horizontal axis

/// Returns the k-th number of the series …, 0.5, 1, 2, 5, 10, …: the 0-th is 1.
double seriesAt(int k) {
  int decade = k >= 0 ? k / 3 : -((2 - k) / 3), place = k - 3 * decade;
  return (place == 0 ? 1 : place == 1 ? 2 : 5) * std::pow(10.0, decade);
}

/// Returns the place in the series of the largest number that is not above `number`.
int placeBelow(double number) {
  int k = 3 * static_cast<int>(std::floor(std::log10(number))) - 1;
  while (seriesAt(k + 1) <= number * (1 + 1e-9)) // powers of ten below 1 are not exact
    ++k;
  return k;
}

/// Returns an axis over the numbers of a sweep, from the least to the largest, with ticks at the numbers themselves.
LogAxis axisOfValues(const std::vector<double> &numbers) {
  LogAxis axis;
  axis.ticks = numbers;
  std::sort(axis.ticks.begin(), axis.ticks.end());
  axis.ticks.erase(std::unique(axis.ticks.begin(), axis.ticks.end()), axis.ticks.end());
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  if (axis.low == axis.high) {
    axis.low /= 2;
    axis.high *= 2;
  }
  return axis;
}

const char *dashesOf(Curve::Line line) {
  return line == Curve::Line::Solid    ? ""
         : line == Curve::Line::Dashed ? " stroke-dasharray=\"6 3\""
                                       : " stroke-dasharray=\"1.5 3\"";
}

/// Draws the mark of a point: filled, hollow or small, so that curves differ where they cross.
void drawMark(Svg &svg, double x, double y, Curve::Line line, const std::string &attributes = "") {
  svg.circle(x, y, line == Curve::Line::Dotted ? 1 : 3, line == Curve::Line::Dashed ? "#fff" : "#000", attributes);
}

/// The area between the axes of a panel.
struct Area {
  Svg &svg;
  double left, top;
  LogAxis horizontal, vertical;

  double across(double x) const { return left + kWidth * (0.04 + 0.92 * horizontal.shareOf(x)); }
  double down(double y) const { return top + kHeight * (1 - vertical.shareOf(y)); }

  void drawAxes(const CurvePanel &panel) const {
    for (double tick : vertical.ticks) {
      svg.rectangle(left, down(tick) - 0.5, kWidth, 1, "#ddd");
      svg.text(left - 6, down(tick) + 4, 11, panel.tickText(tick), Svg::Anchor::End);
    }
    double last = -kTickDistance;
    for (double tick : horizontal.ticks) {
      svg.rectangle(across(tick) - 0.5, top + kHeight, 1, 4, "#000");
      if (across(tick) - last < kTickDistance)
        continue;
      last = across(tick);
      svg.text(last, top + kHeight + 17, 11, plainText(tick), Svg::Anchor::Middle);
    }
    svg.text(left + kWidth / 2, top + kHeight + 34, 12, panel.xName, Svg::Anchor::Middle);
    svg.frame(left, top, kWidth, kHeight);
  }

  void draw(const Curve &curve, const std::string &id) const {
    svg.beginGroup(id, curve.name);
    std::string data;
    for (auto [x, y] : curve.points)
      data += fmt::format("{}{} {}", data.empty() ? "M" : "L", coordinate(across(x)), coordinate(down(y)));
    svg.path(data, dashesOf(curve.line));
    for (auto [x, y] : curve.points)
      drawMark(svg, across(x), down(y), curve.line, fmt::format(" data-x=\"{:g}\" data-y=\"{:.6g}\"", x, y));
    svg.endGroup();
  }
};

/// Draws a piece of each curve's line with its name, one after the other.
void drawLegend(Svg &svg, double x, double y, const std::vector<Curve> &curves) {
  for (const Curve &curve : curves) {
    if (curve.points.empty())
      continue;
    svg.path(fmt::format("M{} {}h28", coordinate(x), coordinate(y)), dashesOf(curve.line));
    drawMark(svg, x + 14, y, curve.line);
    svg.text(x + 33, y + 4, 11, curve.name);
    x += 45 + 6 * static_cast<double>(curve.name.size());
  }
}

} // namespace

double LogAxis::shareOf(double number) const { return std::log(number / low) / std::log(high / low); }

LogAxis logAxisOf(const std::vector<double> &numbers) {
  auto [least, largest] = std::minmax_element(numbers.begin(), numbers.end());
  int first = placeBelow(*least), last = placeBelow(*largest);
  if (seriesAt(last) < *largest * (1 - 1e-9))
    ++last;
  if (first == last) { // one number, which is in the series
    --first;
    ++last;
  }
  LogAxis axis{seriesAt(first), seriesAt(last), {}};
  int count = last - first + 1, step = 1;
  if (count > static_cast<int>(kMostTicks)) {
    step = 3;
    first = first + ((-first % 3) + 3) % 3; // the first power of ten
  }
  while ((last - first) / step + 1 > static_cast<int>(kMostTicks))
    step += 3;
  for (int k = first; k <= last; k += step)
    axis.ticks.push_back(seriesAt(k));
  return axis;
}

std::string plainText(double number) { return fmt::format("{:g}", number); }

void drawCurves(Svg &svg, double x, double y, const CurvePanel &panel) {
  svg.beginGroup(panel.id, panel.title);
  svg.text(x + 8, y + 18, 14, panel.title);
  std::vector<double> across, down;
  for (const Curve &curve : panel.curves)
    for (auto [pointX, pointY] : curve.points) {
      across.push_back(pointX);
      down.push_back(pointY);
    }
  if (across.empty()) {
    svg.text(x + 8, y + 40, 12, panel.withoutPoints);
    svg.endGroup();
    return;
  }
  if (panel.curves.size() > 1)
    drawLegend(svg, x + 8, y + 38, panel.curves);
  Area area{svg, x + kLeft, y + kTop, axisOfValues(across), logAxisOf(down)};
  area.drawAxes(panel);
  for (size_t number = 0; number < panel.curves.size(); ++number)
    if (!panel.curves[number].points.empty())
      area.draw(panel.curves[number], fmt::format("{}-curve{}", panel.id, number));
  svg.endGroup();
}

} // namespace skewer::driver
