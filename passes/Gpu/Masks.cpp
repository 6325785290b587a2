// Masks as intervals of key - query, and as bits for each score.
#include "passes/Gpu/Masks.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Masks::Masks(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place)
    : b(b), shape(shape), operands(operands), place(place) {
  const AttentionShape &attention = shape.attention;
  if (!attention.visible)
    return;
  const auto [first, last] = *attention.visible;
  if (attention.visibleShift.isConstant(0)) {
    if (first > -attention.queries)
      low = b.i32(std::min<int64_t>(first, attention.keys));
    if (last < attention.keys)
      high = b.i32(std::max<int64_t>(last, -attention.queries - 1));
    return;
  }
  Value shift = place.baseOf(attention.visibleShift);
  auto bound = [&](int64_t end) -> Value {
    Value value = b.sub(b.i64(end), shift);
    value = b.minimum(b.maximum(value, b.i64(-attention.queries - 1)), b.i64(attention.keys));
    return arith::TruncIOp::create(b, b.getI32Type(), value);
  };
  if (first != std::numeric_limits<int64_t>::min())
    low = bound(first);
  if (last != std::numeric_limits<int64_t>::max())
    high = bound(last);
}

std::pair<Value, Value> Masks::liveTiles() {
  const AttentionShape &attention = shape.attention;
  const GpuTile &tile = shape.tile;
  int64_t tiles = (attention.keys + tile.keys - 1) / tile.keys;
  Value first = b.i32(0), end = b.i32(tiles);
  // The keys that some query of the block sees.
  if (low)
    first = b.divide(b.maximum(b.add(place.row, low), b.i32(0)), tile.keys);
  if (high) {
    Value lastRow = b.minimum(b.add(place.row, tile.rows - 1), b.i32(attention.queries - 1));
    Value seen = b.add(b.add(lastRow, high), 1);
    seen = b.divide(b.add(b.maximum(seen, b.i32(0)), tile.keys - 1), tile.keys);
    end = b.minimum(end, seen);
  }
  return {first, end};
}

Value Masks::crosses(Value firstKey) {
  if (!shape.attention.masks.empty())
    return arith::ConstantIntOp::create(b, 1, 1); // any pair may be hidden
  if (!low && !high)
    return {};
  // Block and tile decide, so that the warps of a block do alike.
  Value crossed;
  auto cross = [&](Value condition) {
    crossed = crossed ? Value(arith::OrIOp::create(b, crossed, condition)) : condition;
  };
  Value lastKey = b.add(firstKey, shape.tile.keys - 1), lastRow = b.add(place.row, shape.tile.rows - 1);
  if (high)
    cross(b.less(high, b.sub(lastKey, place.row)));
  if (low)
    cross(b.less(b.sub(firstKey, lastRow), low));
  return crossed;
}

Value Masks::isSeen(const HeldNumber &number, Value firstKey) {
  const AttentionShape &attention = shape.attention;
  Value key = place.scores.columnFrom(firstKey, number.column), query = place.query(number.row), seen;
  auto require = [&](Value condition) { seen = seen ? b.both(seen, condition) : condition; };
  if (attention.keys % shape.tile.keys)
    require(b.less(key, b.i32(attention.keys)));
  if (high)
    require(b.lessEqual(b.sub(key, query), high));
  if (low)
    require(b.lessEqual(low, b.sub(key, query)));
  for (const MaskPart &part : attention.masks)
    require(operands.predicate(part.predicate, place.axesAt(number.row, key)));
  return seen;
}

static int64_t bitOf(size_t number) { return int32_t(1u << number % 32); }

SmallVector<Value> Masks::seenBits(Value firstKey) {
  SmallVector<Value> words;
  if (shape.attention.masks.empty())
    return words;
  for (auto [number, held] : llvm::enumerate(place.scores.numbers())) {
    Value bit = b.select(isSeen(held, firstKey), b.i32(bitOf(number)), b.i32(0));
    if (number % 32)
      words.back() = arith::OrIOp::create(b, words.back(), bit);
    else
      words.push_back(bit);
  }
  return words;
}

void Masks::hide(Tiles &scores, Value firstKey, Value crossed, ArrayRef<Value> bits) {
  int64_t keys = shape.attention.keys;
  bool ragged = keys % shape.tile.keys != 0;
  if (!ragged && !crossed)
    return;
  Value nothing = b.f32(shape.attention.direct ? -0.0 : -kInfinity);
  auto hidden = [&] {
    SmallVector<Value> numbers = flattened(scores);
    for (auto [number, held] : llvm::enumerate(place.scores.numbers())) {
      Value seen =
          bits.empty() ? isSeen(held, firstKey) : b.notEqual(b.bitAnd(bits[number / 32], bitOf(number)), b.i32(0));
      numbers[number] = b.select(seen, numbers[number], nothing);
    }
    return numbers;
  };
  if (!bits.empty()) {
    scores = gathered(hidden());
    return;
  }
  // Only a tile that the edge of the mask, or of the keys, crosses is looked at key by key.
  Value looked = crossed;
  if (ragged) {
    Value last = b.lessEqual(b.i32(keys), b.add(firstKey, shape.tile.keys - 1));
    looked = looked ? Value(arith::OrIOp::create(b, looked, last)) : last;
  }
  SmallVector<Value> flat = flattened(scores);
  scores = gathered(b.choose(looked, TypeRange(ValueRange(flat)), hidden, [&] { return flat; }));
}
