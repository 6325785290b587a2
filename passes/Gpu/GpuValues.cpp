// Weights times values, and the result. A weight of 0 hides its key only where the value is a number: where a mask may
// hide keys and a sum is no number, it is made again with care.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuKernel.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::array<ColumnFragment, 2> GpuKernel::valueFragments(const TileRows &rows, int64_t step, int64_t columnPair) {
  auto from = [&](Value row) { return rows.first ? b.add(row, rows.first) : row; };
  if (!shape.element.isF32()) {
    Value row = from(b.add(b.bitAnd(lane, 15), 16 * step)), half = b.add(b.shiftRight(lane, 4), 2 * columnPair);
    RowFragment loaded = b.loadMatrices(offsetIn(rows.tile, rows.copy, row, half), true);
    return {ColumnFragment{loaded[0], loaded[1]}, {loaded[2], loaded[3]}};
  }
  // A lane holds the weights of keys 2t and 2t + 1, so these two are the rows t and t + 4 of the product. Rows stand 4
  // banks (of a multiple of 8) apart: four pairs of keys and eight columns are 32 banks.
  std::array<ColumnFragment, 2> fragments;
  for (int64_t side : {0, 1})
    for (int64_t k : {0, 1}) {
      Value key = from(b.add(b.shiftLeft(inGroup, 1), 8 * step + k));
      Value offset =
          b.add(offsetIn(rows.tile, rows.copy, key, b.i32(4 * columnPair + 2 * side)), b.shiftLeft(group, 2));
      fragments[size_t(side)][size_t(k)] = b.load(b.sharedAt(offset), b.getI32Type());
    }
  return fragments;
}

/// Tiles of numbers as operands of a product: layouts of results and operands agree where two tiles are rounded, and
/// where the keys of a tile of f32 change places.
static std::vector<RowFragment> fragmentsOf(GpuBuilder &b, ArrayRef<Accumulator> weights, Type element) {
  std::vector<RowFragment> fragments;
  if (element.isF32())
    for (const Accumulator &tile : weights)
      fragments.push_back({b.bitsOf(tile[0]), b.bitsOf(tile[2]), b.bitsOf(tile[1]), b.bitsOf(tile[3])});
  else
    for (size_t n = 0; n < weights.size(); n += 2) {
      const Accumulator &left = weights[n], &right = weights[n + 1];
      fragments.push_back({b.pack(left[0], left[1], element), b.pack(left[2], left[3], element),
                           b.pack(right[0], right[1], element), b.pack(right[2], right[3], element)});
    }
  return fragments;
}

void GpuKernel::multiplyValues(const std::vector<RowOperand> &weights, const TileRows &rows, int64_t columns,
                               std::array<Accumulator, 2> &output) {
  for (int64_t step = 0; step < int64_t(weights.size()); ++step) {
    auto loaded = valueFragments(rows, step, columns);
    for (size_t side : {0u, 1u})
      output[side] = addProduct(weights[size_t(step)], loaded[side], output[side]);
  }
}

void GpuKernel::multiplyOddValues(const std::vector<RowOperand> &weights, const TileRows &rows, int64_t columns,
                                  std::array<Accumulator, 2> &output) {
  // Numbers are multiplied as always, with 0 in place of the others. Where a key with a weight has +infinity (or NaN),
  // a product of ones and zeros is not 0, and +infinity is added; the same for -infinity. Both together are NaN again.
  Value zero = b.f32(0);
  bool wide = shape.element.isF32();
  int64_t oneBits = wide ? 0x3f800000 : shape.element.isF16() ? 0x3c00 : 0x3f80;
  int64_t infinity = wide ? 0x7f800000 : shape.element.isF16() ? 0x7c00 : 0x7f80;
  int64_t counted = wide ? 0x7fffe000 : 0x7fff; // bits of a weight that are multiplied, of f32 rounded to tf32
  /// Each element of a register by itself, as bits and as bits without the sign.
  auto elements = [&](Value part, llvm::function_ref<Value(Value bits, Value size)> map) {
    if (wide)
      return map(part, b.bitAnd(part, 0x7fffffff));
    Value result = b.i32(0);
    for (int64_t half : {0, 16}) {
      Value bits = b.bitAnd(b.shiftRight(part, half), 0xffff);
      result = arith::OrIOp::create(b, result, b.shiftLeft(map(bits, b.bitAnd(bits, 0x7fff)), half));
    }
    return result;
  };
  auto oneWhere = [&](Value condition) { return b.select(condition, b.i32(oneBits), b.i32(0)); };
  std::array<Accumulator, 2> up{Accumulator{zero, zero, zero, zero}, {zero, zero, zero, zero}}, down = up;
  for (int64_t step = 0; step < int64_t(weights.size()); ++step) {
    auto loaded = valueFragments(rows, step, columns);
    RowFragment present;
    for (size_t part = 0; part < 4; ++part)
      present[part] = elements(weights[size_t(step)].whole[part], [&](Value, Value size) {
        return oneWhere(b.notEqual(b.bitAnd(size, counted), b.i32(0)));
      });
    for (size_t side : {0u, 1u}) {
      ColumnFragment finite, positive, negative;
      for (size_t part = 0; part < 2; ++part) {
        finite[part] = elements(loaded[side][part], [&](Value bits, Value size) {
          return b.select(b.less(size, b.i32(infinity)), bits, b.i32(0));
        });
        auto odd = [&](bool minus) {
          return elements(loaded[side][part], [&, minus](Value bits, Value size) {
            Value nan = b.less(b.i32(infinity), size);
            int64_t sign = minus ? (wide ? int64_t(INT32_MIN) : 0x8000) : 0;
            Value same = b.compare(arith::CmpIPredicate::eq, bits, b.i32(infinity | sign));
            return oneWhere(arith::OrIOp::create(b, nan, same));
          });
        };
        positive[part] = odd(false);
        negative[part] = odd(true);
      }
      output[side] = addProduct(weights[size_t(step)], finite, output[side]);
      up[side] = b.multiply(present, positive, up[side], shape.element);
      down[side] = b.multiply(present, negative, down[side], shape.element);
    }
  }
  for (size_t side : {0u, 1u})
    for (size_t k = 0; k < 4; ++k) {
      Value &number = output[side][k];
      number = b.addf(number, b.select(b.equalf(up[side][k], zero), zero, b.f32(kInfinity)));
      number = b.addf(number, b.select(b.equalf(down[side][k], zero), zero, b.f32(-kInfinity)));
    }
}

void GpuKernel::multiplyRows(const std::vector<Accumulator> &weights, const TileRows &rows, bool checked,
                             RowState &state) {
  std::vector<RowOperand> operands;
  for (const RowFragment &fragment : fragmentsOf(b, weights, shape.element))
    operands.push_back(operandOf(fragment));
  // 16 columns by themselves: what a rare case needs in registers is not held for all of them.
  for (int64_t columns = 0; columns < rows.tile.width / 16; ++columns) {
    Accumulator &left = state.output[size_t(2 * columns)], &right = state.output[size_t(2 * columns + 1)];
    std::array<Accumulator, 2> before{left, right};
    if (addsOutside)
      llvm::copy(zeros(2), before.begin());
    std::array<Accumulator, 2> sums = before;
    multiplyValues(operands, rows, columns, sums);
    if (checked) {
      // What is no number shows in the sums, also where its weight is 0; and the parts of an infinite f32 are NaN.
      SmallVector<Value> flat(sums[0].begin(), sums[0].end());
      flat.append(sums[1].begin(), sums[1].end());
      SmallVector<Value> chosen = b.choose(
          someAreNan(sums), SmallVector<Type>(8, b.getF32Type()),
          [&] {
            std::array<Accumulator, 2> again = before;
            multiplyOddValues(operands, rows, columns, again);
            SmallVector<Value> repaired(again[0].begin(), again[0].end());
            repaired.append(again[1].begin(), again[1].end());
            return repaired;
          },
          [&] { return flat; });
      for (size_t n = 0; n < 8; ++n)
        sums[n / 4][n % 4] = chosen[n];
    }
    left = addsOutside ? addedTo(left, sums[0], state.shrink) : sums[0];
    right = addsOutside ? addedTo(right, sums[1], state.shrink) : sums[1];
  }
  state.shrink = {};
}

Accumulator GpuKernel::addedTo(const Accumulator &output, const Accumulator &sum, const std::array<Value, 2> &shrink) {
  Accumulator result;
  for (size_t k = 0; k < 4; ++k)
    result[k] = shrink[k / 2] ? b.fma(output[k], shrink[k / 2], sum[k]) : b.addf(output[k], sum[k]);
  return result;
}

void GpuKernel::accumulate(const std::vector<Accumulator> &weights, Value copy, Value firstKey, Value crossed,
                           RowState &state) {
  bool checked = crossed || shape.element.isF32();
  auto bringRows = [&](const SharedTile &to, const RowSource &from) {
    bring([&] { loadRows(to, from, firstKey, shape.attention.keys, copy); });
  };
  bringRows(values, valueSource);
  multiplyRows(weights, {values, copy, {}}, checked, state);
  for (const ValueRowsPlan &part : valueRows) {
    bringRows(part.tile, part.source);
    multiplyRows(scaled(weights, part.term->scale), {part.tile, copy, {}}, checked, state);
  }
  for (const BandPlan &part : valueBands)
    addValueBand(part, weights, copy, firstKey, state);
  addValueElements(weights, firstKey, state);
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
  // Four lanes have the row, and maybe several blocks; one of them writes.
  Value writes = b.compare(arith::CmpIPredicate::eq, inGroup, b.i32(0));
  if (firstColumn)
    writes = b.both(writes, b.compare(arith::CmpIPredicate::eq, firstColumn, b.i32(0)));
  b.when(writes, [&] { b.store(lse, b.globalAt(outputs[*shape.lseOutput], place, b.getF32Type())); });
}

void GpuKernel::write(const RowState &state) {
  const Walk &walk = shape.attention.result;
  ElementType type = shape.plan.outputs[shape.resultOutput].type;
  Type element = type == ElementType::F16    ? Type(b.getF16Type())
                 : type == ElementType::BF16 ? Type(b.getBF16Type())
                                             : Type(b.getF32Type());
  Value base = baseOf(walk.base), zero = b.f32(0);
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
      if (firstColumn)
        rowBase = b.add(rowBase, b.toI64(firstColumn));
      for (auto [number, output] : llvm::enumerate(state.output))
        for (int64_t k : {0, 1}) {
          int64_t first = 8 * int64_t(number);
          if (first + k >= columns)
            continue;
          Value column = b.add(b.shiftLeft(inGroup, 1), first + k), here;
          if (first + 8 > columns)
            here = b.less(column, b.i32(columns));
          if (firstOwn)
            here = here ? b.both(here, b.lessEqual(firstOwn, column)) : b.lessEqual(firstOwn, column);
          auto storeOne = [&, k = k, output = output] {
            Value number = b.select(none, zero, b.mulf(output[2 * row + size_t(k)], inverse));
            Value place = b.add(rowBase, b.toI64(column));
            b.store(b.narrow(number, element), b.globalAt(outputs[shape.resultOutput], place, element));
          };
          if (here)
            b.when(here, storeOne);
          else
            storeOne();
        }
    });
  }
}
