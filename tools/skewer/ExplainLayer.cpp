// Collects the facts that `explain` prints about a fused attention.
#include "tools/skewer/ExplainLayer.h"
#include "codegen/Compiler/Compiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/TermClass.h"
#include "passes/Gpu/Shape/GpuShape.h"
#include "passes/Stages/AttentionShapes.h"
#include "passes/Stages/PackedOperands.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer::driver {
namespace {

/// Returns a sum such as "0.125 (q·k + q·table[j - i + 13])"; a scale that all terms share comes first.
std::string sumOf(const std::vector<TermFacts> &terms, const std::vector<double> &scales) {
  bool common = terms.size() > 1 && scales.front() != 1 && llvm::all_equal(scales);
  std::string prefix = common ? fmt::format("{:.6g} ", scales.front()) : "", sum;
  for (const TermFacts &term : terms) {
    llvm::StringRef text = term.text;
    text.consume_front(prefix);
    bool negative = !sum.empty() && text.consume_front("-");
    if (negative)
      text.consume_front("1 ");
    sum += (sum.empty() ? "" : negative ? " - " : " + ") + text.str();
  }
  return common ? prefix + "(" + sum + ")" : sum;
}

std::string formulaOf(AttentionOp attention, const AttentionFacts &facts, const std::vector<double> &scales) {
  ScoreSpace space = scoreSpace(attention);
  std::string keys = llvm::join(space.key, " ");
  std::string values = nameOfOperand(attention.getValue(), attention->getParentOfType<func::FuncOp>());
  std::vector<uint64_t> sums; // the sum that each term of the score belongs to
  for (TermOp term : attention.getScore().getOps<TermOp>())
    sums.push_back(term.getSum());
  for (const TermFacts &term : facts.terms)
    if (term.valueSide)
      values += " + " + term.text;
  if (sums.size() < facts.terms.size())
    values = "(" + values + ")";
  std::vector<std::string> names, texts;
  for (uint64_t sum = 0; sum < static_cast<uint64_t>(attention.getSums()); ++sum) {
    std::vector<TermFacts> own;
    std::vector<double> ownScales;
    for (size_t term = 0; term < sums.size(); ++term)
      if (sums[term] == sum) {
        own.push_back(facts.terms[term]);
        ownScales.push_back(scales[term]);
      }
    texts.push_back(sumOf(own, ownScales));
    names.push_back(std::string(1, static_cast<char>('s' + sum)));
  }
  std::string score = texts[0], where;
  if (!attention.getThrough().empty()) {
    score = textOfFunction(attention.getThrough(), names);
    for (auto [name, text] : llvm::zip(names, texts))
      where += fmt::format("{} {} = {}", where.empty() ? ", with" : " and", name, text);
  }
  std::string mask = facts.mask.empty() ? "" : " where " + facts.mask;
  std::string stored = attention.getWeights() ? "; what the values are multiplied by is stored too" : "";
  if (attention.getDirect())
    return fmt::format("sum over {} of {}{}, times {}{}{}", keys, score, mask, values, where, stored);
  return fmt::format("softmax over {} of {}{}, times {}{}{}", keys, score, mask, values, where, stored);
}

} // namespace

double bytesOf(const ComposedOperation &composed) {
  double bytes = static_cast<double>(composed.elementBytes);
  for (int64_t size : composed.shape)
    bytes *= size < 0 ? 1 : static_cast<double>(size);
  return bytes;
}

bool isIndexMap(const ComposedOperation &composed) {
  return llvm::is_contained({"pad", "reshape", "slice", "skew", "gather", "rearrange"},
                            llvm::StringRef(composed.operation));
}

/// Returns whether queries and keys that are computed have no buffer: what else reads them may need one.
static bool isReadWhereItLies(AttentionOp attention, const ContentTerm &term) {
  AttentionShapes shapes(attention->getParentOfType<func::FuncOp>());
  SmallVector<Value> operands = operandsOf(attention);
  return isPackedOperand(attention, operands[term.query.argument], shapes) &&
         isPackedOperand(attention, operands[term.key.argument], shapes);
}

LayerFacts layerFactsOf(AttentionOp attention, const AttentionFacts &facts, const Target &target) {
  LayerFacts layer;
  std::vector<double> scales;
  for (TermOp term : termsOf(attention)) {
    scales.push_back(term.getScale().convertToDouble());
    layer.composed.push_back(composedInto(term.getLoc()));
  }
  layer.formula = formulaOf(attention, facts, scales);
  layer.unread = unreadRowsOf(attention);
  ScoreSpace space = scoreSpace(attention);
  for (const std::string &axis : space.leading)
    if (auto size = space.sizes.find(axis); size != space.sizes.end() && size->second != kRuntime)
      layer.leading *= static_cast<double>(size->second);

  if (auto schedule = dyn_cast_or_null<GpuScheduleAttr>(attention.getScheduleAttr())) {
    layer.tileRows = schedule.getRows();
    layer.tileKeys = schedule.getKeys();
    auto shape = gpu::gpuShapeOf(attention);
    if (shape && attention.getMask())
      layer.tiles = countTiles(shape->attention, layer.tileRows, layer.tileKeys);
    return layer;
  }
  auto schedule = dyn_cast_or_null<CpuScheduleAttr>(attention.getScheduleAttr());
  auto shape = schedule ? shapeOfAttention(attention) : Refusal{};
  if (!shape) {
    layer.whyNotPredicted = shape.reason();
    return layer;
  }
  layer.tileRows = schedule.getTileRows();
  layer.tileKeys = schedule.getTileVectors() * schedule.getLanes();
  if (attention.getMask())
    layer.tiles = countTiles(*shape, layer.tileRows, layer.tileKeys);
  Blocking blocking{schedule.getTileRows(),
                    schedule.getTileVectors(),
                    schedule.getRowBlock(),
                    schedule.getKeyBlock(),
                    schedule.getRowsPerItem(),
                    schedule.getKeysPerItem(),
                    0};
  layer.work = predictWork(*shape, strategiesOf(schedule, *shape), blocking, target);
  layer.alternatives = alternativesOf(attention, *shape, target);
  if (layer.work.sumsIntegers && isReadWhereItLies(attention, shape->content[0]))
    layer.integerTerm = llvm::find(shape->roles, TermRole::Content) - shape->roles.begin();
  layer.isPredicted = true;
  return layer;
}

} // namespace skewer::driver
