// The engine for f32: rows are broadcast from memory, and fused multiply-adds with vectors of columns leave the sums in
// registers.
#include "passes/Analysis/Summation.h"
#include "passes/Cpu/Engine.h"
#include "passes/Cpu/Transpose.h"

using namespace mlir;
using namespace skewer;

namespace {
class Fma : public CpuEngine {
public:
  void packPanel(VectorBuilder &, const PanelSource &, const PanelTarget &, Value panel) const override;
  SmallVector<Value> multiply(VectorBuilder &, const TileProduct &, const HeldSums &) const override;
};

/// Returns `sums` + the products of `steps` steps from `first` on, for a part of a tile.
// A kStepsOfTurn of 4 measured best, together with 6x4 tiles, on Zen 5 and Cascade Lake.
SmallVector<Value> addSteps(VectorBuilder &b, const TileProduct &product, const TilePart &part, Value first,
                            int64_t steps, SmallVector<Value> sums) {
  const ProductOperand &rows = product.rows, &panels = product.panels;
  Value firstRow = b.add(b.add(rows.base, first), part.row * rows.stride);
  Value firstPanel = b.add(b.add(panels.base, b.mul(first, b.lanes)), part.vector * panels.stride);
  auto turn = [&](Value k, int64_t count, SmallVector<Value> sums) {
    Value row = b.add(firstRow, k), panel = b.add(firstPanel, b.mul(k, b.lanes));
    for (int64_t step = 0; step < count; ++step) {
      SmallVector<Value> columns;
      for (int64_t v = 0; v < part.vectors; ++v)
        columns.push_back(b.load(panels.memory, b.add(panel, v * panels.stride + step * b.lanes)));
      for (int64_t r = 0; r < part.rows; ++r) {
        Value x = b.loadBroadcast(rows.memory, b.add(row, r * rows.stride + step));
        for (int64_t v = 0; v < part.vectors; ++v)
          sums[r * part.vectors + v] = b.fma(x, columns[v], sums[r * part.vectors + v]);
      }
    }
    return sums;
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
} // namespace

SmallVector<Value> Fma::multiply(VectorBuilder &b, const TileProduct &product, const HeldSums &held) const {
  return sumInChunks(b, product.tile, product.steps, product.summation, held.memory, held.places,
                     [&](const TilePart &part, Value first, int64_t steps, SmallVector<Value> start) {
                       return addSteps(b, product, part, first, steps, std::move(start));
                     });
}

/// Packs a panel: whole squares are transposed in registers, the rest is copied element by element.
void Fma::packPanel(VectorBuilder &b, const PanelSource &source, const PanelTarget &target, Value panel) const {
  const int64_t lanes = b.lanes, rows = source.rows, lineStride = target.lineStride ? target.lineStride : lanes;
  Value first = b.mul(panel, lanes), count = source.length ? source.length : b.index(rows);
  Value base = b.add(target.base, b.add(b.mul(panel, target.stride), target.firstStep * lineStride));
  auto rowOffset = [&](Value row) {
    Value at = source.reversed ? b.sub(source.length ? b.add(count, -1) : b.index(rows - 1), row) : row;
    return b.add(source.base, b.mul(at, source.rowStride));
  };
  Value scale = b.constant(source.factor), scaleScalar = b.constantScalar(source.factor);
  auto elementwise = [&](int64_t fromDepth) {
    b.loop(b.index(fromDepth), b.index(source.depth), 1, [&](Value d) {
      Value line = b.add(base, b.mul(d, lineStride));
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Value row = b.add(first, lane), at = b.add(line, lane);
        b.when(
            b.less(row, count),
            [&] {
              Value x = b.scalar(source.memory, b.add(rowOffset(row), b.mul(d, source.depthStride)));
              x = b.mulf(x, scaleScalar);
              b.storeScalar(target.accumulate ? b.addf(x, b.scalar(target.memory, at)) : x, target.memory, at);
            },
            [&] {
              if (!target.accumulate)
                b.storeScalar(b.constantScalar(0), target.memory, at);
            });
      }
    });
  };
  int64_t blocked = source.depthStride == 1 && lanes > 1 ? source.depth / lanes * lanes : 0;
  if (!blocked)
    return source.length ? b.when(b.less(first, count), [&] { elementwise(0); }) : elementwise(0);
  // Lanes of a square that have no column are 0; nothing is read for them.
  auto squares = [&](int64_t columns) {
    b.loop(b.index(0), b.index(blocked), lanes, [&](Value d) {
      SmallVector<Value> rows(lanes, b.constant(0));
      for (int64_t lane = 0; lane < columns; ++lane)
        rows[lane] = b.mulf(b.load(source.memory, b.add(rowOffset(b.add(first, lane)), d)), scale);
      for (auto [lane, line] : llvm::enumerate(transposed(b, rows))) {
        Value at = b.add(base, b.mul(b.add(d, int64_t(lane)), lineStride));
        b.store(target.accumulate ? b.addf(line, b.load(target.memory, at)) : line, target.memory, at);
      }
    });
    if (blocked < source.depth)
      elementwise(blocked);
  };
  if (source.length)
    return b.when(
        b.less(count, b.add(first, lanes)), [&] { b.when(b.less(first, count), [&] { elementwise(0); }); },
        [&] { squares(lanes); });
  int64_t last = rows % lanes;
  b.when(
      b.less(b.index(rows - 1), b.add(first, lanes - 1)),
      [&] {
        if (!last)
          return elementwise(0); // a panel behind the last column
        b.when(
            b.less(first, b.index(rows)), [&] { squares(last); }, [&] { elementwise(0); });
      },
      [&] { squares(lanes); });
}

const CpuEngine &skewer::fmaEngine() {
  static const Fma engine;
  return engine;
}

void CpuEngine::multiplyInto(VectorBuilder &b, const TileProduct &product, const ProductOperand &target) const {
  SmallVector<Value> places;
  for (int64_t r = 0; r < product.tile.rows; ++r)
    for (int64_t v = 0; v < product.tile.vectors; ++v)
      places.push_back(b.add(target.base, r * target.stride + v * b.lanes));
  for (auto [sum, place] : llvm::zip(multiply(b, product, {target.memory, places}), places))
    b.store(sum, target.memory, place);
}
