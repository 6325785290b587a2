// Scores of a tile, their softmax, and the weighted sum of values: the tensor cores' part.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/LoweringGpu/GpuKernel.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

constexpr double kLog2E = 1.4426950408889634;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

RowFragment GpuKernel::queryFragment(const ContentPlan &part, int64_t step) {
  if (!part.fragments.empty())
    return part.fragments[size_t(step)];
  // Lanes 0 … 15 name the rows of the left half of 16×16 elements, lanes 16 … 31 those of the right half.
  Value row = b.add(b.shiftLeft(warp, 4), b.bitAnd(lane, 15));
  Value chunk = b.add(b.shiftRight(lane, 4), 2 * step);
  return b.loadMatrices(offsetIn(part.queries, {}, row, chunk), false);
}

void GpuKernel::multiplyTile(const ContentPlan &part, Value copy, std::vector<Accumulator> &sums) {
  // Two tiles of 8 keys at a time: lanes 0 … 7 and 8 … 15 name the halves of the first one's depth.
  Value row = b.add(b.bitAnd(lane, 7), b.shiftLeft(b.shiftRight(lane, 4), 3));
  Value half = b.bitAnd(b.shiftRight(lane, 3), 1);
  for (int64_t step = 0; step < part.keys.width / 16; ++step) {
    RowFragment queries = queryFragment(part, step);
    for (int64_t pair = 0; pair < tile.keys / 16; ++pair) {
      RowFragment keys = b.loadMatrices(offsetIn(part.keys, copy, b.add(row, 16 * pair), b.add(half, 2 * step)), false);
      Accumulator &left = sums[size_t(2 * pair)], &right = sums[size_t(2 * pair + 1)];
      left = b.multiply(queries, {keys[0], keys[1]}, left, shape.element);
      right = b.multiply(queries, {keys[2], keys[3]}, right, shape.element);
    }
  }
}

std::vector<Accumulator> GpuKernel::scores(Value copy, Value firstKey) {
  Value zero = b.f32(0);
  std::vector<Accumulator> result(size_t(tile.keys / 8), {zero, zero, zero, zero});
  // Terms of one scale are one sum.
  std::vector<double> scales;
  for (const ContentPlan &part : content)
    if (!llvm::is_contained(scales, part.scale))
      scales.push_back(part.scale);
  for (auto [number, scale] : llvm::enumerate(scales)) {
    std::vector<Accumulator> sums(result.size(), {zero, zero, zero, zero});
    for (const ContentPlan &part : content)
      if (part.scale == scale)
        multiplyTile(part, copy, sums);
    Value factor = b.f32(scale * kLog2E);
    for (auto [sum, score] : llvm::zip_equal(sums, result))
      for (size_t k = 0; k < 4; ++k)
        score[k] = number ? b.fma(sum[k], factor, score[k]) : b.mulf(sum[k], factor);
  }
  addElementTerms(result, firstKey);
  hideMasked(result, firstKey);
  return result;
}

RowState GpuKernel::softmax(std::vector<Accumulator> &scores, const RowState &before) {
  RowState state = before;
  for (size_t row : {0u, 1u}) {
    Value maximum = before.maximum[row];
    for (const Accumulator &score : scores)
      for (size_t k : {0u, 1u})
        maximum = b.maxf(maximum, score[2 * row + k]);
    // A row is in four neighbouring lanes.
    maximum = b.maxf(maximum, b.shuffle(maximum, 1));
    maximum = b.maxf(maximum, b.shuffle(maximum, 2));
    state.maximum[row] = maximum;
    // No key seen so far: the difference of two infinities would be no number.
    Value reference = b.select(b.equalf(maximum, b.f32(-kInfinity)), b.f32(0), maximum);
    Value shrink = b.exp2(b.subf(before.maximum[row], reference));
    Value sum = b.mulf(before.sum[row], shrink);
    for (Accumulator &score : scores)
      for (size_t k : {0u, 1u}) {
        Value weight = b.exp2(b.subf(score[2 * row + k], reference));
        score[2 * row + k] = weight;
        sum = b.addf(sum, weight);
      }
    state.sum[row] = sum;
    for (Accumulator &output : state.output)
      for (size_t k : {0u, 1u})
        output[2 * row + k] = b.mulf(output[2 * row + k], shrink);
  }
  return state;
}

void GpuKernel::accumulate(const std::vector<Accumulator> &weights, Value copy, RowState &state) {
  Value row = b.bitAnd(lane, 15), half = b.shiftRight(lane, 4);
  for (int64_t pair = 0; pair < tile.keys / 16; ++pair) {
    // Two tiles of scores are, rounded, the 16×16 operand of the next product: layouts of results and operands agree.
    const Accumulator &left = weights[size_t(2 * pair)], &right = weights[size_t(2 * pair + 1)];
    RowFragment rows{b.pack(left[0], left[1], shape.element), b.pack(left[2], left[3], shape.element),
                     b.pack(right[0], right[1], shape.element), b.pack(right[2], right[3], shape.element)};
    for (int64_t columns = 0; columns < values.width / 16; ++columns) {
      RowFragment loaded =
          b.loadMatrices(offsetIn(values, copy, b.add(row, 16 * pair), b.add(half, 2 * columns)), true);
      Accumulator &first = state.output[size_t(2 * columns)], &second = state.output[size_t(2 * columns + 1)];
      first = b.multiply(rows, {loaded[0], loaded[1]}, first, shape.element);
      second = b.multiply(rows, {loaded[2], loaded[3]}, second, shape.element);
    }
  }
}

void GpuKernel::write(const RowState &state) {
  const Walk &walk = shape.attention.result;
  ElementType type = shape.plan.outputs.front().type;
  Type element = type == ElementType::F16    ? Type(b.getF16Type())
                 : type == ElementType::BF16 ? Type(b.getBF16Type())
                                             : Type(b.getF32Type());
  Value base = baseOf(walk.base), zero = b.f32(0);
  int64_t width = shape.attention.width;
  for (size_t row : {0u, 1u}) {
    Value sum = state.sum[row];
    sum = b.addf(sum, b.shuffle(sum, 1));
    sum = b.addf(sum, b.shuffle(sum, 2));
    // A row without visible keys is 0, whatever the values held.
    Value none = b.equalf(sum, zero);
    Value inverse = LLVM::FDivOp::create(b, b.f32(1), sum);
    Value query = b.add(threadRow, int64_t(8 * row));
    b.when(b.less(query, b.i32(shape.attention.queries)), [&] {
      Value rowBase = b.add(b.mul(b.toI64(query), walk.query), base);
      for (auto [number, output] : llvm::enumerate(state.output))
        for (int64_t k : {0, 1}) {
          int64_t column = 8 * int64_t(number) + k; // and 2 × inGroup
          auto storeOne = [&, k = k, output = output] {
            Value number = b.select(none, zero, b.mulf(output[2 * row + size_t(k)], inverse));
            Value place = b.add(rowBase, b.toI64(b.add(b.shiftLeft(inGroup, 1), column)));
            b.store(b.narrow(number, element), b.globalAt(this->output, place, element));
          };
          if (column - k + 8 <= width)
            storeOne();
          else if (column < width)
            b.when(b.less(b.add(b.shiftLeft(inGroup, 1), column), b.i32(width)), storeOne);
        }
    });
  }
}
