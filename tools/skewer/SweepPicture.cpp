// Makes curves of the figures of a sweep.
#include "tools/skewer/SweepPicture.h"
#include "tools/skewer/ExplainPage.h"
#include "tools/skewer/PlotCurves.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

/// Returns a curve of one figure of the rows; rows without the figure have no point.
template <typename Figure>
Curve curveOf(const char *name, Curve::Line line, llvm::ArrayRef<SweptRow> rows, Figure figure) {
  Curve curve{name, line, {}};
  for (const SweptRow &swept : rows)
    if (std::optional<double> value = figure(swept.row); value && *value > 0)
      curve.points.push_back({static_cast<double>(swept.value), *value});
  return curve;
}

std::optional<double> inMilliseconds(std::optional<double> seconds) {
  return seconds ? std::optional(*seconds * 1e3) : std::nullopt;
}

/// Returns the panels of one kernel; `number` makes their ids differ from those of others.
std::vector<CurvePanel> panelsOf(const std::string &name, llvm::ArrayRef<SweptRow> rows, size_t number) {
  CurvePanel time{fmt::format("time{}", number), "time of a call, ms", name, "nothing was measured", {}, plainText};
  time.curves = {
      curveOf("layer", Curve::Line::Solid, rows, [](const Row &row) { return inMilliseconds(row.timing.median); }),
      curveOf("plain attention", Curve::Line::Dashed, rows, [](const Row &row) { return inMilliseconds(row.plain); }),
      curveOf("roofline", Curve::Line::Dotted, rows, [](const Row &row) { return inMilliseconds(row.roofline()); })};
  CurvePanel workspace{
      fmt::format("workspace{}", number), "workspace of a call", name, "no call needs a workspace", {}, bytesTick};
  workspace.curves = {curveOf("layer", Curve::Line::Solid, rows,
                              [](const Row &row) { return std::optional(static_cast<double>(row.workspaceBytes)); })};
  CurvePanel compile{
      fmt::format("compile{}", number), "time to compile, s", name, "nothing was measured", {}, plainText};
  compile.curves = {
      curveOf("layer", Curve::Line::Solid, rows, [](const Row &row) { return std::optional(row.compileSeconds); })};
  return {time, workspace, compile};
}

/// Returns the threads and the peaks of the rows: "1 thread, peak 98.1 to 101.3 GFLOP/s".
std::string captionOf(llvm::ArrayRef<SweptRow> rows) {
  auto [few, many] = std::minmax_element(rows.begin(), rows.end(),
                                         [](const SweptRow &a, const SweptRow &b) { return a.threads < b.threads; });
  auto [low, high] = std::minmax_element(
      rows.begin(), rows.end(), [](const SweptRow &a, const SweptRow &b) { return a.row.fmaPeak < b.row.fmaPeak; });
  std::string threads = few->threads == many->threads
                            ? fmt::format("{} thread{}", few->threads, few->threads == 1 ? "" : "s")
                            : fmt::format("{} to {} threads", few->threads, many->threads);
  return fmt::format("{}; measured peak of f32 {:.1f} to {:.1f} GFLOP/s", threads, low->row.fmaPeak, high->row.fmaPeak);
}

} // namespace

std::string drawSweep(const std::string &name, llvm::ArrayRef<SweptRow> rows) {
  constexpr double kHead = 48;
  std::vector<std::string> kernels; // in their order
  for (const SweptRow &swept : rows)
    if (!llvm::is_contained(kernels, swept.kernel))
      kernels.push_back(swept.kernel);
  Svg svg;
  double y = 0, width = 0;
  for (size_t number = 0; number < kernels.size(); ++number) {
    const std::string &kernel = kernels[number];
    std::vector<SweptRow> own;
    llvm::copy_if(rows, std::back_inserter(own), [&](const SweptRow &swept) { return swept.kernel == kernel; });
    svg.text(16, y + 26, 18, kernel);
    svg.text(16, y + 44, 12, captionOf(own));
    double x = 8;
    for (const CurvePanel &panel : panelsOf(name, own, number)) {
      drawCurves(svg, x, y + kHead, panel);
      x += kCurvesWidth;
    }
    y += kHead + kCurvesHeight;
    width = std::max(width, x + 8);
  }
  return svg.document(width, y + 8, fmt::format("{} over {}", llvm::join(kernels, ", "), name));
}

} // namespace skewer::driver
