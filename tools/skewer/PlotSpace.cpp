// Evaluates index expressions at single positions.
#include "tools/skewer/PlotSpace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/PlotValues.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer::driver {

/// Returns a name such as "query i" or "key (jy jx)".
static std::string nameOf(const char *side, const std::vector<std::string> &axes) {
  return fmt::format(axes.size() == 1 ? "{} {}" : "{} ({})", side, llvm::join(axes, " "));
}

/// Returns the drawn positions of one side of the score. If the map's width divides the distance between samples, all
/// samples would be in one column of the map; they are then shifted gradually along the columns.
static PlotAxis sideOf(const char *name, const std::vector<std::string> &axes, int64_t all, const AxisSizes &sizes) {
  PlotAxis axis = axisOf(all, nameOf(name, axes));
  auto count = static_cast<int64_t>(axis.positions.size());
  int64_t inner = axes.size() < 2 ? 1 : sizes.at(axes.back());
  if (axis.isSampled() && inner > 1 && all / count % inner == 0)
    for (int64_t k = 0; k < count; ++k)
      axis.positions[k] += k * inner / count;
  return axis;
}

PlotSpace::PlotSpace(ScoreSpace given, const KernelPlan &signature, const Operands &operands, int64_t head)
    : space(std::move(given)), queries(sideOf("query", space.query, space.queries(), space.sizes)),
      keys(sideOf("key", space.key, space.keys(), space.sizes)), signature(signature), operands(operands),
      head(head) {
  for (const std::string &axis : space.leading)
    origin += fmt::format("{}{} = {}", origin.empty() ? "" : ", ", axis, leadingAt(axis));
}

int64_t PlotSpace::leadingAt(const std::string &axis) const {
  return !space.leading.empty() && axis == space.leading.back() ? head : 0;
}

Assignment PlotSpace::at(int64_t query, int64_t key) const {
  Assignment values;
  for (const std::string &axis : space.leading)
    values[axis] = leadingAt(axis);
  auto split = [&](const std::vector<std::string> &axes, int64_t position) {
    for (size_t k = axes.size(); k-- > 0;) {
      int64_t size = space.sizes.at(axes[k]);
      values[axes[k]] = position % size;
      position /= size;
    }
  };
  split(space.query, query);
  split(space.key, key);
  return values;
}

std::optional<int64_t> PlotSpace::read(const std::string &name, const std::vector<int64_t> &subscripts) const {
  for (size_t k = 0; k < signature.inputs.size(); ++k) {
    const Array &array = operands.inputs[k];
    if (signature.inputs[k].name != name || array.shape.size() != subscripts.size())
      continue;
    int64_t flat = 0;
    for (size_t d = 0; d < subscripts.size(); ++d) {
      if (subscripts[d] < 0 || subscripts[d] >= array.shape[d])
        return std::nullopt;
      flat = flat * array.shape[d] + subscripts[d];
    }
    return static_cast<int64_t>(array.values[flat]);
  }
  return std::nullopt;
}

std::optional<int64_t> PlotSpace::valueOf(const Expr &expression, const Assignment &values) const {
  return evaluate(expression, values, [&](const std::string &name, const std::vector<int64_t> &subscripts) {
    return read(name, subscripts);
  });
}

bool PlotSpace::holds(const std::optional<Expr> &predicate, const Assignment &values) const {
  return !predicate || valueOf(*predicate, values).value_or(0) != 0;
}

bool PlotSpace::mentionsPositions(const Expr &expression) const {
  for (const std::string &symbol : symbolsOf(expression))
    if (llvm::is_contained(space.query, symbol) || llvm::is_contained(space.key, symbol))
      return true;
  return false;
}

std::vector<size_t> PlotSpace::rowDimensions(const Einsum &spec, size_t operand) const {
  std::vector<size_t> dimensions;
  if (operand < spec.operands.size())
    for (auto [d, dimension] : llvm::enumerate(spec.operands[operand]))
      if (!dimension.isProduct() && mentionsPositions(dimension.index))
        dimensions.push_back(d);
  return dimensions;
}

SkewDiagram PlotSpace::diagramOf(const std::string &title, const std::string &what, const Expr &row,
                                 const std::optional<Expr> &guard, const std::optional<Expr> &mask) const {
  SkewDiagram diagram{abbreviateTables(title), what, queries, keys, {}};
  for (int64_t i : queries.positions) {
    diagram.rows.emplace_back();
    for (int64_t j : keys.positions) {
      Assignment values = at(i, j);
      bool seen = holds(mask, values) && holds(guard, values);
      diagram.rows.back().push_back(seen ? valueOf(row, values) : std::nullopt);
    }
  }
  return diagram;
}

std::optional<SkewDiagram> PlotSpace::skewOf(const ResolvedEinsum &resolved, size_t operand,
                                             const std::vector<int64_t> &shape, const std::string &name,
                                             const std::optional<Expr> &mask) const {
  std::vector<size_t> dimensions = rowDimensions(resolved.spec, operand);
  if (dimensions.empty())
    return std::nullopt;
  std::string text;
  Expr row = 0; // row-major over several dimensions
  int64_t rows = 1;
  for (size_t d : dimensions) {
    const Expr &subscript = resolved.subscripts[operand][d];
    row = dimensions.size() == 1 ? subscript : row * Expr(shape[d]) + subscript;
    rows *= shape[d];
    text += (text.empty() ? "" : ", ") + print(subscript);
  }
  return diagramOf(
      fmt::format("{}[{}]", name, text),
      fmt::format("{} of '{}', which has {}", dimensions.size() == 1 ? "row" : "row (row-major)", name, rows), row,
      resolved.guard, mask);
}

llvm::Error checkHead(const ScoreSpace &space, int64_t head) {
  auto size = space.leading.empty() ? space.sizes.end() : space.sizes.find(space.leading.back());
  int64_t heads = size == space.sizes.end() || size->second == kRuntime ? 1 : size->second;
  if (head < heads)
    return llvm::Error::success();
  std::string why = fmt::format("--head {}: expected 0 to {}{}", head, heads - 1,
                                space.leading.empty() ? "" : ", an index of the axis '" + space.leading.back() + "'");
  return llvm::createStringError(std::errc::invalid_argument, "%s", why.c_str());
}

llvm::Expected<HeatMap> heatMapOf(mlir::func::FuncOp function, mlir::Value tensor, const Operands &operands,
                                  int64_t head, const std::string &title, const std::string &caption,
                                  const PlotAxis *vertical, const PlotAxis *horizontal) {
  TensorValues values(function, tensor, operands);
  const std::vector<int64_t> &shape = values.shape();
  if (shape.size() < 2)
    return llvm::createStringError(std::errc::invalid_argument, "'%s' has fewer than two dimensions", title.c_str());
  HeatMap map{title,
              caption,
              vertical ? *vertical : axisOf(shape[shape.size() - 2], "query i"),
              horizontal ? *horizontal : axisOf(shape.back(), "key j"),
              {}};
  std::vector<int64_t> leading(shape.size() - 1, 0);
  if (shape.size() > 2 && head < shape[shape.size() - 3])
    leading[shape.size() - 3] = head;
  for (int64_t i : map.vertical.positions) {
    leading.back() = i;
    auto row = values.row(leading);
    if (!row)
      return row.takeError();
    map.values.emplace_back();
    for (int64_t j : map.horizontal.positions) // a cell at -inf is masked
      map.values.back().push_back((*row)[j] == -INFINITY ? std::nullopt : std::optional<double>((*row)[j]));
  }
  return map;
}

} // namespace skewer::driver
