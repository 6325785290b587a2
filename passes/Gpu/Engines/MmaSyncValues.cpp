// Weights times values. A weight of 0 hides its key only where the value is a number: where a mask may hide keys and a
// sum is no number, it is made again with care.
#include "passes/Gpu/Engines/MmaSync.h"
#include "passes/Gpu/Pipeline.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::array<ColumnFragment, 2> MmaSync::valueFragments(const TileRows &rows, int64_t step, int64_t columnPair) {
  auto from = [&](Value row) { return rows.first ? b.add(row, rows.first) : row; };
  if (!element.isF32()) {
    Value row = from(b.add(b.bitAnd(at.lane, 15), 16 * step)), half = b.add(b.shiftRight(at.lane, 4), 2 * columnPair);
    RowFragment loaded = loadMatrices(b, chunkAt(rows, row, half), true);
    return {ColumnFragment{loaded[0], loaded[1]}, {loaded[2], loaded[3]}};
  }
  // A lane holds the weights of keys 2t and 2t + 1, so these two are the rows t and t + 4 of the product. Rows stand 4
  // banks (of a multiple of 8) apart: four pairs of keys and eight columns are 32 banks.
  std::array<ColumnFragment, 2> fragments;
  for (int64_t side : {0, 1})
    for (int64_t k : {0, 1}) {
      Value key = from(b.add(b.shiftLeft(at.inGroup, 1), 8 * step + k));
      Value offset =
          b.add(offsetIn(b, rows.tile, rows.copy, key, b.i32(4 * columnPair + 2 * side)), b.shiftLeft(at.group, 2));
      fragments[size_t(side)][size_t(k)] = load(b, shared.at(offset), b.getI32Type());
    }
  return fragments;
}

std::vector<RowFragment> MmaSync::rounded(const Tiles &weights) {
  // Layouts of results and operands agree where two tiles are rounded, and where the keys of a tile of f32 change
  // places.
  std::vector<RowFragment> fragments;
  if (element.isF32())
    for (const Accumulator &tile : weights)
      fragments.push_back({bitsOf(b, tile[0]), bitsOf(b, tile[2]), bitsOf(b, tile[1]), bitsOf(b, tile[3])});
  else
    for (size_t n = 0; n < weights.size(); n += 2) {
      const Accumulator &left = weights[n], &right = weights[n + 1];
      fragments.push_back({pack(b, left[0], left[1], element), pack(b, left[2], left[3], element),
                           pack(b, right[0], right[1], element), pack(b, right[2], right[3], element)});
    }
  return fragments;
}

std::vector<MmaSync::Operands> MmaSync::operandsOf(ArrayRef<RowFragment> weights, size_t rowTiles) {
  std::vector<Operands> steps(weights.size() / rowTiles);
  for (auto [number, fragment] : llvm::enumerate(weights)) // one tile of rows after another
    steps[number % steps.size()].push_back(operandOf(fragment));
  return steps;
}

Tiles skewer::gpu::scaled(GpuBuilder &b, Tiles weights, double scale, float noWeight) {
  // -0 says that a key is hidden, and +0 that its weight is 0: a negative scale would make each the other.
  bool turnsZeros = std::signbit(noWeight) && scale < 0;
  if (scale != 1)
    for (Accumulator &tile : weights)
      for (Value &weight : tile) {
        Value product = b.mulf(weight, b.f32(scale));
        if (turnsZeros) {
          Value isHidden = b.equal(bitsOf(b, weight), b.i32(INT32_MIN));
          product = b.select(isHidden, weight, b.addf(product, b.f32(0)));
        }
        weight = product;
      }
  return weights;
}

void MmaSync::multiplyValues(ArrayRef<Operands> weights, const TileRows &rows, int64_t columnPair, Tiles &sums) {
  for (auto [step, operands] : llvm::enumerate(weights)) {
    auto loaded = valueFragments(rows, int64_t(step), columnPair);
    for (size_t side : {0u, 1u})
      for (size_t rowTile = 0; rowTile < operands.size(); ++rowTile) {
        Accumulator &sum = sums[2 * rowTile + side];
        sum = addProduct(operands[rowTile], loaded[side], sum);
      }
  }
}

namespace {

/// Bits of single elements, in registers of one (f32) or two.
class ElementBits {
public:
  ElementBits(GpuBuilder &b, Type element)
      : b(b), wide(element.isF32()), one(wide              ? 0x3f800000
                                         : element.isF16() ? 0x3c00
                                                           : 0x3f80),
        infinity(wide              ? 0x7f800000
                 : element.isF16() ? 0x7c00
                                   : 0x7f80) {}

  /// 1 where a weight is not 0, of the bits that are multiplied: of f32 rounded to tf32.
  Value present(Value part) {
    int64_t counted = wide ? 0x7fffe000 : 0x7fff;
    return map(part, [&](Value, Value size) { return oneWhere(b.notEqual(b.bitAnd(size, counted), b.i32(0))); });
  }
  /// 1 where a weight that is not hidden has this sign; +0, times which an infinity is no number, has both.
  Value ofSign(Value part, bool minus) {
    int64_t counted = wide ? 0x7fffe000 : 0x7fff, sign = wide ? int64_t(INT32_MIN) : 0x8000;
    return map(part, [&](Value bits, Value size) {
      Value positive = b.equal(b.bitAnd(bits, sign), b.i32(0));
      if (!minus)
        return oneWhere(positive);
      Value zero = b.equal(b.bitAnd(size, counted), b.i32(0));
      return oneWhere(b.equal(positive, zero));
    });
  }
  /// The numbers, 0 in place of what is none.
  Value finite(Value part) {
    return map(part, [&](Value bits, Value size) { return b.select(b.less(size, b.i32(infinity)), bits, b.i32(0)); });
  }
  /// 1 where an infinity of this sign stands, or NaN.
  Value odd(Value part, bool minus) {
    return map(part, [&](Value bits, Value size) {
      Value nan = b.less(b.i32(infinity), size);
      int64_t sign = minus ? (wide ? int64_t(INT32_MIN) : 0x8000) : 0;
      Value same = b.equal(bits, b.i32(infinity | sign));
      return oneWhere(arith::OrIOp::create(b, nan, same));
    });
  }

private:
  /// Each element of a register by itself, as bits and as bits without the sign.
  Value map(Value part, llvm::function_ref<Value(Value bits, Value size)> change) {
    if (wide)
      return change(part, b.bitAnd(part, 0x7fffffff));
    Value result = b.i32(0);
    for (int64_t half : {0, 16}) {
      Value bits = b.bitAnd(b.shiftRight(part, half), 0xffff);
      result = arith::OrIOp::create(b, result, b.shiftLeft(change(bits, b.bitAnd(bits, 0x7fff)), half));
    }
    return result;
  }
  Value oneWhere(Value condition) { return b.select(condition, b.i32(one), b.i32(0)); }

  GpuBuilder &b;
  bool wide;
  int64_t one, infinity;
};

} // namespace

void MmaSync::multiplyOddValues(ArrayRef<Operands> weights, const TileRows &rows, int64_t columnPair, Tiles &sums) {
  // Numbers are multiplied as always, with 0 in place of the others. Where a key with a weight has +infinity (or NaN),
  // a product of ones and zeros is not 0, and +infinity is added; the same for -infinity. Both together are NaN again.
  Value zero = b.f32(0);
  ElementBits is(b, element);
  Tiles up(sums.size(), {zero, zero, zero, zero}), down = up;
  for (auto [step, operands] : llvm::enumerate(weights)) {
    auto loaded = valueFragments(rows, int64_t(step), columnPair);
    std::vector<RowFragment> present(operands.size()), negated(signedWeights ? operands.size() : 0);
    for (auto [rowTile, operand] : llvm::enumerate(operands))
      for (size_t part = 0; part < 4; ++part) {
        Value weight = operand.whole[part];
        present[rowTile][part] = signedWeights ? is.ofSign(weight, false) : is.present(weight);
        if (signedWeights)
          negated[rowTile][part] = is.ofSign(weight, true);
      }
    for (size_t side : {0u, 1u}) {
      ColumnFragment finite, positive, negative;
      for (size_t part = 0; part < 2; ++part) {
        finite[part] = is.finite(loaded[side][part]);
        positive[part] = is.odd(loaded[side][part], false);
        negative[part] = is.odd(loaded[side][part], true);
      }
      for (size_t rowTile = 0; rowTile < operands.size(); ++rowTile) {
        size_t n = 2 * rowTile + side;
        sums[n] = addProduct(operands[rowTile], finite, sums[n]);
        up[n] = multiply(b, present[rowTile], positive, up[n], element);
        down[n] = multiply(b, present[rowTile], negative, down[n], element);
        if (signedWeights) {
          up[n] = multiply(b, negated[rowTile], negative, up[n], element);
          down[n] = multiply(b, negated[rowTile], positive, down[n], element);
        }
      }
    }
  }
  for (size_t n = 0; n < sums.size(); ++n)
    for (size_t k = 0; k < 4; ++k) {
      Value &number = sums[n][k];
      number = b.addf(number, b.select(b.equalf(up[n][k], zero), zero, b.f32(kInfinity)));
      number = b.addf(number, b.select(b.equalf(down[n][k], zero), zero, b.f32(-kInfinity)));
    }
}

Accumulator MmaSync::addedTo(const Accumulator &output, const Accumulator &sum, ArrayRef<Value> shrink) {
  Accumulator result;
  for (size_t k = 0; k < 4; ++k)
    result[k] = shrink.empty() ? b.addf(output[k], sum[k]) : b.fma(output[k], shrink[k / 2], sum[k]);
  return result;
}

void MmaSync::issueRounded(ArrayRef<RowFragment> weights, const TileRows &rows, bool checked, WeightedSums &output) {
  auto columnTiles = size_t(rows.tile.width / 8), rowTiles = output.tiles.size() / columnTiles;
  std::vector<Operands> operands = operandsOf(weights, rowTiles);
  // 16 columns by themselves: what a rare case needs in registers is not held for all of them.
  for (size_t pair = 0; pair < columnTiles / 2; ++pair) {
    auto tileOf = [&](size_t n) -> Accumulator & { return output.tiles[n / 2 * columnTiles + 2 * pair + n % 2]; };
    Tiles before(2 * rowTiles);
    for (size_t n = 0; n < before.size(); ++n)
      before[n] = tileOf(n);
    if (outside)
      before = zeros(before.size());
    Tiles sums = before;
    multiplyValues(operands, rows, int64_t(pair), sums);
    if (checked) {
      // A NaN or an infinity of the values makes its sum NaN, even where its weight is 0. The two parts of an infinite
      // f32 are NaN too.
      SmallVector<Value> flat = flattened(sums);
      sums = gathered(b.choose(
          someAreNan(sums), TypeRange(ValueRange(flat)),
          [&] {
            Tiles again = before;
            multiplyOddValues(operands, rows, int64_t(pair), again);
            return flattened(again);
          },
          [&] { return flat; }));
    }
    for (size_t n = 0; n < sums.size(); ++n) {
      ArrayRef<Value> shrink = output.shrink;
      tileOf(n) = outside ? addedTo(tileOf(n), sums[n], shrink.empty() ? shrink : shrink.slice(n / 2 * 2, 2)) : sums[n];
    }
  }
  output.shrink.clear();
}
