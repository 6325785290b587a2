// What keys add to the result besides their values: rows of the key, rows by key - query (weights are skewed in
// registers, the other way round than a band of scores, and multiplied with the rows that the tile reaches), and any
// other row, added for each query and key.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuKernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

void GpuKernel::planValueTerms() {
  for (auto [term, rows] : llvm::zip_equal(shape.valueRows, layout.valueRows))
    valueRows.push_back({&term, rows, columnSource(term.table)});
  for (auto [term, window] : llvm::zip_equal(shape.valueBands, layout.valueBands))
    valueBands.push_back({&term, 0, window, columnSource(term.table)});
}

Value GpuKernel::hasRows(const BandTerm &term, Value firstKey) {
  const AttentionShape &attention = shape.attention;
  if (!term.reach || (term.reach->low <= 1 - attention.queries && term.reach->high >= attention.keys - 1))
    return {};
  Value first = b.sub(firstKey, b.add(blockRow, tile.rows - 1)), last = b.sub(b.add(firstKey, tile.keys - 1), blockRow);
  return b.both(b.lessEqual(first, b.i32(std::min(term.reach->high, attention.keys))),
                b.lessEqual(b.i32(std::max(term.reach->low, -attention.queries)), last));
}

void GpuKernel::loadValueTerms(Value firstKey, Value copy) {
  for (const ValueRowsPlan &part : valueRows)
    loadRows(part.tile, part.source, firstKey, shape.attention.keys, copy);
  for (const BandPlan &part : valueBands) {
    if (Value some = hasRows(*part.term, firstKey))
      b.when(some, [&] { loadWindow(part, firstKey, copy); });
    else
      loadWindow(part, firstKey, copy);
  }
}

std::vector<Accumulator> GpuKernel::scaled(std::vector<Accumulator> weights, double scale) {
  if (scale != 1)
    for (Accumulator &tile : weights)
      for (Value &weight : tile)
        weight = b.mulf(weight, b.f32(scale));
  return weights;
}

std::vector<Accumulator> GpuKernel::skewedWeights(const std::vector<Accumulator> &weights) {
  // As in skewedBand, key n of query g stands in column n + 15 - g of the band, of query g + 8 in column n + 7 - g:
  // with s = 7 - g both are moved by s columns, and g by one tile of 8 more.
  Value shift = b.sub(b.i32(7), group);
  Value odd = b.compare(arith::CmpIPredicate::eq, b.bitAnd(shift, 1), b.i32(1));
  std::array<Value, 2> beyond, source;
  for (int64_t k : {0, 1}) {
    Value first = b.shiftLeft(inGroup, 1);
    Value held = b.select(odd, b.add(first, 1 - k), b.add(first, k)); // what this lane gives away as number k
    beyond[size_t(k)] = b.less(b.i32(7), b.add(held, shift));         // it goes to the tile behind
    Value wanted = b.bitAnd(b.sub(b.add(first, k), shift), 7);        // what it takes
    source[size_t(k)] = b.add(b.shiftLeft(group, 2), b.shiftRight(wanted, 1));
  }
  Value zero = b.f32(0);
  int64_t tiles = int64_t(weights.size());
  std::vector<Accumulator> result(size_t(tiles + 2), {zero, zero, zero, zero});
  for (int64_t column = 0; column < tiles + 2; ++column)
    for (size_t row : {0u, 1u}) {
      int64_t place = column - (row == 0 ? 1 : 0);
      if (place < 0 || place > tiles)
        continue; // nothing is moved there
      auto from = [&](int64_t tile, size_t k) {
        if (tile < 0 || tile >= tiles)
          return zero;
        const Accumulator &held = weights[size_t(tile)];
        return b.select(odd, held[2 * row + 1 - k], held[2 * row + k]);
      };
      for (size_t k : {0u, 1u})
        result[size_t(column)][2 * row + k] =
            b.shuffleFrom(b.select(beyond[k], from(place - 1, k), from(place, k)), source[k]);
    }
  return result;
}

void GpuKernel::addValueBand(const BandPlan &part, const std::vector<Accumulator> &weights, Value copy, Value firstKey,
                             RowState &state) {
  Value firstRow = b.sub(b.i32(tile.rows - 16), b.shiftLeft(warp, 4));
  auto add = [&](RowState &to) {
    bring([&] { loadWindow(part, firstKey, copy); });
    // Rows of the window that a query does not meet have weights of 0, so these are always looked after.
    multiplyRows(skewedWeights(scaled(weights, part.term->scale)), {part.window, copy, firstRow}, /*checked=*/true, to);
  };
  Value some = hasRows(*part.term, firstKey);
  if (!some)
    return add(state);
  SmallVector<Value> flat = flattened(state.output);
  SmallVector<Value> sums = b.choose(
      some, TypeRange(ValueRange(flat)),
      [&] {
        RowState inside = state;
        add(inside);
        return flattened(inside.output);
      },
      [&] { return flat; });
  state.output = gathered(sums);
}

void GpuKernel::addValueElements(const std::vector<Accumulator> &weights, Value firstKey, RowState &state) {
  if (shape.valueElements.empty())
    return;
  // A lane has some columns of all rows, but only some keys' weights: these go through shared memory, each warp's in
  // its own place. The next ones are written behind the barrier that a step begins with.
  std::array<Value, 2> rows;
  for (int64_t row : {0, 1})
    rows[size_t(row)] = b.mul(b.add(b.add(b.shiftLeft(warp, 4), group), 8 * row), layout.weights.stride);
  auto placeOf = [&](size_t row, Value key) {
    return b.sharedAt(b.add(b.shiftLeft(b.add(rows[row], key), 2), layout.weights.offset));
  };
  for (size_t column = 0; column < weights.size(); ++column)
    for (size_t k = 0; k < 4; ++k)
      b.store(weights[column][k], placeOf(k / 2, b.add(b.shiftLeft(inGroup, 1), int64_t(8 * column + k % 2))));
  b.warpBarrier();
  SmallVector<Value> sums =
      b.loop(b.i32(0), b.i32(tile.keys), 1, flattened(state.output), [&](Value number, ValueRange before) {
        SmallVector<Value> next(before.begin(), before.end());
        for (size_t row : {0u, 1u}) {
          Value weight = b.load(placeOf(row, number), b.getF32Type());
          std::map<std::string, Value> at = axesAt(unsigned(row), b.add(firstKey, number));
          // Only what is seen may be read: elsewhere tables need not have a row.
          Value seen = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, weight, b.f32(0));
          seen = b.both(seen, b.less(b.add(threadRow, int64_t(8 * row)), b.i32(shape.attention.queries)));
          for (const ValueElement &element : shape.valueElements) {
            const ElementTerm &term = element.first;
            Value there = term.guard ? b.both(seen, emitPredicate(*term.guard, at)) : seen;
            Value first = b.select(there, emitIndex(term.offsets.front(), at), b.index(0));
            Value factor = b.mulf(weight, b.f32(term.scale));
            if (term.factor)
              factor = b.mulf(factor, numberOf(*term.factor, at));
            unsigned argument = term.arguments.front();
            for (size_t n = 0; n < state.output.size(); ++n)
              for (size_t k : {0u, 1u}) {
                Value column = b.add(b.shiftLeft(inGroup, 1), int64_t(8 * n + k));
                if (int64_t(8 * n + 8) > columns)
                  column = b.minimum(column, b.i32(columns - 1));
                if (firstColumn)
                  column = b.add(column, firstColumn);
                Value place = b.add(b.toI64(first), b.mul(b.toI64(column), element.widthStride));
                Type type = elementOf(argument);
                Value read = b.widen(b.load(b.globalAt(inputs[shape.inputs[argument]], place, type), type));
                Value &sum = next[4 * n + 2 * row + k];
                sum = b.select(there, b.fma(factor, read, sum), sum);
              }
          }
        }
        return next;
      });
  state.output = gathered(sums);
}
