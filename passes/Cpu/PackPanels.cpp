// Packs keys, tables, values and queries in the order in which the register tiles read them. CpuKernel calls it once a
// head for keys and values, and once a block of rows for queries; strategies pack their own operands with it.
#include "passes/Analysis/FunctionRange.h"
#include "passes/Cpu/Strategy.h"
#include "passes/Emit/EmitIndex.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

/// Returns the panels of keys that are packed for a head: those within its bounds, in whole tiles.
KeyRange CpuKernel::packedPanels() {
  if (!live.ofHead)
    return {b.index(0), b.index(keyVectors)};
  int64_t tile = tileVectors * lanes;
  Value first = b.mul(b.divide(live.ofHead.low, tile), tileVectors);
  Value end = b.mul(b.divide(b.add(live.ofHead.high, tile - 1), tile), tileVectors);
  return {shape.prefix ? b.index(0) : first, b.minimum(end, b.index(keyVectors))};
}

/// Computes the rows [first, end) of an operand without memory in the workspace of the worker. Returns where they lie,
/// from row `first` on.
ProductOperand CpuKernel::computedRows(const Walk &walk, int64_t termDepth, Value first, Value end) {
  Value rows = b.view(memory.local, b.index(buffers.computedRows.offset), buffers.computedRows.floats);
  Value base = positions.baseOf(walk.base);
  b.loop(first, end, 1, [&](Value key) {
    stage.computeRow(walk.argument, b.add(base, b.mul(key, walk.key)), rows, b.mul(b.sub(key, first), termDepth), 1);
  });
  return {rows, b.index(0), termDepth};
}

void CpuKernel::packKeyPanels(const CpuEngine &engine, const Walk &walk, int64_t termDepth, double factor,
                              const PanelTarget &target, KeyRange panels) {
  Value base = positions.baseOf(walk.base);
  if (!panels)
    panels = packedPanels();
  b.loop(panels.low, panels.high, 1, [&](Value panel) {
    if (!isComputed(walk.argument))
      return engine.packPanel(b,
                              {memory.arguments[walk.argument], base, walk.key, walk.depth, shape.keys, termDepth,
                               factor, false, keyLength},
                              target, panel);
    Value first = b.mul(panel, lanes);
    ProductOperand rows = computedRows(walk, termDepth, first, b.minimum(b.add(first, lanes), keys()));
    engine.packPanel(
        b, {rows.memory, b.mul(first, -termDepth), termDepth, 1, shape.keys, termDepth, factor, false, keyLength},
        target, panel);
  });
}

/// Packs the keys behind the last whole panel as rows, for products that are computed as dot products.
void CpuKernel::packDotKeys(const ContentTerm &term, double factor, int64_t depthOffset, bool accumulate) {
  Value first = b.index(shape.keys - dotKeys), source = memory.arguments[term.key.argument];
  Value base = b.add(positions.baseOf(term.key.base), b.mul(first, term.key.key));
  int64_t rowStride = term.key.key, depthStride = term.key.depth;
  if (isComputed(term.key.argument)) {
    ProductOperand rows = computedRows(term.key, term.depth, first, b.index(shape.keys));
    source = rows.memory, base = rows.base, rowStride = rows.stride, depthStride = 1;
  }
  int64_t step = depthStride == 1 && term.depth % lanes == 0 ? lanes : 1; // terms side by side fill whole vectors
  Value scale = step == 1 ? b.constantScalar(factor) : b.constant(factor);
  for (int64_t key = 0; key < dotKeys; ++key)
    b.loop(b.index(0), b.index(term.depth), step, [&](Value d) {
      Value from = b.add(b.add(base, key * rowStride), b.mul(d, depthStride)), to = b.add(d, key * depth + depthOffset);
      Value x = b.mulf(step == 1 ? b.scalar(source, from) : b.load(source, from), scale);
      if (step == 1)
        b.storeScalar(accumulate ? b.addf(x, b.scalar(memory.dotKeys, to)) : x, memory.dotKeys, to);
      else
        b.store(accumulate ? b.addf(x, b.load(memory.dotKeys, to)) : x, memory.dotKeys, to);
    });
}

void CpuKernel::packKeys() {
  for (unsigned number = 0; number < shape.content.size(); ++number) {
    const ContentTerm &term = shape.content[number];
    if (term.inPlace)
      continue;
    // q·k + q·E = q·(k + E): the keys of terms with the same queries are added up, in the scale of the first term.
    bool repeated = isContentRepeated(number);
    double factor = 1;
    for (unsigned before = 0; repeated && before < number; ++before)
      if (contentOffset[before] == contentOffset[number] && !isContentRepeated(before))
        factor = term.scale / shape.content[before].scale;
    KeyRange panels = packedPanels();
    if (dotKeys)
      panels.high = b.minimum(panels.high, b.index(keyVectors - 1));
    packKeyPanels(engine, term.key, term.depth, factor,
                  {memory.keys, b.index(0), panelStride, contentOffset[number], repeated}, panels);
    if (dotKeys)
      packDotKeys(term, factor, contentOffset[number], repeated);
  }
}

void CpuKernel::copyWidth(Value source, Value from, int64_t stride, double scale, Value target, Value to,
                          bool accumulate) {
  for (int64_t v = 0; v < widthVectors; ++v) {
    int64_t count = std::min(lanes, shape.width - v * lanes);
    Value at = b.add(to, v * lanes);
    if (stride == 1) {
      Value x = b.loadFirst(source, b.add(from, v * lanes), count);
      x = scale == 1 ? x : b.mulf(x, b.constant(scale));
      b.store(accumulate ? b.addf(x, b.load(target, at)) : x, target, at);
      continue;
    }
    if (!accumulate)
      b.store(b.constant(0), target, at);
    b.loop(b.index(0), b.index(count), 1, [&](Value e) {
      Value place = b.add(at, e);
      Value x = b.scalar(source, b.add(from, b.mul(b.add(e, v * lanes), stride)));
      x = scale == 1 ? x : b.mulf(x, b.constantScalar(scale));
      b.storeScalar(accumulate ? b.addf(x, b.scalar(target, place)) : x, target, place);
    });
  }
}

/// Copies the values of a head, with zeros behind each row, if they cannot be read in place: if their width does not
/// fill whole vectors, or they have no memory. With `streaming`, a block of keys meets no other rows, and its values
/// are copied for the block.
void CpuKernel::packValues() {
  if (!buffers.values.floats || streaming)
    return;
  bool limited = live.ofHead && !shape.prefix;
  packValueRows(limited ? live.ofHead.low : b.index(0), live.ofHead ? live.ofHead.high : b.index(shape.keys));
}

/// Copies the values of the keys [low, high). With `streaming`, the first one lies at the beginning of the buffer.
void CpuKernel::packValueRows(Value low, Value high) {
  int64_t padded = widthVectors * lanes;
  Value source = memory.arguments[shape.value.argument];
  b.loop(low, high, 1, [&](Value key) {
    Value from = positions.keyPlace(shape.value, key), to = b.mul(streaming ? b.sub(key, low) : key, padded);
    if (!isComputed(shape.value.argument))
      return copyWidth(source, from, shape.value.depth, 1, memory.values, to);
    if (shape.width % lanes)
      b.store(b.constant(0), memory.values, b.add(to, padded - lanes));
    stage.computeRow(shape.value.argument, from, memory.values, to, 1);
  });
}

void CpuKernel::packQueryRows(const CpuEngine &engine, const Walk &walk, int64_t depth, double scale,
                              const RowBlock &block, Value target, int64_t stride, int64_t offset) {
  Value source = memory.arguments[walk.argument], base = positions.baseOf(walk.base);
  b.loop(b.index(0), b.mul(block.groups, tileRows), 1, [&](Value row) {
    Value to = b.add(b.mul(row, stride), offset);
    b.when(
        b.less(row, block.rows),
        [&] {
          Value from = b.add(base, b.mul(positionOf(block.firstRow, row), walk.query));
          if (isComputed(walk.argument))
            return stage.computeRow(walk.argument, from, target, to, scale);
          engine.packRow(b, {source, from, walk.depth, depth, scale}, target, to);
        },
        [&] {
          for (int64_t at = 0, steps = engine.stepsOf(depth); at < steps; at += b.lanes)
            b.storeFirst(b.constant(0), target, b.add(to, at), std::min(b.lanes, steps - at));
        });
  });
}

void CpuKernel::packQueries(const RowBlock &block) {
  for (unsigned number = 0; number < shape.content.size(); ++number)
    if (const ContentTerm &term = shape.content[number]; !term.inPlace && !isContentRepeated(number))
      packQueryRows(engine, term.query, term.depth, engine.packsFloats() ? term.scale : 1, block, memory.queries, depth,
                    contentOffset[number]);
}

bool CpuKernel::isContentRepeated(unsigned term) const {
  for (unsigned before = 0; before < term; ++before)
    if (contentOffset[before] == contentOffset[term])
      return true;
  return false;
}

/// Tests whether the values of the head are finite. A masked key has weight 0, which times a finite value adds nothing.
/// Only if some value is NaN or infinite, products with weights of 0 must be left out. The test costs a pass over the
/// values of the head; leaving products out costs a select for each product.
void CpuKernel::testValues() {
  valuesFinite = Value();
  if (streaming) // the sums of each block are tested instead
    return;
  if (!hidesKeys(shape) && !(rowStep > 1 && shape.visible))
    return;
  KeyRange keys = live.ofHead ? live.ofHead : KeyRange{b.index(0), b.index(shape.keys)};
  Value first = shape.prefix ? b.index(0) : keys.low;
  Value sum = b.loop(first, keys.high, 1, ValueRange{b.constant(0)}, [&](Value key, ValueRange carried) {
    Value at = b.add(valueBase, b.mul(key, valueStride)), sum = carried[0];
    for (int64_t v = 0; v < widthVectors; ++v)
      sum = b.fma(b.load(memory.values, b.add(at, v * lanes)), b.constant(0), sum);
    return SmallVector<Value>{sum};
  })[0];
  forEach([&](CpuStrategy &strategy) { sum = strategy.testRows(sum); });
  valuesFinite = b.compare(arith::CmpFPredicate::ORD, b.reduceAdd(sum), b.constantScalar(0));
}
