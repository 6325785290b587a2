// Weights times values, and the result. A weight of 0 hides its key only where the value is a number: tiles on the edge
// of a mask look for values that are none.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/LoweringGpu/GpuKernel.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RowFragment GpuKernel::valueFragment(Value copy, int64_t keyPair, int64_t columnPair) {
  Value row = b.add(b.bitAnd(lane, 15), 16 * keyPair), half = b.add(b.shiftRight(lane, 4), 2 * columnPair);
  return b.loadMatrices(offsetIn(values, copy, row, half), true);
}

/// Two tiles of numbers are, rounded, the 16×16 operand of a product: layouts of results and operands agree.
static RowFragment rounded(GpuBuilder &b, const Accumulator &left, const Accumulator &right, Type element) {
  return {b.pack(left[0], left[1], element), b.pack(left[2], left[3], element), b.pack(right[0], right[1], element),
          b.pack(right[2], right[3], element)};
}

/// The exponent's bits of both elements of an i32, and one in the exponent's last place.
static std::pair<int64_t, int64_t> exponentBits(Type element) {
  return element.isF16() ? std::pair<int64_t, int64_t>{0x7c007c00, 0x04000400}
                         : std::pair<int64_t, int64_t>{0x7f807f80, 0x00800080};
}

Value GpuKernel::valuesAreNumbers(Value copy) {
  // Of NaN and infinities the exponent's bits are all set: adding one to them reaches the sign's place.
  auto [exponent, one] = exponentBits(shape.element);
  Value seen = b.i32(0);
  for (int64_t pair = 0; pair < tile.keys / 16; ++pair)
    for (int64_t columns = 0; columns < values.width / 16; ++columns)
      for (Value part : valueFragment(copy, pair, columns))
        seen = arith::OrIOp::create(b, seen, b.add(b.bitAnd(part, exponent), one));
  Value none = b.compare(arith::CmpIPredicate::eq, b.bitAnd(seen, int32_t(0x80008000)), b.i32(0));
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), b.i32(-1), none, NVVM::VoteSyncKind::all);
}

void GpuKernel::multiplyValues(const std::vector<Accumulator> &weights, Value copy, std::vector<Accumulator> &output) {
  for (int64_t pair = 0; pair < tile.keys / 16; ++pair) {
    RowFragment rows = rounded(b, weights[size_t(2 * pair)], weights[size_t(2 * pair + 1)], shape.element);
    for (int64_t columns = 0; columns < values.width / 16; ++columns) {
      RowFragment loaded = valueFragment(copy, pair, columns);
      Accumulator &first = output[size_t(2 * columns)], &second = output[size_t(2 * columns + 1)];
      first = b.multiply(rows, {loaded[0], loaded[1]}, first, shape.element);
      second = b.multiply(rows, {loaded[2], loaded[3]}, second, shape.element);
    }
  }
}

void GpuKernel::multiplyOddValues(const std::vector<Accumulator> &weights, Value copy,
                                  std::vector<Accumulator> &output) {
  // Numbers are multiplied as always, with 0 in place of the others. Where a key with a weight has +infinity (or NaN),
  // a product of ones and zeros is not 0, and +infinity is added; the same for -infinity. Both together are NaN again.
  Value zero = b.f32(0), one = b.f32(1);
  std::vector<RowFragment> rows, present;
  for (int64_t pair = 0; pair < tile.keys / 16; ++pair) {
    std::array<Accumulator, 2> seen;
    for (size_t side : {0u, 1u})
      for (size_t k = 0; k < 4; ++k) {
        Value weight = weights[size_t(2 * pair) + side][k];
        Value none = b.equalf(weight, zero); // false of NaN too: its row is NaN already
        seen[side][k] = b.select(none, zero, one);
      }
    rows.push_back(rounded(b, weights[size_t(2 * pair)], weights[size_t(2 * pair + 1)], shape.element));
    present.push_back(rounded(b, seen[0], seen[1], shape.element));
  }
  int64_t oneInHalf = shape.element.isF16() ? 0x3c00 : 0x3f80;
  int64_t infinity = shape.element.isF16() ? 0x7c00 : 0x7f80;
  for (int64_t columns = 0; columns < values.width / 16; ++columns) {
    std::array<Accumulator, 2> up{Accumulator{zero, zero, zero, zero}, {zero, zero, zero, zero}}, down = up;
    for (int64_t pair = 0; pair < tile.keys / 16; ++pair) {
      RowFragment loaded = valueFragment(copy, pair, columns), finite, positive, negative;
      for (size_t part = 0; part < 4; ++part) {
        Value numbers = b.i32(0), ups = b.i32(0), downs = b.i32(0);
        for (int64_t half : {0, 16}) {
          Value bits = b.bitAnd(b.shiftRight(loaded[part], half), 0xffff), size = b.bitAnd(bits, 0x7fff);
          Value odd = b.lessEqual(b.i32(infinity), size), nan = b.less(b.i32(infinity), size);
          Value minus = b.compare(arith::CmpIPredicate::ne, bits, size);
          auto put = [&](Value &to, Value condition, Value yes) {
            to = arith::OrIOp::create(b, to, b.shiftLeft(b.select(condition, yes, b.i32(0)), half));
          };
          Value isUp = b.both(odd, arith::OrIOp::create(b, nan, b.compare(arith::CmpIPredicate::eq, bits, size)));
          Value isDown = b.both(odd, arith::OrIOp::create(b, nan, minus));
          put(ups, isUp, b.i32(oneInHalf));
          put(downs, isDown, b.i32(oneInHalf));
          put(numbers, b.less(size, b.i32(infinity)), bits);
        }
        finite[part] = numbers;
        positive[part] = ups;
        negative[part] = downs;
      }
      for (size_t side : {0u, 1u}) {
        size_t place = size_t(2 * columns) + side, part = 2 * side;
        output[place] = b.multiply(rows[size_t(pair)], {finite[part], finite[part + 1]}, output[place], shape.element);
        up[side] = b.multiply(present[size_t(pair)], {positive[part], positive[part + 1]}, up[side], shape.element);
        down[side] = b.multiply(present[size_t(pair)], {negative[part], negative[part + 1]}, down[side], shape.element);
      }
    }
    for (size_t side : {0u, 1u})
      for (size_t k = 0; k < 4; ++k) {
        Value &number = output[size_t(2 * columns) + side][k];
        number = b.addf(number, b.select(b.equalf(up[side][k], zero), zero, b.f32(kInfinity)));
        number = b.addf(number, b.select(b.equalf(down[side][k], zero), zero, b.f32(-kInfinity)));
      }
  }
}

void GpuKernel::accumulate(const std::vector<Accumulator> &weights, Value copy, Value crossed, RowState &state) {
  if (!crossed)
    return multiplyValues(weights, copy, state.output);
  auto flat = [](const std::vector<Accumulator> &output) {
    SmallVector<Value> values;
    for (const Accumulator &part : output)
      values.append(part.begin(), part.end());
    return values;
  };
  Value yes = arith::ConstantIntOp::create(b, 1, 1);
  Value numbers = b.choose(
      crossed, b.getI1Type(), [&] { return SmallVector<Value>{valuesAreNumbers(copy)}; },
      [&] { return SmallVector<Value>{yes}; })[0];
  SmallVector<Type> types(state.output.size() * 4, b.getF32Type());
  auto with = [&](auto multiply) {
    std::vector<Accumulator> output = state.output;
    multiply(output);
    return flat(output);
  };
  SmallVector<Value> sums = b.choose(
      numbers, types,
      [&] { return with([&](std::vector<Accumulator> &output) { multiplyValues(weights, copy, output); }); },
      [&] { return with([&](std::vector<Accumulator> &output) { multiplyOddValues(weights, copy, output); }); });
  for (size_t n = 0; n < sums.size(); ++n)
    state.output[n / 4][n % 4] = sums[n];
}

void GpuKernel::writeLse(const RowState &state, size_t row, Value sum) {
  // ln Σ exp(score) = ln 2 × (maximum in base 2 + log2 of the sum); of a row without keys log2(0) and so -infinity.
  constexpr double kLn2 = 0.6931471805599453;
  Value maximum = state.maximum[row];
  if (lateScale)
    maximum = b.mulf(maximum, b.f32(*lateScale));
  Value lse = b.mulf(b.addf(maximum, b.log2(sum)), b.f32(kLn2));
  Value flat = b.i64(0);
  const std::vector<std::string> &names = shape.attention.space.leading;
  for (auto [name, extent] : llvm::zip_equal(names, shape.leading)) {
    Value size = extent.name.empty() ? b.i64(extent.fixed) : sizes[extent.name];
    flat = b.add(b.mul(flat, size), b.toI64(leading[name]));
  }
  Value place = b.add(b.mul(flat, shape.attention.queries), b.toI64(b.add(threadRow, int64_t(8 * row))));
  // Four lanes have the row; one of them writes.
  b.when(b.compare(arith::CmpIPredicate::eq, inGroup, b.i32(0)),
         [&] { b.store(lse, b.globalAt(outputs[*shape.lseOutput], place, b.getF32Type())); });
}

void GpuKernel::write(const RowState &state) {
  const Walk &walk = shape.attention.result;
  ElementType type = shape.plan.outputs[shape.resultOutput].type;
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
      if (shape.lseOutput)
        writeLse(state, row, sum);
      Value rowBase = b.add(b.mul(b.toI64(query), walk.query), base);
      for (auto [number, output] : llvm::enumerate(state.output))
        for (int64_t k : {0, 1}) {
          int64_t column = 8 * int64_t(number) + k; // and 2 × inGroup
          auto storeOne = [&, k = k, output = output] {
            Value number = b.select(none, zero, b.mulf(output[2 * row + size_t(k)], inverse));
            Value place = b.add(rowBase, b.toI64(b.add(b.shiftLeft(inGroup, 1), column)));
            b.store(b.narrow(number, element), b.globalAt(outputs[shape.resultOutput], place, element));
          };
          if (column - k + 8 <= width)
            storeOne();
          else if (column < width)
            b.when(b.less(b.add(b.shiftLeft(inGroup, 1), column), b.i32(width)), storeOne);
        }
    });
  }
}
