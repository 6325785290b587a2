// Emits the scores of a step, their weights, and the weighted sums of values.
#include "passes/Gpu/StepCode.h"
#include "passes/Emit/EmitThrough.h"
#include "passes/Gpu/ResultRows.h"
#include "passes/Gpu/ShortMath.h"
#include "passes/Gpu/Strategies/Strategies.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

void ScoreSums::add(GpuBuilder &b, const Tiles &other) {
  for (auto [sum, added] : llvm::zip_equal(tiles, other))
    for (size_t k = 0; k < 4; ++k)
      sum[k] = begun ? b.addf(sum[k], added[k]) : added[k];
  begun = true;
}

StepCode::StepCode(KernelContext &in, Masks &masks)
    : in(in), masks(masks), b(in.b), powers(in.b, in.lateScale.value_or(1), !in.shape.element.isF32()),
      strategies(strategiesOf(in)) {}

void StepCode::locate() {
  for (auto &strategy : strategies)
    strategy->locate();
}

void StepCode::readQueries() {
  in.place.findQueryAxes();
  for (auto &strategy : strategies)
    strategy->readQueries();
}

void StepCode::runPrologue() {
  for (auto &strategy : strategies)
    strategy->runPrologue();
}

void StepCode::computeBlockNumbers() {
  for (auto &strategy : strategies)
    strategy->computeBlockNumbers();
}

void StepCode::fill(Value number, Value copy, bool scores, bool values) {
  Value firstKey = masks.firstKeyOf(number);
  if (!in.pipeline.isSingleBuffered())
    for (auto &strategy : strategies)
      if (strategy->fillsValues() ? values : scores)
        strategy->fill(firstKey, copy);
  for (auto &strategy : strategies)
    if (scores)
      strategy->computeNumbers(firstKey, copy);
}

Step StepCode::stepAt(Value number, Value copy) {
  Value firstKey = masks.firstKeyOf(number);
  return {firstKey, copy, masks.crosses(number, firstKey)};
}

SmallVector<Value> StepCode::seenBits(const Step &at) { return masks.seenBits(at.firstKey, at.crossed); }

RowState StepCode::emptyRows() { return gpu::emptyRows(b, in.place.scores, size_t(in.layout.values.width / 8)); }

void StepCode::write(const RowState &state) { writeRows(b, in.shape, in.operands, in.place, powers, state); }

RowState StepCode::compute(const Step &at, ArrayRef<Value> bits, const RowState &before) {
  auto [weights, state] = weigh(at, bits, before);
  addToValues(at, weights, state.output);
  return state;
}

std::pair<Tiles, RowState> StepCode::weigh(const Step &at, ArrayRef<Value> bits, const RowState &before,
                                           llvm::function_ref<void()> behindProducts) {
  issueBehindProducts = behindProducts;
  Tiles weights = scores(at, bits);
  if (issueBehindProducts) // the scores have no products
    std::exchange(issueBehindProducts, nullptr)();
  // If a mask may hide keys, a number for all keys of a tile must not be added to hidden scores: it might be NaN or
  // infinite.
  RowNumbers ofTile(in.place.scores, in.place.scores.columns());
  if (!at.crossed && in.shape.attention.isPlainSoftmax())
    ofTile = rowNumbersOf(at);
  Rescaling how = in.engine.addsOutside() ? Rescaling::WithProduct
                  : behindProducts        ? Rescaling::Afterwards
                                          : Rescaling::AtOnce;
  RowState state = in.shape.attention.direct
                       ? addDirect(b, in.place.scores, weights, before, how == Rescaling::WithProduct)
                       : softmaxStep(b, in.place.scores, weights, ofTile, powers, how, before);
  return {std::move(weights), std::move(state)};
}

void StepCode::addToValues(const Step &at, const Tiles &weights, WeightedSums &output) {
  for (auto &strategy : strategies) {
    Tiles before = output.tiles;
    strategy->addToValues(at, weights, output);
    if (output.tiles != before)
      output.tiles = in.engine.wait(output.tiles);
  }
}

RowNumbers StepCode::rowNumbersOf(const Step &at) {
  RowNumbers rows(in.place.scores, in.layout.rowColumns);
  for (auto &strategy : strategies)
    strategy->addToRows(at.firstKey, rows);
  return rows;
}

Tiles StepCode::scores(const Step &at, ArrayRef<Value> bits) {
  ScoreSums sums{in.place.scores.zeros()};
  for (auto &strategy : strategies)
    strategy->beginScores(at, sums);
  addProducts(at, sums);
  Tiles result = std::move(sums.tiles);
  for (auto &strategy : strategies)
    strategy->addToScores(at, result);
  std::vector<Tiles> further(size_t(in.shape.attention.sums - 1), in.place.scores.zeros());
  if (some([](Strategy &strategy) { return strategy.addsToEachScore(); })) {
    std::vector<Axes> axes = in.place.axesOfTile(at.firstKey);
    for (auto &strategy : strategies)
      strategy->addToEachScore(at.firstKey, axes, strategy->sum() ? further[strategy->sum() - 1] : result);
  }
  if (at.crossed || !in.shape.attention.isPlainSoftmax()) {
    RowNumbers ofTile = rowNumbersOf(at);
    for (const HeldNumber &number : in.place.scores.numbers())
      if (Value added = ofTile.at(number)) {
        Value &score = result[number.tile][number.part];
        score = b.addf(score, added);
      }
  }
  applyFunction(result, further);
  masks.hide(result, at.firstKey, at.crossed, bits);
  return result;
}

/// Applies the attention's function to the scores that a thread holds.
void StepCode::applyFunction(Tiles &scores, ArrayRef<Tiles> further) {
  const AttentionShape &attention = in.shape.attention;
  if (attention.isPlainSoftmax())
    return;
  // Later results are rounded to the operands' type; if it is narrow, approximate functions are exact enough.
  auto flags = in.shape.element.isF32() ? arith::FastMathFlags::none : arith::FastMathFlags::afn;
  for (const HeldNumber &number : in.place.scores.numbers()) {
    Value &score = scores[number.tile][number.part];
    SmallVector<Value> sums{score};
    for (const Tiles &other : further)
      sums.push_back(other[number.tile][number.part]);
    if (attention.through)
      score = emitThrough(b, *attention.through, sums,
                          [&](Operation *op, ValueRange operands) { return emitWithFlags(b, op, operands, flags); });
    if (attention.direct) // -0 marks a hidden key, so a weight of -0 becomes 0
      score = b.addf(score, b.f32(0));
  }
}

/// Returns the sums of the products with this scale.
ScoreSums StepCode::productsOf(const Step &at, double scale) {
  ScoreSums sums{in.place.scores.zeros()};
  auto begin = [&] {
    for (auto &strategy : strategies)
      if (strategy->scaleOfProducts() == scale)
        strategy->beginProducts(at, sums);
  };
  auto addTo = [&](Tiles &products) {
    for (auto &strategy : strategies)
      if (strategy->scaleOfProducts() == scale)
        strategy->addProducts(at, products);
  };
  if (in.engine.beginsWithSums()) {
    begin();
    addTo(sums.tiles);
    sums.tiles = in.engine.wait(sums.tiles);
    return sums;
  }
  // The numbers that are added to the products are computed while the tensor cores multiply.
  Tiles zeros = in.place.scores.zeros(), products = zeros;
  addTo(products);
  bool issued = products != zeros;
  int64_t behind = 0;
  if (issued && issueBehindProducts) {
    issueBehindProducts();
    issueBehindProducts = nullptr;
    behind = 1;
  }
  begin();
  if (issued)
    sums.add(b, in.engine.wait(products, behind));
  return sums;
}

/// Adds the products of all terms. Terms with the same scale are one sum.
void StepCode::addProducts(const Step &at, ScoreSums &scores) {
  std::vector<double> scales;
  for (auto &strategy : strategies)
    if (auto scale = strategy->scaleOfProducts(); scale && !llvm::is_contained(scales, *scale))
      scales.push_back(*scale);
  for (double scale : scales) {
    ScoreSums sums = productsOf(at, scale);
    if (in.lateScale) { // then there is only one scale
      scores.tiles = sums.tiles;
      return;
    }
    Value factor = b.f32(scale);
    for (auto [sum, score] : llvm::zip_equal(sums.tiles, scores.tiles))
      for (size_t k = 0; k < 4; ++k)
        score[k] = scores.begun ? b.fma(sum[k], factor, score[k]) : b.mulf(sum[k], factor);
    scores.begun = true;
  }
}
