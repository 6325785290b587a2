// Writes the numbers of a picture as JSON for `skewer report`; masked cells are null.
#include "tools/skewer/PlotData.h"
#include <cmath>

namespace skewer::driver {

static llvm::json::Object axisJson(const PlotAxis &axis) {
  return llvm::json::Object{{"name", axis.name}, {"all", axis.all}, {"positions", llvm::json::Array(axis.positions)}};
}

template <typename Cells> static llvm::json::Array cellsJson(const Cells &cells) {
  llvm::json::Array rows;
  for (const auto &row : cells) {
    llvm::json::Array line;
    for (const auto &cell : row)
      if (cell && std::isfinite(static_cast<double>(*cell)))
        line.push_back(*cell);
      else if (cell) // JSON has no NaN and no infinity
        line.push_back(std::isnan(static_cast<double>(*cell)) ? "NaN" : *cell > 0 ? "inf" : "-inf");
      else
        line.push_back(nullptr);
    rows.push_back(std::move(line));
  }
  return rows;
}

llvm::json::Object toJson(const PlotData &data) {
  llvm::json::Array skews, maps;
  for (const SkewDiagram &skew : data.skews)
    skews.push_back(llvm::json::Object{{"title", skew.title},
                                       {"what", skew.what},
                                       {"queries", axisJson(skew.queries)},
                                       {"keys", axisJson(skew.keys)},
                                       {"rows", cellsJson(skew.rows)}});
  for (const HeatMap &map : data.maps)
    maps.push_back(llvm::json::Object{{"title", map.title},
                                      {"caption", map.caption},
                                      {"logarithmic", map.isLogarithmic},
                                      {"vertical", axisJson(map.vertical)},
                                      {"horizontal", axisJson(map.horizontal)},
                                      {"values", cellsJson(map.values)}});
  return llvm::json::Object{
      {"kernel", data.kernel}, {"caption", data.caption}, {"skews", std::move(skews)}, {"maps", std::move(maps)}};
}

} // namespace skewer::driver
