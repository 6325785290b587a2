// Draws skew diagrams, heat maps and legends.
#include "tools/skewer/PlotPanels.h"
#include "tools/skewer/PlotSvg.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

constexpr double kGrid = 448;           // side of the longer axis of a grid
constexpr double kLargestCell = 44;     // the side of a cell in a grid with few cells
constexpr double kLeft = 64, kTop = 84; // room for axis names and ticks
constexpr double kLegend = 64;          // height of the legend under the grid
constexpr double kPanelWidth = kLeft + kGrid + 48;
constexpr double kSmallestNumber = 6; // font size; below it, bands replace the numbers in cells
constexpr int kShades = 6;

/// Returns a text cut to the width of a panel.
std::string fitted(const std::string &text, double size) {
  size_t most = static_cast<size_t>((kPanelWidth - 16) / (size * 0.56));
  if (text.size() <= most)
    return text;
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end; // do not cut inside a character
  return text.substr(0, end) + "...";
}

/// Returns a text in lines of at most `width` pixels, broken at spaces if there are any.
std::vector<std::string> wrapped(llvm::StringRef text, double width, double size) {
  size_t most = std::max<size_t>(static_cast<size_t>(width / (size * 0.56)), 8);
  std::vector<std::string> lines;
  while (text.size() > most) {
    size_t end = text.take_front(most + 1).rfind(' ');
    if (end == llvm::StringRef::npos || end < most / 2) {
      end = most;
      while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end; // do not cut inside a character
    }
    lines.push_back(text.take_front(end).str());
    text = text.drop_front(end).ltrim(' ');
  }
  lines.push_back(text.str());
  return lines;
}

struct Grid {
  Svg &svg;
  double x, y, cell; // corner of the first cell; side of a cell
  const PlotAxis &vertical, &horizontal;

  double left(size_t column) const { return x + cell * static_cast<double>(column); }
  double top(size_t row) const { return y + cell * static_cast<double>(row); }
  double width() const { return cell * static_cast<double>(horizontal.positions.size()); }
  double height() const { return cell * static_cast<double>(vertical.positions.size()); }

  void axes() const {
    svg.frame(x, y, width(), height());
    svg.text(x + width() / 2, y - 24, 12, horizontal.name, Svg::Anchor::Middle);
    // With few rows the name is longer than the grid is high: it may extend below the grid, but not up into the
    // heading.
    svg.textUpwards(x - 40, y + std::max(height() / 2, 3.2 * static_cast<double>(vertical.name.size()) - 20), 12,
                    vertical.name);
    auto each = [&](const PlotAxis &axis, auto draw) {
      size_t count = axis.positions.size();
      // As many evenly spaced ticks as fit.
      size_t step = std::max<size_t>(1, static_cast<size_t>(std::ceil(26 / cell)));
      for (size_t k = 0; k < count; k += step)
        draw(k, std::to_string(axis.positions[k]));
    };
    each(horizontal, [&](size_t k, const std::string &label) {
      svg.text(left(k) + cell / 2, y - 6, 10, label, Svg::Anchor::Middle);
    });
    each(vertical, [&](size_t k, const std::string &label) {
      svg.text(x - 6, top(k) + cell / 2 + 3.5, 10, label, Svg::Anchor::End);
    });
  }
  /// Draws both diagonals of every cell for which `isMasked` is true, in one path.
  template <typename Predicate> void crossOut(Predicate isMasked) const {
    std::string data;
    for (size_t row = 0; row < vertical.positions.size(); ++row)
      for (size_t column = 0; column < horizontal.positions.size(); ++column)
        if (isMasked(row, column)) {
          std::string a = coordinate(left(column)), b = coordinate(left(column + 1)), c = coordinate(top(row)),
                      d = coordinate(top(row + 1));
          data += "M" + a + " " + c + "L" + b + " " + d + "M" + b + " " + c + "L" + a + " " + d;
        }
    if (!data.empty())
      svg.path(data);
  }
  std::string sampling() const {
    std::string text;
    for (const PlotAxis *axis : {&vertical, &horizontal})
      if (axis->isSampled())
        text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", axis->positions.size(), axis->all,
                            axis == &vertical ? "down" : "across");
    return text.empty() ? "" : "drawn: " + text + ", evenly spaced";
  }
};

double cellOf(const PlotAxis &vertical, const PlotAxis &horizontal) {
  double cells = static_cast<double>(std::max<size_t>({vertical.positions.size(), horizontal.positions.size(), 1}));
  return std::min(kGrid / cells, kLargestCell);
}
double panelHeight(const PlotAxis &vertical, const PlotAxis &horizontal) {
  return kTop + cellOf(vertical, horizontal) * static_cast<double>(vertical.positions.size()) + kLegend + 16;
}

Grid gridAt(Svg &svg, double x, double y, const PlotAxis &vertical, const PlotAxis &horizontal) {
  return {svg, x + kLeft, y + kTop, cellOf(vertical, horizontal), vertical, horizontal};
}

void heading(Svg &svg, double x, double y, const std::string &title, const std::string &caption) {
  svg.text(x + 8, y + 18, 14, fitted(title, 14));
  svg.text(x + 8, y + 36, 11, fitted(caption, 11));
}

void drawSkew(Svg &svg, double x, double y, const SkewDiagram &diagram, size_t number) {
  Grid grid = gridAt(svg, x, y, diagram.queries, diagram.keys);
  svg.beginGroup(fmt::format("skew{}", number), diagram.title);
  heading(svg, x, y, diagram.title, "each cell: " + diagram.what);
  int64_t low = INT64_MAX, high = INT64_MIN;
  size_t longest = 1;
  for (const auto &line : diagram.rows)
    for (const std::optional<int64_t> &row : line)
      if (row) {
        low = std::min(low, *row);
        high = std::max(high, *row);
        longest = std::max(longest, std::to_string(*row).size());
      }
  double size = std::min(13.0, grid.cell * 1.5 / static_cast<double>(longest + 1));
  bool numbers = size >= kSmallestNumber;
  // Bands of rows; rows at the ends of the range are in the first and the last band.
  int64_t bands = numbers || low > high ? 1 : std::min<int64_t>(kHatchings, high - low + 1);
  auto bandOf = [&](int64_t row) {
    return static_cast<int>(static_cast<__int128>(row - low) * bands / (static_cast<__int128>(high) - low + 1));
  };
  bool anyMasked = false;
  for (size_t i = 0; i < diagram.rows.size(); ++i)
    for (size_t j = 0; j < diagram.rows[i].size(); ++j) {
      const std::optional<int64_t> &row = diagram.rows[i][j];
      std::string attributes = fmt::format(" data-i=\"{}\" data-j=\"{}\" data-row=\"{}\"", diagram.queries.positions[i],
                                           diagram.keys.positions[j], row ? std::to_string(*row) : "masked");
      if (numbers)
        attributes +=
            " stroke=\"#999\" stroke-width=\"1\" shape-rendering=\"auto\" vector-effect=\"non-scaling-stroke\"";
      anyMasked |= !row;
      svg.rectangle(grid.left(j), grid.top(i), grid.cell, grid.cell, row && !numbers ? hatching(bandOf(*row)) : "#fff",
                    attributes);
      if (row && numbers)
        svg.text(grid.left(j) + grid.cell / 2, grid.top(i) + grid.cell / 2 + size * 0.35, size, std::to_string(*row),
                 Svg::Anchor::Middle);
    }
  grid.crossOut([&](size_t i, size_t j) { return !diagram.rows[i][j]; });
  grid.axes();
  double below = grid.y + grid.height() + 16;
  if (!numbers && low <= high)
    for (int64_t band = 0; band < bands; ++band) {
      // The rows of a band: bandOf is monotonic, so rounding up gives its first row.
      __int128 extent = static_cast<__int128>(high) - low + 1;
      int64_t first = low + static_cast<int64_t>((band * extent + bands - 1) / bands);
      int64_t last = low + static_cast<int64_t>(((band + 1) * extent + bands - 1) / bands) - 1;
      double at = x + 8 + 68 * static_cast<double>(band);
      svg.rectangle(at, below, 20, 14, hatching(static_cast<int>(band)));
      svg.frame(at, below, 20, 14);
      svg.text(at + 23, below + 11, 8, first == last ? std::to_string(first) : fmt::format("{}..{}", first, last));
    }
  std::string note = grid.sampling();
  if (anyMasked)
    note += std::string(note.empty() ? "" : "; ") + "crossed out: masked";
  svg.text(x + 8, below + 32, 10, fitted(note, 10));
  svg.endGroup();
}

void drawHeatMap(Svg &svg, double x, double y, const HeatMap &map, size_t number) {
  Grid grid = gridAt(svg, x, y, map.vertical, map.horizontal);
  svg.beginGroup(fmt::format("map{}", number), map.title);
  heading(svg, x, y, map.title, map.caption);
  double low = INFINITY, high = -INFINITY;
  bool anyMasked = false;
  for (const auto &line : map.values)
    for (const std::optional<double> &value : line) {
      anyMasked |= !value;
      if (value && std::isfinite(*value)) {
        low = std::min(low, *value);
        high = std::max(high, *value);
      }
    }
  // shareOf converts a value to its share of the way from white to black; valueAt converts back.
  bool isLogarithmic = map.isLogarithmic && high > 0;
  double least = std::max(low, high * kLogarithmicRange), range = high > low ? high - low : 1;
  auto shareOf = [&](double value) {
    if (!isLogarithmic)
      return (value - low) / range;
    return value > least && high > least ? std::log(value / least) / std::log(high / least) : 0;
  };
  auto valueAt = [&](double share) {
    return isLogarithmic ? least * std::pow(high / least, share) : low + share * (high - low);
  };
  for (size_t i = 0; i < map.values.size(); ++i)
    for (size_t j = 0; j < map.values[i].size(); ++j) {
      const std::optional<double> &value = map.values[i][j];
      double darkness = value && std::isfinite(*value) ? shareOf(*value) : value && *value > 0 ? 1 : 0;
      svg.rectangle(grid.left(j), grid.top(i), grid.cell, grid.cell, grey(darkness),
                    fmt::format(" data-i=\"{}\" data-j=\"{}\" data-value=\"{}\"", map.vertical.positions[i],
                                map.horizontal.positions[j], value ? fmt::format("{:.6g}", *value) : "masked"));
    }
  grid.crossOut([&](size_t i, size_t j) { return !map.values[i][j]; });
  grid.axes();
  double below = grid.y + grid.height() + 16;
  for (int shade = 0; high >= low && shade < kShades; ++shade) {
    double share = shade / static_cast<double>(kShades - 1), at = x + 8 + 88 * shade;
    svg.rectangle(at, below, 20, 14, grey(share));
    svg.frame(at, below, 20, 14);
    svg.text(at + 24, below + 11, 10,
             fmt::format("{}{:.3g}", isLogarithmic && shade == 0 && low < least ? "≤ " : "", valueAt(share)));
  }
  std::string note = grid.sampling();
  if (anyMasked)
    note += std::string(note.empty() ? "" : "; ") + "crossed out: masked";
  svg.text(x + 8, below + 32, 10, fitted(note, 10));
  svg.endGroup();
}

} // namespace

std::string drawPlot(const PlotData &data) {
  Svg svg;
  svg.text(16, 28, 18, data.kernel);
  size_t count = data.skews.size() + data.maps.size(), columns = std::clamp<size_t>(count, 1, 3), place = 0;
  double below = 50; // the text of a mask may be longer than the picture is wide
  for (const std::string &line : wrapped(data.caption, kPanelWidth * static_cast<double>(columns) - 16, 12)) {
    svg.text(16, below, 12, line);
    below += 16;
  }
  double y = below - 2, height = 0; // of the current row of panels
  auto next = [&](double needed) {
    if (place == columns) {
      place = 0;
      y += height;
      height = 0;
    }
    height = std::max(height, needed);
    return 8 + kPanelWidth * static_cast<double>(place++);
  };
  for (size_t k = 0; k < data.skews.size(); ++k) {
    double x = next(panelHeight(data.skews[k].queries, data.skews[k].keys));
    drawSkew(svg, x, y, data.skews[k], k);
  }
  for (size_t k = 0; k < data.maps.size(); ++k) {
    double x = next(panelHeight(data.maps[k].vertical, data.maps[k].horizontal));
    drawHeatMap(svg, x, y, data.maps[k], k);
  }
  return svg.document(16 + kPanelWidth * static_cast<double>(columns), y + height, data.kernel);
}

} // namespace skewer::driver
