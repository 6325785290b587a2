// Computes the maximum, the weights and the sum of a tile of scores.
#include "passes/Gpu/Softmax.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Emit/LogSum.h"
#include "passes/Gpu/Warp.h"
#include <limits>

using namespace mlir;
using namespace skewer::gpu;

constexpr double kNoScore = -std::numeric_limits<double>::infinity();

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
  Value zero = b.f32(0), least = b.f32(kNoScore);
  state.maximum.assign(scores.rows(), least);
  state.sum.assign(scores.rows(), zero);
  state.output.tiles.assign(size_t(scores.rowTiles()) * columnTiles, {zero, zero, zero, zero});
  return state;
}

//===- Powers of two -------------------------------------------------------------===//

// From here on, a reference that is rounded once more changes a weight by more than 2^-19 of it, or by 2^-15, an eighth
// of what f16 rounds, where weights are rounded to 16 bits.
constexpr double kRoundedAnew = 0x1p5, kRoundedAnewNarrow = 0x1p9;
constexpr double kLog2OfE = 1.4426950408889634;

Powers::Powers(GpuBuilder &b, double scale, bool areNarrow)
    : b(b), factor(b.f32(scale * kLog2OfE)), scale(scale), areNarrow(areNarrow) {}

Value Powers::isRoundedAnew(Value reference) const {
  return isAbove(areNarrow ? kRoundedAnewNarrow : kRoundedAnew, reference);
}

double Powers::factorValue() const { return scale * kLog2OfE; }

Value Powers::referenceOf(Value maximum) const { return b.mulf(maximum, factor); }

Value Powers::isLarge(Value reference) const {
  // At 2^20 the rounding error of the reference is at most 1/16, so weights are at most 2^(1/16). Infinite products are
  // large.
  constexpr double kLargest = 0x1p20;
  return isAbove(kLargest, reference);
}

Value Powers::isAbove(double limit, Value reference) const {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, math::AbsFOp::create(b, reference), b.f32(limit));
}

Value Powers::powerOf(Value score, Value negativeReference) const {
  return b.exp2(b.fma(score, factor, negativeReference));
}

Value Powers::restOf(Value maximum) const {
  Value reference = referenceOf(maximum);
  return b.select(isLarge(reference), b.f32(0), b.fma(maximum, factor, b.negf(reference)));
}

Value Powers::shrinkBetween(Value before, Value now) const {
  return b.fma(b.subf(before, now), factor, b.subf(restOf(now), restOf(before)));
}

Value Powers::logOfSum(Value maximum, Value sum) const {
  // For a row without keys, the maximum and log2(0) are -infinity.
  constexpr double kLn2 = 0.6931471805599453;
  Value logarithm = b.mulf(b.subf(b.log2(sum), restOf(maximum)), b.f32(kLn2));
  return logSumExp(b, maximum, b.fma(maximum, b.f32(scale), logarithm));
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

namespace {
/// The numbers from which a tile's rows compute their weights.
struct RowExponents {
  // Maxima; 0 for rows that have seen no key, because the difference of infinities is NaN.
  SmallVector<Value> finite;
  SmallVector<Value> least;   // added to scores × factor, for each part of each row
  SmallVector<Value> shrinks; // exponents of the factors for the sums so far
};
} // namespace

/// Subtracts large maxima from the scores of their rows. If a number is added to all scores of a row, its sum with the
/// reference is rounded in each tile anew; where that may be seen, the number is added to the scores first. Does nothing
/// if no row of the warp needs either.
static void subtractLargeMaxima(const Powers &powers, const ScoreLayout &layout, const RowNumbers &ofTile,
                                const RowState &before, RowExponents &rows, Tiles &scores) {
  GpuBuilder &b = powers.b;
  Value some;
  SmallVector<Value> large, flat = flattened(scores);
  for (auto [row, maximum] : llvm::enumerate(rows.finite)) {
    Value reference = powers.referenceOf(maximum);
    large.push_back(powers.isLarge(reference));
    Value here = ofTile.at(row, 0) ? powers.isRoundedAnew(reference) : large.back();
    some = some ? arith::OrIOp::create(b, some, here).getResult() : here;
  }
  flat.append(rows.least);
  flat.append(rows.shrinks);
  auto subtracted = [&] {
    Tiles less = scores;
    SmallVector<Value> least, shrinks;
    for (size_t row = 0; row < layout.rows(); ++row) {
      SmallVector<Value> own;
      for (size_t part = 0; part < ofTile.parts(); ++part) {
        Value added = ofTile.at(row, part);
        Value subtracted = added ? b.subf(rows.finite[row], added) : rows.finite[row];
        own.push_back(b.select(large[row], subtracted, added ? b.negf(added) : b.f32(0)));
        Value negative =
            added ? b.negf(powers.referenceOf(rows.finite[row])) : rows.least[row * ofTile.parts() + part];
        least.push_back(b.select(large[row], b.f32(0), negative));
      }
      for (const HeldNumber &number : layout.numbersOfRow(row)) {
        Value &score = less[number.tile][number.part];
        score = b.subf(score, own[ofTile.partOf(number)]);
      }
      shrinks.push_back(powers.shrinkBetween(before.maximum[row], rows.finite[row]));
    }
    SmallVector<Value> all = flattened(less);
    all.append(least);
    all.append(shrinks);
    return all;
  };
  SmallVector<Value> chosen =
      b.choose(anyLane(b, some), TypeRange(ValueRange(flat)), subtracted, [&] { return SmallVector<Value>(flat); });
  ArrayRef<Value> all = chosen;
  rows.shrinks = SmallVector<Value>(all.take_back(rows.shrinks.size()));
  all = all.drop_back(rows.shrinks.size());
  rows.least = SmallVector<Value>(all.take_back(rows.least.size()));
  scores = gathered(ValueRange(all.drop_back(rows.least.size())));
}

/// Returns the largest score of each of the thread's rows, in its own columns; at least `least`.
static SmallVector<Value> largestOf(GpuBuilder &b, const ScoreLayout &layout, const Tiles &scores,
                                    const RowNumbers &ofTile, llvm::function_ref<Value(size_t row)> least) {
  SmallVector<Value> all;
  for (size_t row = 0; row < layout.rows(); ++row) {
    SmallVector<Value> ofParts;
    for (size_t part = 0; part < ofTile.parts(); ++part)
      ofParts.push_back(ofTile.at(row, part) || part ? b.f32(kNoScore) : least(row));
    for (const HeldNumber &number : layout.numbersOfRow(row)) {
      Value &largest = ofParts[ofTile.partOf(number)];
      largest = b.maxf(largest, scores[number.tile][number.part]);
    }
    Value largest = least(row);
    for (auto [part, ofPart] : llvm::enumerate(ofParts)) {
      Value added = ofTile.at(row, part);
      if (added)
        largest = b.maxf(largest, b.addf(ofPart, added));
      else
        largest = part ? b.maxf(largest, ofPart) : ofPart;
    }
    all.push_back(largest);
  }
  return all;
}

namespace {

/// Turns a tile's scores into weights that refer to the largest score of their row so far.
class WeightsOfTile {
public:
  WeightsOfTile(GpuBuilder &b, const ScoreLayout &layout, const RowNumbers &ofTile, const Powers &powers,
                const RowState &before)
      : b(b), layout(layout), outputs(layout.across(columnsOf(layout, before))), ofTile(ofTile), powers(powers),
        before(before) {}

  /// Refers to the maximum of all tiles so far, this one included; `own`: of the thread's scores in each row.
  RowExponents referToMaximum(ArrayRef<Value> own, Tiles &scores, RowState &state) {
    RowExponents rows;
    for (size_t row = 0; row < layout.rows(); ++row) {
      Value maximum = layout.acrossRow(own[row], [&](Value x, Value y) { return b.maxf(x, y); });
      state.maximum[row] = maximum;
      rows.finite.push_back(finite(maximum));
      Value reference = powers.referenceOf(rows.finite.back());
      addLeast(row, reference, rows);
      rows.shrinks.push_back(b.subf(powers.referenceOf(before.maximum[row]), reference));
    }
    subtractLargeMaxima(powers, layout, ofTile, before, rows, scores);
    return rows;
  }

  /// Refers to the maximum of an earlier tile while no score is much larger than it: then nothing so far has to be
  /// rescaled, and the lanes of a row need not agree on a maximum. The quotient of weighted values and sum of weights
  /// has the same precision, whatever the weights refer to (FlashAttention-4 rescales as seldom).
  RowExponents referToLaterMaximum(Tiles &scores, RowState &state, bool rescales) {
    constexpr double kGrowth = 8; // weights are at most 2^8, which f16 holds
    Value room = b.f32(kGrowth / powers.factorValue()), some;
    SmallVector<Value> own = largestOf(b, layout, scores, ofTile, [&](size_t) { return b.f32(kNoScore); });
    RowExponents kept;
    for (size_t row = 0; row < layout.rows(); ++row) {
      Value reference = powers.referenceOf(finite(before.maximum[row]));
      addLeast(row, reference, kept);
      Value asks = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, own[row], b.addf(before.maximum[row], room));
      Value isLarge = ofTile.at(row, 0) ? powers.isRoundedAnew(reference) : powers.isLarge(reference);
      asks = arith::OrIOp::create(b, asks, isLarge);
      some = some ? Value(arith::OrIOp::create(b, some, asks)) : asks;
    }
    Tiles given = scores;
    RowState whole = state;
    if (!rescales) // the sums are not there yet; their factors are
      whole.output = {{}, SmallVector<Value>(layout.rows(), b.f32(1)), {}};
    SmallVector<Value> flat = flatOf(given, kept, whole);
    Value larger = anyLane(b, some);
    SmallVector<Value> chosen = b.choose(
        larger, TypeRange(ValueRange(flat)),
        [&] {
          for (size_t row = 0; row < layout.rows(); ++row)
            own[row] = b.maxf(own[row], before.maximum[row]);
          RowExponents rows = referToMaximum(own, given, whole);
          whole.output.shrink.clear();
          shrink(rows, whole, /*later=*/!rescales);
          return flatOf(given, rows, whole);
        },
        [&] { return flat; });
    ArrayRef<Value> all = chosen;
    size_t rows = layout.rows(), count = flattened(scores).size();
    scores = gathered(ValueRange(all.take_front(count)));
    size_t exponents = kept.least.size();
    kept.least = SmallVector<Value>(all.slice(count, exponents));
    all = all.drop_front(count + exponents);
    if (rescales) {
      state = RowState::of(ValueRange(all), rows);
      return kept;
    }
    state.maximum = SmallVector<Value>(all.take_front(rows));
    state.sum = SmallVector<Value>(all.slice(rows, rows));
    state.output.shrink = SmallVector<Value>(all.take_back(rows));
    state.output.shrinks = larger;
    return kept;
  }

  /// Rescales what has been summed so far; `later`: the next product rescales the output.
  void shrink(const RowExponents &rows, RowState &state, bool later) {
    for (size_t row = 0; row < layout.rows(); ++row) {
      Value factor = b.exp2(rows.shrinks[row]);
      state.sum[row] = b.mulf(before.sum[row], factor);
      if (later) {
        state.output.shrink.push_back(factor);
        continue;
      }
      for (const HeldNumber &number : outputs.numbersOfRow(row)) {
        Value &output = state.output.tiles[number.tile][number.part];
        output = b.mulf(output, factor);
      }
    }
  }

  void exponentiate(const RowExponents &rows, Tiles &scores, RowState &state) {
    for (size_t row = 0; row < layout.rows(); ++row)
      for (const HeldNumber &number : layout.numbersOfRow(row)) {
        Value &score = scores[number.tile][number.part];
        score = powers.powerOf(score, rows.least[row * ofTile.parts() + ofTile.partOf(number)]);
        state.sum[row] = b.addf(state.sum[row], score);
      }
  }

private:
  static int64_t columnsOf(const ScoreLayout &layout, const RowState &state) {
    return int64_t(8 * (state.output.tiles.size() / size_t(layout.rowTiles())));
  }
  Value finite(Value maximum) { return b.select(b.equalf(maximum, b.f32(kNoScore)), b.f32(0), maximum); }
  void addLeast(size_t row, Value reference, RowExponents &rows) {
    Value negative = b.negf(reference);
    for (size_t part = 0; part < ofTile.parts(); ++part) {
      Value added = ofTile.at(row, part);
      rows.least.push_back(added ? b.fma(added, powers.factor, negative) : negative);
    }
  }
  SmallVector<Value> flatOf(const Tiles &scores, const RowExponents &rows, const RowState &state) {
    SmallVector<Value> flat = flattened(scores);
    flat.append(rows.least);
    flat.append(state.numbers());
    flat.append(state.output.shrink);
    return flat;
  }

  GpuBuilder &b;
  const ScoreLayout &layout;
  ScoreLayout outputs;
  const RowNumbers &ofTile;
  const Powers &powers;
  const RowState &before;
};

} // namespace

RowState skewer::gpu::softmaxStep(GpuBuilder &b, const ScoreLayout &layout, Tiles &scores, const RowNumbers &ofTile,
                                  const Powers &powers, Rescaling how, const RowState &before) {
  RowState state = before;
  WeightsOfTile tile(b, layout, ofTile, powers, before);
  RowExponents rows;
  if (how == Rescaling::WithProduct) {
    SmallVector<Value> own =
        largestOf(b, layout, scores, ofTile, [&](size_t row) { return before.maximum[row]; });
    rows = tile.referToMaximum(own, scores, state);
    tile.shrink(rows, state, /*later=*/true);
  } else {
    rows = tile.referToLaterMaximum(scores, state, how == Rescaling::AtOnce);
  }
  tile.exponentiate(rows, scores, state);
  return state;
}

Tiles skewer::gpu::rescaled(GpuBuilder &b, const ScoreLayout &layout, const WeightedSums &sums) {
  if (sums.shrink.empty())
    return sums.tiles;
  SmallVector<Value> flat = flattened(sums.tiles);
  auto rescale = [&] {
    SmallVector<Value> numbers;
    size_t ofRowTile = 4 * sums.tiles.size() / size_t(layout.rowTiles());
    for (auto [number, sum] : llvm::enumerate(flat))
      numbers.push_back(b.mulf(sum, sums.shrink[2 * (number / ofRowTile) + number % 4 / 2]));
    return numbers;
  };
  return gathered(ValueRange(b.choose(sums.shrinks, TypeRange(ValueRange(flat)), rescale, [&] { return flat; })));
}
