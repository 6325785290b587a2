// Packs columns into a panel: whole squares are transposed in registers, the rest is copied element by element.
#include "passes/Cpu/Panels.h"
#include "passes/Cpu/Transpose.h"

using namespace mlir;
using namespace skewer;

void skewer::packPanel(VectorBuilder &b, const PanelSource &source, const PanelTarget &target, Value panel) {
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
        b.when(b.less(first, b.index(rows)), [&] { squares(last); }, [&] { elementwise(0); });
      },
      [&] { squares(lanes); });
}
