// Packs rows and panels of steps, and emits the register tile that runs over them.
#include "passes/Cpu/Engines/VectorEngine.h"
#include "passes/Cpu/Transpose.h"

using namespace mlir;
using namespace skewer;

/// Packs a panel: whole squares of steps are transposed in registers, the rest is copied step by step.
void VectorEngine::packPanel(VectorBuilder &b, const PanelSource &source, const PanelTarget &target,
                             Value panel) const {
  const int64_t lanes = b.lanes, rows = source.rows, lineStride = target.lineStride ? target.lineStride : lanes;
  const int64_t steps = stepsOf(source.depth), elements = cost.elementsOfStep();
  Value first = b.mul(panel, source.apart ? source.apart : lanes),
        count = source.length ? source.length : b.index(rows);
  Value base = b.add(target.base, b.add(b.mul(panel, target.stride), target.firstStep * lineStride));
  auto rowOffset = [&](Value row) {
    Value at = source.reversed ? b.sub(source.length ? b.add(count, -1) : b.index(rows - 1), row) : row;
    return b.add(source.base, b.mul(at, source.rowStride));
  };
  auto stepwise = [&](int64_t from) {
    b.loop(b.index(from), b.index(steps), 1, [&](Value step) {
      Value line = b.add(base, b.mul(step, lineStride));
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Value row = b.add(first, lane), at = b.add(line, lane);
        b.when(
            b.less(row, count),
            [&] {
              RowSource own{source.memory, rowOffset(row), source.depthStride, source.depth, source.factor};
              Value x = loadStep(b, own, step);
              b.storeScalar(target.accumulate ? b.addf(x, b.scalar(target.memory, at)) : x, target.memory, at);
            },
            [&] {
              if (!target.accumulate)
                b.storeScalar(b.constantScalar(0), target.memory, at);
            });
      }
    });
  };
  int64_t blocked = source.depthStride == 1 && lanes > 1 ? source.depth / elements / lanes * lanes : 0;
  if (!blocked)
    return source.length ? b.when(b.less(first, count), [&] { stepwise(0); }) : stepwise(0);
  // Lanes of a square that have no column are 0; nothing is read for them.
  auto squares = [&](int64_t columns) {
    b.loop(b.index(0), b.index(blocked), lanes, [&](Value step) {
      SmallVector<Value> rows(lanes, b.constant(0));
      for (int64_t lane = 0; lane < columns; ++lane)
        rows[lane] = loadSteps(b, source.memory, b.add(rowOffset(b.add(first, lane)), b.mul(step, elements)),
                               lanes * elements, source.factor);
      for (auto [lane, line] : llvm::enumerate(transposed(b, rows))) {
        Value at = b.add(base, b.mul(b.add(step, int64_t(lane)), lineStride));
        b.store(target.accumulate ? b.addf(line, b.load(target.memory, at)) : line, target.memory, at);
      }
    });
    if (blocked < steps)
      stepwise(blocked);
  };
  if (source.length)
    return b.when(
        b.less(count, b.add(first, lanes)), [&] { b.when(b.less(first, count), [&] { stepwise(0); }); },
        [&] { squares(lanes); });
  if (source.apart)
    return b.when(
        b.less(first, b.index(rows - lanes + 1)), [&] { squares(lanes); }, [&] { stepwise(0); });
  int64_t last = rows % lanes;
  b.when(
      b.less(b.index(rows - 1), b.add(first, lanes - 1)),
      [&] {
        if (!last)
          return stepwise(0); // a panel behind the last column
        b.when(
            b.less(first, b.index(rows)), [&] { squares(last); }, [&] { stepwise(0); });
      },
      [&] { squares(lanes); });
}

void VectorEngine::packRow(VectorBuilder &b, const RowSource &source, Value target, Value to) const {
  int64_t elements = cost.elementsOfStep(), ofVector = b.lanes * elements;
  if (source.depthStride != 1)
    return b.loop(b.index(0), b.index(stepsOf(source.depth)), 1, [&](Value step) {
      b.storeScalar(stepsOfRow(b, loadStep(b, source, step)), target, b.add(to, step));
    });
  for (int64_t d = 0; d < source.depth; d += ofVector) {
    int64_t count = std::min(ofVector, source.depth - d);
    Value steps = loadSteps(b, source.memory, b.add(source.base, d), count, source.factor);
    b.storeFirst(stepsOfRow(b, steps), target, b.add(to, d / elements), stepsOf(count));
  }
}

SmallVector<Value> VectorEngine::addTurn(VectorBuilder &b, const TilePart &part, const ProductOperand &rows,
                                         const ProductOperand &panels, int64_t steps, SmallVector<Value> sums) const {
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Value> columns;
    for (int64_t v = 0; v < part.vectors; ++v)
      columns.push_back(b.load(panels.memory, b.add(panels.base, v * panels.stride + step * b.lanes)));
    for (int64_t r = 0; r < part.rows; ++r) {
      Value x = b.loadBroadcast(rows.memory, b.add(rows.base, r * rows.stride + step));
      for (int64_t v = 0; v < part.vectors; ++v)
        sums[r * part.vectors + v] = addProducts(b, x, columns[v], sums[r * part.vectors + v]);
    }
  }
  return sums;
}

// A kStepsOfTurn of 4 measured best, together with 6x4 tiles, on Zen 5 and Cascade Lake.
SmallVector<Value> VectorEngine::addSteps(VectorBuilder &b, const TileProduct &product, const TilePart &part,
                                          Value first, int64_t steps, SmallVector<Value> sums) const {
  const ProductOperand &rows = product.rows, &panels = product.panels;
  Value firstRow = b.add(b.add(rows.base, first), part.row * rows.stride);
  Value firstPanel = b.add(b.add(panels.base, b.mul(first, b.lanes)), part.vector * panels.stride);
  auto turn = [&](Value k, int64_t count, SmallVector<Value> sums) {
    Value row = b.add(firstRow, k), panel = b.add(firstPanel, b.mul(k, b.lanes));
    return addTurn(b, part, {rows.memory, row, rows.stride}, {panels.memory, panel, panels.stride}, count,
                   std::move(sums));
  };
  int64_t whole = steps / kStepsOfTurn * kStepsOfTurn;
  if (whole)
    sums = b.loop(b.index(0), b.index(whole), kStepsOfTurn, sums, [&](Value k, ValueRange before) {
      if (product.beside)
        product.beside(b.add(first, k));
      return turn(k, kStepsOfTurn, SmallVector<Value>(before));
    });
  return whole < steps ? turn(b.index(whole), steps - whole, std::move(sums)) : sums;
}

SmallVector<Value> VectorEngine::multiply(VectorBuilder &b, const TileProduct &product, const HeldSums &held) const {
  SmallVector<Value> sums =
      sumInChunks(b, product.tile, product.steps, product.summation, held.memory, held.places,
                  [&](const TilePart &part, Value first, int64_t steps, SmallVector<Value> start) {
                    return addSteps(b, product, part, first, steps, std::move(start));
                  });
  for (Value &sum : sums)
    if (product.scale != 1)
      sum = b.mulf(sum, b.constant(product.scale));
  return sums;
}

Value skewer::loadAsSteps(VectorBuilder &b, VectorType type, Value memory, Value at, int64_t count) {
  if (count == type.getNumElements())
    return vector::BitCastOp::create(b.builder, b.vector, vector::LoadOp::create(b.builder, type, memory, at));
  SmallVector<bool> exists(type.getNumElements(), false);
  std::fill_n(exists.begin(), count, true);
  auto bits = VectorType::get(type.getShape(), b.builder.getI1Type());
  Value mask = arith::ConstantOp::create(b.builder, DenseElementsAttr::get(bits, exists));
  Value none = arith::ConstantOp::create(b.builder, cast<TypedAttr>(b.builder.getZeroAttr(type)));
  Value elements = vector::MaskedLoadOp::create(b.builder, type, memory, at, mask, none);
  return vector::BitCastOp::create(b.builder, b.vector, elements);
}
