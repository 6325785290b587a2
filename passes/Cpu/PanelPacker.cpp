// Packs keys, tables and queries for register tiles (PanelPacker.h).
#include "passes/Cpu/PanelPacker.h"

using namespace mlir;
using namespace skewer;

KeyRange PanelPacker::panelsOfHead() {
  const KeyRange &keys = live.ofHead;
  if (!keys)
    return {b.index(0), b.index(g.keyVectors)};
  int64_t tile = g.tileVectors * g.lanes;
  Value first = b.mul(b.divide(keys.low, tile), g.tileVectors);
  Value end = b.mul(b.divide(b.add(keys.high, tile - 1), tile), g.tileVectors);
  return {shape.prefix ? b.index(0) : first, b.minimum(end, b.index(g.keyVectors))};
}

bool PanelPacker::computes(const CpuEngine &engine, const Walk &walk) const {
  return context.stage.isComputed(walk.argument) && !engine.cost.sumsIntegers();
}

ProductOperand PanelPacker::computedRows(const Walk &walk, int64_t depth, Value first, Value end) {
  Value rows = context.view(computed), base = positions.baseOf(walk.base);
  b.loop(first, end, 1, [&](Value key) {
    context.stage.computeRow(walk.argument, b.add(base, b.mul(key, walk.key)), rows, b.mul(b.sub(key, first), depth),
                             1);
  });
  return {rows, b.index(0), depth};
}

void PanelPacker::packKeyPanels(const CpuEngine &engine, const Walk &walk, int64_t depth, double factor,
                                const PanelTarget &target, KeyRange panels) {
  Value base = positions.baseOf(walk.base), length = positions.keyLength();
  if (!panels)
    panels = panelsOfHead();
  b.loop(panels.low, panels.high, 1, [&](Value panel) {
    if (!computes(engine, walk))
      return engine.packPanel(
          b, {memory.arguments[walk.argument], base, walk.key, walk.depth, shape.keys, depth, factor, false, length},
          target, panel);
    Value first = b.mul(panel, g.lanes);
    ProductOperand rows = computedRows(walk, depth, first, b.minimum(b.add(first, g.lanes), positions.keys()));
    engine.packPanel(b, {rows.memory, b.mul(first, -depth), depth, 1, shape.keys, depth, factor, false, length}, target,
                     panel);
  });
}

void PanelPacker::packQueryRows(const CpuEngine &engine, const Walk &walk, int64_t depth, double scale,
                                const RowBlock &block, Value target, int64_t stride, int64_t offset) {
  Value source = memory.arguments[walk.argument], base = positions.baseOf(walk.base);
  b.loop(b.index(0), b.mul(block.groups, g.tileRows), 1, [&](Value row) {
    Value to = b.add(b.mul(row, stride), offset);
    b.when(
        b.less(row, block.rows),
        [&] {
          Value from = b.add(base, b.mul(context.positionOf(block.firstRow, row), walk.query));
          if (!computes(engine, walk))
            return engine.packRow(b, {source, from, walk.depth, depth, scale}, target, to);
          if (engine.packsFloats())
            return context.stage.computeRow(walk.argument, from, target, to, scale);
          Value row = context.view(computed);
          context.stage.computeRow(walk.argument, from, row, b.index(0), 1);
          engine.packRow(b, {row, b.index(0), 1, depth}, target, to);
        },
        [&] {
          for (int64_t at = 0, steps = engine.stepsOf(depth); at < steps; at += b.lanes)
            b.storeFirst(b.constant(0), target, b.add(to, at), std::min(b.lanes, steps - at));
        });
  });
}

void PanelPacker::copyWidth(Value source, Value from, int64_t stride, double scale, Value target, Value to,
                            bool accumulate) {
  for (int64_t v = 0; v < g.widthVectors; ++v) {
    int64_t count = std::min(g.lanes, shape.width - v * g.lanes);
    Value at = b.add(to, v * g.lanes);
    if (stride == 1) {
      Value x = b.loadFirst(source, b.add(from, v * g.lanes), count);
      x = scale == 1 ? x : b.mulf(x, b.constant(scale));
      b.store(accumulate ? b.addf(x, b.load(target, at)) : x, target, at);
      continue;
    }
    if (!accumulate)
      b.store(b.constant(0), target, at);
    b.loop(b.index(0), b.index(count), 1, [&](Value e) {
      Value place = b.add(at, e);
      Value x = b.scalar(source, b.add(from, b.mul(b.add(e, v * g.lanes), stride)));
      x = scale == 1 ? x : b.mulf(x, b.constantScalar(scale));
      b.storeScalar(accumulate ? b.addf(x, b.scalar(target, place)) : x, target, place);
    });
  }
}
