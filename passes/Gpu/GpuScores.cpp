// Scores of a tile, their softmax, and the weighted sum of values: the tensor cores' part.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuKernel.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Accumulator> GpuKernel::productsOf(const QueryPlan &part, const TileRows &rows,
                                               const std::vector<Accumulator> &before, int64_t together) {
  if (part.fragments.empty())
    together = std::min(together, stepsTogether());
  return sumOfTileProducts(before, warpRowsOf(part), part.fragments, rows, together);
}

std::vector<Accumulator> GpuKernel::scores(Value copy, Value firstKey, Value crossed, ArrayRef<Value> bits) {
  Value zero = b.f32(0);
  std::vector<Accumulator> result(size_t(tile.keys / 8), {zero, zero, zero, zero});
  beginWithLines(copy, result);
  bool begun = !lines.empty();
  // Of f32, what is added to the finished sums is rounded once.
  bool addLater = shape.element.isF32(), beginSums = lateScale && !addLater;
  if (!everyTile.empty() && !lateScale) {
    for (size_t n = 0; n < result.size(); ++n)
      for (size_t k = 0; k < 4; ++k)
        result[n][k] = begun ? b.addf(result[n][k], everyTile[n][k]) : everyTile[n][k];
    begun = true;
  }
  // Terms of one scale are one sum.
  std::vector<double> scales;
  auto note = [&](double scale) {
    if (!llvm::is_contained(scales, scale))
      scales.push_back(scale);
  };
  for (const ContentPlan &part : content)
    note(part.scale);
  for (const BandPlan &part : bands)
    note(part.term->scale);
  for (auto [number, scale] : llvm::enumerate(scales)) {
    std::vector<Accumulator> sums(result.size(), {zero, zero, zero, zero});
    bool first = everyTile.empty() || !beginSums;
    if (!first)
      sums = everyTile;
    for (const BandPlan &part : bands) {
      if (part.term->scale != scale)
        continue;
      bring([&] { loadWindow(part, firstKey, copy); });
      std::vector<Accumulator> skewed = skewedBand(part, copy);
      for (size_t n = 0; n < sums.size(); ++n)
        for (size_t k = 0; k < 4; ++k)
          sums[n][k] = first ? skewed[n][k] : b.addf(sums[n][k], skewed[n][k]);
      first = false;
    }
    for (const ContentPlan &part : content)
      if (part.scale == scale) {
        bring([&] { loadRows(part.keys, part.source, firstKey, shape.attention.keys, copy); });
        sums = productsOf(queries[part.queries], {part.keys, copy, {}}, sums);
      }
    if (lateScale) {
      result = sums;
      for (size_t n = 0; addLater && n < everyTile.size(); ++n)
        for (size_t k = 0; k < 4; ++k)
          result[n][k] = b.addf(result[n][k], everyTile[n][k]);
      break; // there is but one
    }
    Value factor = b.f32(scale * kLog2E);
    for (auto [sum, score] : llvm::zip_equal(sums, result))
      for (size_t k = 0; k < 4; ++k)
        score[k] = number || begun ? b.fma(sum[k], factor, score[k]) : b.mulf(sum[k], factor);
  }
  for (const KeyBandPlan &part : keyBands) {
    bring([&] { loadKeyBand(part, firstKey, copy); });
    addKeyBand(part, copy, result);
  }
  addTerms(result, firstKey);
  if (crossed) {
    std::array<Value, 2> ofTile = logitsOfTile(firstKey);
    for (Accumulator &score : result)
      for (size_t k = 0; ofTile[0] && k < 4; ++k)
        score[k] = b.addf(score[k], ofTile[k / 2]);
  }
  hideMasked(result, firstKey, crossed, bits);
  return result;
}

RowState GpuKernel::softmax(std::vector<Accumulator> &scores, std::array<Value, 2> ofTile, const RowState &before) {
  RowState state = before;
  for (size_t row : {0u, 1u}) {
    Value maximum = ofTile[row] ? b.f32(-kInfinity) : before.maximum[row];
    for (const Accumulator &score : scores)
      for (size_t k : {0u, 1u})
        maximum = b.maxf(maximum, score[2 * row + k]);
    if (ofTile[row])
      maximum = b.maxf(before.maximum[row], b.addf(maximum, ofTile[row]));
    // A row is in four neighbouring lanes.
    maximum = b.maxf(maximum, b.shuffle(maximum, 1));
    maximum = b.maxf(maximum, b.shuffle(maximum, 2));
    state.maximum[row] = maximum;
    // No key seen so far: the difference of two infinities would be no number.
    Value reference = b.select(b.equalf(maximum, b.f32(-kInfinity)), b.f32(0), maximum);
    // exp2(scale × score - scale × maximum)
    auto powerLess = [&](Value reference) {
      Value factor = lateScale ? b.f32(*lateScale) : Value();
      Value least = lateScale ? b.mulf(reference, b.f32(-*lateScale)) : Value();
      return [=](Value score) { return b.exp2(lateScale ? b.fma(score, factor, least) : b.subf(score, reference)); };
    };
    Value shrink = powerLess(reference)(before.maximum[row]);
    auto power = powerLess(ofTile[row] ? b.subf(reference, ofTile[row]) : reference);
    Value sum = b.mulf(before.sum[row], shrink);
    for (Accumulator &score : scores)
      for (size_t k : {0u, 1u}) {
        Value weight = power(score[2 * row + k]);
        score[2 * row + k] = weight;
        sum = b.addf(sum, weight);
      }
    state.sum[row] = sum;
    if (addsOutside) { // one multiply-add with what the tile adds
      state.shrink[row] = shrink;
      continue;
    }
    for (Accumulator &output : state.output)
      for (size_t k : {0u, 1u})
        output[2 * row + k] = b.mulf(output[2 * row + k], shrink);
  }
  return state;
}
