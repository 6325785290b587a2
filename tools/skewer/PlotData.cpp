// Computes positions, rows and values of a kernel's first attention.
#include "tools/skewer/PlotData.h"
#include "codegen/Compiler/Compiler.h"
#include "dialect/IR/Term.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/TermClass.h"
#include "tools/skewer/PlotSpace.h"
#include "tools/skewer/PlotUnfused.h"
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
  Plotter(AttentionOp attention, const KernelPlan &signature, const Operands &operands, int64_t head, PlotData &data)
      : attention(attention), function(attention->getParentOfType<func::FuncOp>()),
        place(scoreSpace(attention), signature, operands, head), operands(operands), data(data),
        queries(place.queries), keys(place.keys), mask(viewOf(attention)->mask), origin(place.origin) {}

  llvm::Error run() {
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
  bool holds(const std::optional<Expr> &predicate, const Assignment &values) const {
    return place.holds(predicate, values);
  }
  std::vector<size_t> rowDimensions(TermOp term, size_t operand) const {
    auto spec = parseEinsum(std::string_view(term.getSubscripts()));
    return spec ? place.rowDimensions(*spec, operand) : std::vector<size_t>();
  }

  /// Returns whether the key side of a content term is a table of positions: it has fewer dimensions than the queries.
  static bool isTable(TermOp term, const TermAnalysis &analysis) {
    return analysis.query >= 0 && analysis.other >= 0 &&
           shapeOf(term.getInputs()[analysis.other]).size() < shapeOf(term.getInputs()[analysis.query]).size();
  }

  void addSkews(TermOp term);
  llvm::Error addScores();
  llvm::Error addSimilarities(TermOp term);
  llvm::Error addSimilarity(TermOp term, size_t operand, size_t dimension);

  AttentionOp attention;
  func::FuncOp function;
  PlotSpace place;
  const Operands &operands;
  PlotData &data;
  const PlotAxis &queries, &keys;
  std::optional<Expr> mask;
  const std::string &origin;
  std::vector<TermOp> terms;
  std::set<std::pair<const void *, size_t>> similar; // finished tables
};

void Plotter::addSkews(TermOp term) {
  auto said = termOf(term);
  for (size_t k = 0; k < said->size(); ++k) {
    std::string name = nameOfOperand(term.getInputs()[k], function);
    if (auto skew = place.skewOf(said->einsum, k, said->shapes[k], name, mask))
      data.skews.push_back(std::move(*skew));
  }
  if (const std::optional<Expr> &value = said->factor; value && place.mentionsPositions(*value))
    data.skews.push_back(place.diagramOf(term.getValue()->str(), "value of this function of positions", *value,
                                         said->einsum.guard, mask));
}

llvm::Error Plotter::addScores() {
  auto empty = [&] {
    return std::vector<std::vector<std::optional<double>>>(
        queries.positions.size(), std::vector<std::optional<double>>(keys.positions.size(), 0.0));
  };
  auto scores = empty(), biases = empty();
  std::string biasText;
  for (TermOp term : terms) {
    TermAnalysis analysis = analyse(term);
    bool isContent = analysis.kind == TermKind::Content && !isTable(term, analysis);
    if (!isContent)
      biasText += (biasText.empty() ? "" : " + ") + term.getSubscripts().str();
    auto said = termOf(term);
    const std::optional<Expr> &factor = said->factor, &guard = said->einsum.guard;
    double scale = said->scale;
    std::optional<TensorValues> values;
    if (!term.getInputs().empty())
      values.emplace(function, term, operands);
    for (size_t y = 0; y < queries.positions.size(); ++y) {
      std::vector<double> row;
      if (values) {
        std::vector<int64_t> leading;
        for (const std::string &axis : values->leadingAxes())
          leading.push_back(place.leadingAt(axis));
        leading.push_back(queries.positions[y]);
        auto found = values->row(leading);
        if (!found)
          return found.takeError();
        row = std::move(*found);
      }
      for (size_t x = 0; x < keys.positions.size(); ++x) {
        Assignment here = place.at(queries.positions[y], keys.positions[x]);
        double value = 0;
        if (holds(guard, here)) {
          value = scale * (values ? row[keys.positions[x]] : 1);
          if (factor)
            value *= static_cast<double>(place.valueOf(*factor, here).value_or(0));
        }
        *scores[y][x] += value;
        if (!isContent)
          *biases[y][x] += value;
      }
    }
  }
  for (size_t y = 0; y < queries.positions.size(); ++y)
    for (size_t x = 0; x < keys.positions.size(); ++x)
      if (!holds(mask, place.at(queries.positions[y], keys.positions[x])))
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
  auto said = termOf(term);
  const ResolvedEinsum &resolved = said->einsum;
  const std::vector<int64_t> &shape = said->shapes[operand];
  // A row consists of the contracted elements; every other dimension stays at 0.
  std::vector<int64_t> extents(shape.size(), 1);
  int64_t depth = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    for (const std::string &symbol : symbolsOf(resolved.subscripts[operand][d]))
      if (d != dimension && shape[d] != kRuntime && llvm::is_contained(resolved.contracted, symbol))
        extents[d] = shape[d];
  for (int64_t extent : extents)
    depth *= extent;
  if (depth < 2 || depth > kMostDepth || shape[dimension] == kRuntime)
    return llvm::Error::success(); // single numbers: rows differ only in sign
  std::vector<int64_t> drawn;      // drawn index of each dimension, of heads for instance
  for (const Expr &subscript : resolved.subscripts[operand])
    drawn.push_back(place.mentionsPositions(subscript) ? 0 : place.valueOf(subscript, place.at(0, 0)).value_or(0));
  TensorValues values(function, table, operands);
  PlotAxis rows = axisOf(shape[dimension], "row");
  std::vector<std::vector<double>> vectors;
  for (int64_t row : rows.positions) {
    vectors.emplace_back();
    for (int64_t n = 0; n < depth; ++n) {
      std::vector<int64_t> index(shape.size(), 0);
      int64_t rest = n;
      for (size_t d = shape.size(); d-- > 0;) {
        index[d] = d == dimension ? row : extents[d] > 1 ? rest % extents[d] : drawn[d];
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
  TermAnalysis analysis = analyse(term);
  if (analysis.kind != TermKind::Content || !isTable(term, analysis))
    return llvm::Error::success();
  auto said = termOf(term);
  const std::vector<Expr> &subscripts = said->einsum.subscripts[analysis.other];
  for (size_t d = 0; d < subscripts.size(); ++d)
    if (place.mentionsPositions(subscripts[d]))
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

/// Adds the weights of the softmax that became the attention, if the kernel as written has one of its size.
static llvm::Error addWeights(func::FuncOp einsum, AttentionOp attention, const Operands &operands, int64_t head,
                              PlotData &data) {
  ScoreSpace space = scoreSpace(attention);
  SoftmaxOp found;
  einsum.walk([&](SoftmaxOp softmax) {
    std::vector<int64_t> shape = shapeOf(softmax.getResult());
    if (!found && shape.size() >= 2 && shape.back() == space.keys() && shape[shape.size() - 2] == space.queries())
      found = softmax;
  });
  if (!found)
    return llvm::Error::success();
  const HeatMap &scores = data.maps.front();
  auto map = heatMapOf(einsum, found.getResult(), operands, head, "weights", "behind the softmax: each row's sum is 1",
                       &scores.vertical, &scores.horizontal);
  if (!map)
    return map.takeError();
  for (size_t y = 0; y < map->values.size(); ++y) // masked where the scores are masked
    for (size_t x = 0; x < map->values[y].size(); ++x)
      if (!scores.values[y][x])
        map->values[y][x].reset();
  map->isLogarithmic = true;
  data.maps.push_back(std::move(*map));
  return llvm::Error::success();
}

llvm::Expected<PlotData> plotDataOf(ModuleOp scheduled, const std::string &kernel, const KernelPlan &signature,
                                    const Operands &operands, const PlotChoice &choice) {
  AttentionOp first;
  int64_t count = 0;
  scheduled.walk([&](AttentionOp attention) {
    first = first ? first : attention;
    ++count;
  });
  PlotData data;
  data.kernel = kernel;
  if (!first) {
    if (!choice.einsum)
      return llvm::createStringError(std::errc::invalid_argument, "it has no fused attention; explain says why");
    data.caption = "not fused: the einsums and the softmax as they are written; 'skewer explain' says why";
    if (llvm::Error error = plotUnfused(choice.einsum, signature, operands, choice.head, data))
      return std::move(error);
    return data;
  }
  if (llvm::Error error = checkHead(scoreSpace(first), choice.head))
    return std::move(error);
  data.caption = fmt::format("space \"{}\"{}{}", first.getSpace().str(),
                             first.getMask() ? " where " + abbreviateTables(first.getMask()->str()) : std::string(),
                             count > 1 ? fmt::format("; the first of {} attentions", count) : std::string());
  if (llvm::Error error = Plotter(first, signature, operands, choice.head, data).run())
    return std::move(error);
  if (choice.einsum)
    if (llvm::Error error = addWeights(choice.einsum, first, operands, choice.head, data))
      return std::move(error);
  return data;
}

} // namespace skewer::driver
