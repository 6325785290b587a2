// Adds up the terms that score tiles cannot load by themselves, in a line of biases over the keys of a block for each
// row: first the terms over maps (a number for each index of the outer axes, vectors along the innermost axis), then
// the rest. CpuKernel calls it for each block of keys, before the score tiles.
#include "passes/Cpu/Strategy.h"

using namespace mlir;
using namespace skewer;

namespace {
/// The innermost rows of a map of keys from which a block has keys.
struct MapRows {
  Value width, first, end;
};
} // namespace

/// Stores the terms over a map: for each index of the outer key axes, a sum of scalars plus vectors over the innermost
/// axis.
static void mapTerms(CpuKernel &kernel, const BiasRow &row, const MapRows &rows, ArrayRef<AlongOuter> parts) {
  VectorBuilder &b = kernel.b;
  b.loop(rows.first, rows.end, 1, [&](Value outer) {
    Value firstKey = b.mul(outer, rows.width), base = b.constant(0);
    SmallVector<AlongInner> inner;
    for (const AlongOuter &part : parts)
      if (AlongInner along = part(outer, firstKey, base))
        inner.push_back(std::move(along));
    Value target = b.add(row.line, b.sub(firstKey, row.lowKey));
    b.loop(b.index(0), rows.width, b.lanes, [&](Value x) {
      Value sum = base;
      for (const AlongInner &along : inner)
        sum = along(x, sum);
      // The last vector of a map row reaches into the next row, which is written later.
      b.store(sum, row.memory, b.add(target, x));
    });
  });
}

Value CpuKernel::lineOf(uint64_t sum) {
  const Buffer &line = buffers.lines[sum];
  return shape.sums == 1 ? memory.line : b.view(memory.local, b.index(line.offset), line.floats);
}

void CpuKernel::biasLines(const KeyBlock &block) {
  for (uint64_t sum = 0; sum < hasLine.size(); ++sum)
    if (hasLine[sum])
      biasLinesOf(block, sum);
}

void CpuKernel::biasLinesOf(const KeyBlock &block, uint64_t sum) {
  Value lines = lineOf(sum);
  bool isMap = shape.keyAxes.size() > 1 || shape.bounds.map;
  MapRows rows;
  if (isMap) {
    rows.width = shape.bounds.map ? positions.mapWidth : b.index(shape.keyAxes.back().extent);
    Value last = b.add(b.add(block.highKey, rows.width), -1);
    rows.first = arith::DivUIOp::create(b.builder, block.lowKey, rows.width);
    rows.end = arith::DivUIOp::create(b.builder, last, rows.width);
  }
  b.loop(b.index(0), block.rows, 1, [&](Value row) {
    Value position = b.add(block.firstRow, row);
    Value line = b.add(b.mul(row, lineStride), lineMargin);
    BiasRow biases{lines, block.firstRow, row, position, line, block.lowKey, block.highKey};
    SmallVector<AlongOuter> parts;
    forEach([&](CpuStrategy &strategy) {
      if (strategy.sum() == sum)
        if (auto part = strategy.mapPart(biases))
          parts.push_back(std::move(*part));
    });
    if (isMap && (shape.keyAxes.size() > 1 || !parts.empty()))
      mapTerms(*this, biases, rows, parts);
    else
      b.loop(block.lowKey, block.highKey, b.lanes,
             [&](Value key) { b.store(b.constant(0), lines, b.add(line, b.sub(key, block.lowKey))); });
    forEach([&](CpuStrategy &strategy) {
      if (strategy.sum() == sum)
        strategy.addToLine(biases);
    });
  });
}
