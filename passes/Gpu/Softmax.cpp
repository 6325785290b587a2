// Maximum, weights and sum of a tile of scores.
#include "passes/Gpu/Softmax.h"
#include <limits>

using namespace mlir;
using namespace skewer::gpu;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SmallVector<Value> RowState::numbers() const {
  SmallVector<Value> flat(maximum);
  flat.append(sum);
  flat.append(flattened(output.tiles));
  return flat;
}

RowState RowState::of(ValueRange numbers, size_t rows) {
  RowState state;
  state.maximum.append(numbers.begin(), numbers.begin() + int64_t(rows));
  state.sum.append(numbers.begin() + int64_t(rows), numbers.begin() + int64_t(2 * rows));
  state.output.tiles = gathered(numbers.drop_front(2 * rows));
  return state;
}

RowState skewer::gpu::emptyRows(GpuBuilder &b, const ScoreLayout &scores, size_t columnTiles) {
  RowState state;
  Value zero = b.f32(0), least = b.f32(-kInfinity);
  state.maximum.assign(scores.rows(), least);
  state.sum.assign(scores.rows(), zero);
  state.output.tiles.assign(size_t(scores.rowTiles()) * columnTiles, {zero, zero, zero, zero});
  return state;
}

/// exp2(scale × score - scale × reference)
static std::function<Value(Value)> powerBelow(GpuBuilder &b, std::optional<double> lateScale, Value reference) {
  Value factor = lateScale ? b.f32(*lateScale) : Value();
  Value least = lateScale ? b.mulf(reference, b.f32(-*lateScale)) : Value();
  return [=, &b](Value score) { return b.exp2(lateScale ? b.fma(score, factor, least) : b.subf(score, reference)); };
}

RowState skewer::gpu::addDirect(GpuBuilder &b, const ScoreLayout &layout, const Tiles &weights, const RowState &before,
                                bool shrinksLater) {
  RowState state = before;
  for (size_t row = 0; row < layout.rows(); ++row) {
    for (const HeldNumber &number : layout.numbersOfRow(row))
      state.sum[row] = b.addf(state.sum[row], weights[number.tile][number.part]);
    if (shrinksLater)
      state.output.shrink.push_back(b.f32(1));
  }
  return state;
}

RowState skewer::gpu::softmaxStep(GpuBuilder &b, const ScoreLayout &layout, Tiles &scores, ArrayRef<Value> ofTile,
                                  std::optional<double> lateScale, bool shrinksLater, const RowState &before) {
  RowState state = before;
  size_t columnTiles = state.output.tiles.size() / size_t(layout.rowTiles());
  ScoreLayout outputs = layout.across(int64_t(8 * columnTiles));
  for (size_t row = 0; row < layout.rows(); ++row) {
    std::vector<HeldNumber> numbers = layout.numbersOfRow(row);
    Value maximum = ofTile[row] ? b.f32(-kInfinity) : before.maximum[row];
    for (const HeldNumber &number : numbers)
      maximum = b.maxf(maximum, scores[number.tile][number.part]);
    if (ofTile[row])
      maximum = b.maxf(before.maximum[row], b.addf(maximum, ofTile[row]));
    maximum = layout.acrossRow(maximum, [&](Value x, Value y) { return b.maxf(x, y); });
    state.maximum[row] = maximum;
    // No key seen so far: the difference of two infinities would be no number.
    Value reference = b.select(b.equalf(maximum, b.f32(-kInfinity)), b.f32(0), maximum);
    Value shrink = powerBelow(b, lateScale, reference)(before.maximum[row]);
    auto power = powerBelow(b, lateScale, ofTile[row] ? b.subf(reference, ofTile[row]) : reference);
    Value sum = b.mulf(before.sum[row], shrink);
    for (const HeldNumber &number : numbers) {
      Value weight = power(scores[number.tile][number.part]);
      scores[number.tile][number.part] = weight;
      sum = b.addf(sum, weight);
    }
    state.sum[row] = sum;
    if (shrinksLater) { // one multiply-add with what the tile adds
      state.output.shrink.push_back(shrink);
      continue;
    }
    for (const HeldNumber &number : outputs.numbersOfRow(row)) {
      Value &output = state.output.tiles[number.tile][number.part];
      output = b.mulf(output, shrink);
    }
  }
  return state;
}
