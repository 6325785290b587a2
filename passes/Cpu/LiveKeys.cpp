// Computes ranges of keys from the intervals of the mask (LiveKeys.h).
#include "passes/Cpu/LiveKeys.h"

using namespace mlir;
using namespace skewer;

Value LiveKeys::lowestVisible() {
  Value low = b.index(shape.visible->low);
  return shape.visibleShift.isConstant(0) ? low : b.sub(low, positions.baseOf(shape.visibleShift));
}

Value LiveKeys::highestVisible() {
  Value high = b.index(shape.visible->high);
  return shape.visibleShift.isConstant(0) ? high : b.sub(high, positions.baseOf(shape.visibleShift));
}

void LiveKeys::enterHead() {
  ofHead = {};
  isHeadRestricted = false;
  const KeyBounds &bounds = shape.bounds;
  if (!bounds.low && !bounds.high)
    return;
  Value first = b.index(0), end = b.index(shape.keys);
  auto inside = [&](const subscript::Expr &limit) { return b.minimum(b.maximum(positions.baseOf(limit), first), end); };
  ofHead = {bounds.low ? inside(*bounds.low) : first, bounds.high ? inside(*bounds.high) : end};
}

void LiveKeys::restrictHead(KeyRange keys) {
  isHeadRestricted = true;
  if (ofHead)
    keys = {b.maximum(ofHead.low, keys.low), b.minimum(ofHead.high, keys.high)};
  ofHead = keys;
}

std::pair<Value, Value> LiveKeys::of(Value firstRow, int64_t rows, Value low, Value high) {
  Value lowest = low;
  if (shape.visible && shape.visible->low != INT64_MIN)
    low = b.maximum(low, b.add(firstRow, lowestVisible()));
  if (shape.visible && shape.visible->high != INT64_MAX)
    high = b.minimum(high, b.add(b.add(firstRow, highestVisible()), (rows - 1) * geometry.rowStep + 1));
  for (const KeyRange &range : {ofHead, ofBlock})
    if (range) {
      low = b.maximum(low, range.low);
      high = b.minimum(high, range.high);
    }
  if (shape.prefix)
    low = b.maximum(low, prefixEnd(lowest, high));
  return {low, high};
}

Value LiveKeys::prefixEnd(Value lowKey, Value high) {
  return b.maximum(lowKey, b.minimum(b.index(shape.prefix), high));
}

Value LiveKeys::meets(std::pair<Value, Value> live, Value lowKey, Value key, Value end) {
  auto [low, high] = live;
  Value some = arith::AndIOp::create(b.builder, b.less(key, high), b.less(low, end));
  if (!shape.prefix)
    return some;
  return arith::OrIOp::create(b.builder, some, b.less(key, prefixEnd(lowKey, high)));
}
