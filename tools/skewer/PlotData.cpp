// Positions, rows and values of a kernel's first attention.
#include "tools/skewer/PlotData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/TermClass.h"
#include "tools/skewer/Facts.h"
#include "tools/skewer/PlotValues.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer::driver {
namespace {

constexpr int64_t kMostDepth = 1 << 20; // elements of a row of a table

class Plotter {
public:
  Plotter(AttentionOp attention, const KernelPlan &signature, const Operands &operands, PlotData &data)
      : attention(attention), function(attention->getParentOfType<func::FuncOp>()), space(scoreSpace(attention)),
        signature(signature), operands(operands), data(data),
        queries(axisOf(space.queries(), nameOf("query i", space.query))),
        keys(axisOf(space.keys(), nameOf("key j", space.key))) {
    if (attention.getMask())
      mask = parse(std::string_view(*attention.getMask()));
  }

  llvm::Error run() {
    for (const std::string &axis : space.leading)
      origin += (origin.empty() ? "" : ", ") + axis + " = 0";
    attention.getScore().walk([&](TermOp term) {
      addSkews(term);
      terms.push_back(term);
    });
    if (llvm::Error error = addScores())
      return error;
    for (TermOp term : terms)
      if (llvm::Error error = addSimilarities(term))
        return error;
    return llvm::Error::success();
  }

private:
  static std::string nameOf(const char *name, const std::vector<std::string> &axes) {
    return axes.size() < 2 ? name : fmt::format("{} = ({})", name, llvm::join(axes, " "));
  }
  /// Leading axes at 0, a query and a key position.
  Assignment at(int64_t query, int64_t key) const {
    Assignment values;
    for (const std::string &axis : space.leading)
      values[axis] = 0;
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
  /// What an index expression reads at run time: a kernel's argument, by name.
  std::optional<int64_t> read(const std::string &name, const std::vector<int64_t> &subscripts) const {
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
  std::optional<int64_t> valueOf(const Expr &expression, const Assignment &values) const {
    return evaluate(expression, values, [&](const std::string &name, const std::vector<int64_t> &subscripts) {
      return read(name, subscripts);
    });
  }
  bool holds(const std::optional<Expr> &predicate, const Assignment &values) const {
    return !predicate || valueOf(*predicate, values).value_or(0) != 0;
  }
  bool mentionsPositions(const Expr &expression) const {
    for (const std::string &symbol : symbolsOf(expression))
      if (llvm::is_contained(space.query, symbol) || llvm::is_contained(space.key, symbol))
        return true;
    return false;
  }
  /// Dimensions of an operand that are read through an index expression of positions.
  std::vector<size_t> rowDimensions(TermOp term, size_t operand) const {
    std::vector<size_t> dimensions;
    auto spec = parseEinsum(std::string_view(term.getSubscripts()));
    if (spec && operand < spec->operands.size())
      for (auto [d, dimension] : llvm::enumerate(spec->operands[operand]))
        if (!dimension.isProduct() && mentionsPositions(dimension.index))
          dimensions.push_back(d);
    return dimensions;
  }

  /// Whether the keys' side of a content term is a table of positions: it has fewer dimensions than the queries.
  static bool isTable(TermOp term, const TermAnalysis &analysis) {
    return analysis.query >= 0 && analysis.other >= 0 &&
           shapeOf(term.getInputs()[analysis.other]).size() < shapeOf(term.getInputs()[analysis.query]).size();
  }

  void addSkews(TermOp term);
  void addSkew(const std::string &title, const std::string &what, const Expr &row, const std::optional<Expr> &guard);
  llvm::Error addScores();
  llvm::Error addSimilarities(TermOp term);
  llvm::Error addSimilarity(TermOp term, size_t operand, size_t dimension);

  AttentionOp attention;
  func::FuncOp function;
  ScoreSpace space;
  const KernelPlan &signature;
  const Operands &operands;
  PlotData &data;
  PlotAxis queries, keys;
  std::optional<Expr> mask;
  std::string origin;
  std::vector<TermOp> terms;
  std::set<std::pair<const void *, size_t>> similar; // tables that are done
};

void Plotter::addSkew(const std::string &title, const std::string &what, const Expr &row,
                      const std::optional<Expr> &guard) {
  SkewDiagram diagram{title, what, queries, keys, {}};
  for (int64_t i : queries.positions) {
    diagram.rows.emplace_back();
    for (int64_t j : keys.positions) {
      Assignment values = at(i, j);
      bool seen = holds(mask, values) && holds(guard, values);
      diagram.rows.back().push_back(seen ? valueOf(row, values) : std::nullopt);
    }
  }
  data.skews.push_back(std::move(diagram));
}

void Plotter::addSkews(TermOp term) {
  ResolvedEinsum resolved = resolve(term);
  for (size_t k = 0; k < resolved.subscripts.size(); ++k) {
    std::vector<size_t> dimensions = rowDimensions(term, k);
    if (dimensions.empty())
      continue;
    std::vector<int64_t> shape = shapeOf(term.getInputs()[k]);
    std::string name = nameOfOperand(term.getInputs()[k], function), text;
    Expr row = 0; // of several dimensions: row-major
    int64_t rows = 1;
    for (size_t d : dimensions) {
      row = dimensions.size() == 1 ? resolved.subscripts[k][d] : row * Expr(shape[d]) + resolved.subscripts[k][d];
      rows *= shape[d];
      text += (text.empty() ? "" : ", ") + print(resolved.subscripts[k][d]);
    }
    addSkew(fmt::format("{}[{}]", name, text),
            fmt::format("{} of '{}', which has {}", dimensions.size() == 1 ? "row" : "row (row-major)", name, rows),
            row, resolved.guard);
  }
  if (term.getValue())
    if (auto value = parse(std::string_view(*term.getValue())); value && mentionsPositions(*value))
      addSkew(term.getValue()->str(), "value of this function of positions", *value, resolved.guard);
}

llvm::Error Plotter::addScores() {
  auto empty = [&] {
    return std::vector<std::vector<std::optional<double>>>(
        queries.positions.size(), std::vector<std::optional<double>>(keys.positions.size(), 0.0));
  };
  auto scores = empty(), biases = empty();
  std::string biasText;
  for (TermOp term : terms) {
    TermAnalysis analysis = analyse(term, space);
    bool isContent = analysis.kind == TermKind::Content && !isTable(term, analysis);
    if (!isContent)
      biasText += (biasText.empty() ? "" : " + ") + term.getSubscripts().str();
    auto factor = term.getValue() ? parse(std::string_view(*term.getValue())) : std::nullopt;
    auto guard = term.getGuard() ? parse(std::string_view(*term.getGuard())) : std::nullopt;
    double scale = term.getScale().convertToDouble();
    std::optional<TensorValues> values;
    if (!term.getInputs().empty())
      values.emplace(function, term, operands);
    for (size_t y = 0; y < queries.positions.size(); ++y) {
      std::vector<double> row;
      if (values) {
        std::vector<int64_t> leading(std::max<size_t>(values->shape().size(), 2) - 1, 0);
        leading.back() = queries.positions[y];
        auto found = values->row(leading);
        if (!found)
          return found.takeError();
        row = std::move(*found);
      }
      for (size_t x = 0; x < keys.positions.size(); ++x) {
        Assignment here = at(queries.positions[y], keys.positions[x]);
        double value = 0;
        if (holds(guard, here)) {
          value = scale * (values ? row[keys.positions[x]] : 1);
          if (factor)
            value *= static_cast<double>(valueOf(*factor, here).value_or(0));
        }
        *scores[y][x] += value;
        if (!isContent)
          *biases[y][x] += value;
      }
    }
  }
  for (size_t y = 0; y < queries.positions.size(); ++y)
    for (size_t x = 0; x < keys.positions.size(); ++x)
      if (!holds(mask, at(queries.positions[y], keys.positions[x])))
        scores[y][x] = biases[y][x] = std::nullopt;
  std::string where = origin.empty() ? "" : " at " + origin;
  data.maps.push_back({"scores", "before the softmax" + where, queries, keys, std::move(scores)});
  if (!biasText.empty())
    data.maps.push_back({"bias", "the positional terms alone" + where, queries, keys, std::move(biases)});
  return llvm::Error::success();
}

llvm::Error Plotter::addSimilarity(TermOp term, size_t operand, size_t dimension) {
  Value table = term.getInputs()[operand];
  if (!similar.insert({table.getAsOpaquePointer(), dimension}).second)
    return llvm::Error::success();
  ResolvedEinsum resolved = resolve(term);
  std::vector<int64_t> shape = shapeOf(table);
  // A row is made of what is contracted; every other dimension stays at 0.
  std::vector<int64_t> extents(shape.size(), 1);
  int64_t depth = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    for (const std::string &symbol : symbolsOf(resolved.subscripts[operand][d]))
      if (d != dimension && shape[d] != kRuntime && llvm::is_contained(resolved.contracted, symbol))
        extents[d] = shape[d];
  for (int64_t extent : extents)
    depth *= extent;
  if (depth < 2 || depth > kMostDepth || shape[dimension] == kRuntime)
    return llvm::Error::success(); // single numbers: all rows are alike but for their sign
  TensorValues values(function, table, operands);
  PlotAxis rows = axisOf(shape[dimension], "row");
  std::vector<std::vector<double>> vectors;
  for (int64_t row : rows.positions) {
    vectors.emplace_back();
    for (int64_t n = 0; n < depth; ++n) {
      std::vector<int64_t> index(shape.size(), 0);
      int64_t rest = n;
      for (size_t d = shape.size(); d-- > 0;) {
        index[d] = d == dimension ? row : rest % extents[d];
        rest /= extents[d];
      }
      int64_t last = index.back();
      index.pop_back();
      auto line = values.row(index);
      if (!line)
        return line.takeError();
      vectors.back().push_back((*line)[last]);
    }
  }
  auto product = [&](size_t a, size_t b) {
    double sum = 0;
    for (int64_t n = 0; n < depth; ++n)
      sum += vectors[a][n] * vectors[b][n];
    return sum;
  };
  HeatMap map{"similarity of the rows of " + nameOfOperand(table, function),
              "cosine of the angle between two rows",
              rows,
              rows,
              {}};
  for (size_t a = 0; a < vectors.size(); ++a) {
    map.values.emplace_back();
    for (size_t b = 0; b < vectors.size(); ++b) {
      double norm = std::sqrt(product(a, a) * product(b, b));
      map.values.back().push_back(norm > 0 ? std::optional<double>(product(a, b) / norm) : std::nullopt);
    }
  }
  data.maps.push_back(std::move(map));
  return llvm::Error::success();
}

llvm::Error Plotter::addSimilarities(TermOp term) {
  for (size_t k = 0; k < term.getInputs().size(); ++k) {
    std::vector<size_t> dimensions = rowDimensions(term, k);
    if (dimensions.size() == 1)
      if (llvm::Error error = addSimilarity(term, k, dimensions.front()))
        return error;
  }
  // A table of absolute positions: a row for each key, the same for all heads.
  TermAnalysis analysis = analyse(term, space);
  if (analysis.kind != TermKind::Content || !isTable(term, analysis))
    return llvm::Error::success();
  ResolvedEinsum resolved = resolve(term);
  const std::vector<Expr> &subscripts = resolved.subscripts[analysis.other];
  for (size_t d = 0; d < subscripts.size(); ++d)
    if (mentionsPositions(subscripts[d]))
      return addSimilarity(term, analysis.other, d);
  return llvm::Error::success();
}

} // namespace

PlotAxis axisOf(int64_t all, std::string name) {
  PlotAxis axis{{}, all, std::move(name)};
  int64_t count = std::min(all, kMostCells);
  for (int64_t k = 0; k < count; ++k)
    axis.positions.push_back(static_cast<int64_t>(static_cast<__int128>(k) * all / count));
  return axis;
}

llvm::Expected<PlotData> plotDataOf(ModuleOp scheduled, const std::string &kernel, const KernelPlan &signature,
                                    const Operands &operands) {
  AttentionOp first;
  int64_t count = 0;
  scheduled.walk([&](AttentionOp attention) {
    first = first ? first : attention;
    ++count;
  });
  if (!first)
    return llvm::createStringError(std::errc::invalid_argument,
                                   "no attention was formed, so there is nothing to draw; 'skewer explain' says why");
  PlotData data;
  data.kernel = kernel;
  data.caption = fmt::format("space \"{}\"{}{}", first.getSpace().str(),
                             first.getMask() ? ", where " + first.getMask()->str() : std::string(),
                             count > 1 ? fmt::format("; the first of {} attentions", count) : std::string());
  if (llvm::Error error = Plotter(first, signature, operands, data).run())
    return std::move(error);
  return data;
}

} // namespace skewer::driver
