// Masks as intervals of key - query, and as bits for each score.
#include "passes/Gpu/Masks.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Analysis/GuardTiles.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Masks::Masks(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place)
    : b(b), shape(shape), operands(operands), place(place) {
  const AttentionShape &attention = shape.attention;
  if (attention.bounds.tiles)
    listed = listTiles();
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

std::optional<Masks::Listed> Masks::listTiles() const {
  // At most so many tiles are listed, in half a megabyte; otherwise the mask is evaluated for each pair.
  constexpr size_t kMostListed = size_t(1) << 16;
  const LiveTiles &live = *shape.attention.bounds.tiles;
  const GpuTile &tile = shape.tile;
  int64_t keys = tile.keys * together();
  Listed result;
  for (const MaskPart &part : shape.attention.masks)
    result.saysAll &= isKnownPairByPair(part.predicate, shape.attention);
  for (int64_t variant = 0; variant < live.variants(); ++variant)
    for (int64_t query = 0; query < live.queries(); query += tile.rows) {
      result.begins.push_back(int64_t(result.tiles.size()));
      for (int64_t key = 0; key < live.keys(); key += keys) {
        LiveTiles::State state = live.stateOf(variant, query, tile.rows, key, keys);
        bool isAsked = state == LiveTiles::State::Edge || key + keys > live.keys();
        if (state != LiveTiles::State::Dead)
          result.tiles.push_back(2 * (key / keys) + isAsked);
      }
      if (result.tiles.size() > kMostListed)
        return std::nullopt;
    }
  result.begins.push_back(int64_t(result.tiles.size()));
  return result;
}

/// Reads an entry of a constant table in the module; i32.
static Value entryAt(GpuBuilder &b, Operands &operands, const std::vector<int64_t> &entries, Value place) {
  auto table = std::make_shared<const std::vector<int64_t>>(entries);
  return b.toI32(operands.index(Expr::table(table, Expr::symbol("place")), {{"place", b.toIndex(place)}}));
}

Value Masks::entryOf(Value step) {
  int64_t behind = 2 * llvm::divideCeil(shape.attention.keys, shape.tile.keys), steps = together();
  Value isListed = b.less(step, endOfSteps);
  Value entry = entryAt(b, operands, listed->tiles, steps > 1 ? b.divide(step, steps) : step);
  if (steps > 1) { // of a tile that is divided into so many
    Value tile = b.add(b.mul(b.shiftRight(entry, 1), steps), b.remainder(step, steps));
    entry = b.add(b.shiftLeft(tile, 1), b.bitAnd(entry, 1));
  }
  return b.select(isListed, entry, b.i32(behind));
}

Value Masks::firstKeyOf(Value step) {
  if (place.keyPart && !listed) // tiles of the next part are not filled
    step = b.select(b.less(step, endOfSteps), step, b.i32(llvm::divideCeil(shape.attention.keys, shape.tile.keys)));
  return b.mul(listed ? b.shiftRight(entryOf(step), 1) : step, shape.tile.keys);
}

std::pair<Value, Value> Masks::steps() {
  auto [first, end] = stepsOfAll();
  return place.keyPart ? ofPart(first, end) : std::pair(first, end);
}

/// Returns the steps of the block's part. Each part has the same number of the tiles that the queries see.
std::pair<Value, Value> Masks::ofPart(Value first, Value end) {
  // Returns the tile that holds the key; if `rounded`, the first tile that begins at the key or behind it.
  auto tileOf = [&](const Expr &key, int64_t rounded) {
    Value inside = b.minimum(b.maximum(place.baseOf(key), b.i64(0)), b.i64(shape.attention.keys));
    Value number = arith::TruncIOp::create(b, b.getI32Type(), inside);
    return b.divide(b.add(number, rounded), shape.tile.keys);
  };
  if (!listed && shape.firstSeen)
    first = b.maximum(first, tileOf(*shape.firstSeen, 0));
  if (!listed && shape.endOfSeen)
    end = b.minimum(end, tileOf(*shape.endOfSeen, shape.tile.keys - 1));
  int64_t parts = shape.tile.keyParts, steps = together();
  if (steps > 1) {
    // The parts are those of the blocks that take whole tiles.
    Value low = b.divide(first, steps), high = b.divide(b.add(end, steps - 1), steps);
    Value count = b.divide(b.add(b.maximum(b.sub(high, low), b.i32(0)), parts - 1), parts);
    Value begin = b.add(low, b.mul(place.keyPart, count));
    endOfSteps = b.minimum(b.mul(b.add(begin, count), steps), end);
    return {b.minimum(b.maximum(b.mul(begin, steps), first), end), endOfSteps};
  }
  Value count = b.divide(b.add(b.maximum(b.sub(end, first), b.i32(0)), parts - 1), parts);
  first = b.minimum(b.add(first, b.mul(place.keyPart, count)), end);
  endOfSteps = b.minimum(b.add(first, count), end);
  return {first, endOfSteps};
}

std::pair<Value, Value> Masks::stepsOfAll() {
  if (listed) {
    const LiveTiles &live = *shape.attention.bounds.tiles;
    Value block = b.i32(0);
    for (const std::string &axis : live.axes())
      block = b.add(b.mul(block, shape.attention.space.sizes.at(axis)), b.toI32(place.leading.at(axis)));
    int64_t blocks = llvm::divideCeil(live.queries(), shape.tile.rows);
    block = b.add(b.mul(block, blocks), b.divide(place.row, shape.tile.rows));
    endOfSteps = entryAt(b, operands, listed->begins, b.add(block, 1));
    Value first = entryAt(b, operands, listed->begins, block);
    if (int64_t steps = together(); steps > 1)
      first = b.mul(first, steps), endOfSteps = b.mul(endOfSteps, steps);
    return {first, endOfSteps};
  }
  const GpuTile &tile = shape.tile;
  Value first = b.i32(0), end = b.divide(b.add(place.keys(), tile.keys - 1), tile.keys);
  // The keys that some query of the block sees.
  if (low)
    first = b.divide(b.maximum(b.add(place.row, low), b.i32(0)), tile.keys);
  if (high) {
    Value lastRow = b.minimum(b.add(place.row, tile.rows - 1), b.add(place.queries(), -1));
    Value seen = b.add(b.add(lastRow, high), 1);
    seen = b.divide(b.add(b.maximum(seen, b.i32(0)), tile.keys - 1), tile.keys);
    end = b.minimum(end, seen);
  }
  return {first, end};
}

Value Masks::crosses(Value step, Value firstKey) {
  if (listed && listed->saysAll)
    return b.notEqual(b.bitAnd(entryOf(step), 1), b.i32(0));
  if (!shape.attention.masks.empty())
    return arith::ConstantIntOp::create(b, 1, 1); // any pair may be hidden
  if (!low && !high)
    return {};
  // The decision depends on block and tile alone, so all warps of a block decide alike.
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
  if (isRagged())
    require(b.less(key, place.keys()));
  if (high)
    require(b.lessEqual(b.sub(key, query), high));
  if (low)
    require(b.lessEqual(low, b.sub(key, query)));
  for (const MaskPart &part : attention.masks)
    require(operands.predicate(part.predicate, place.axesAt(number.row, key)));
  return seen;
}

static int64_t bitOf(size_t number) { return int32_t(1u << number % 32); }

SmallVector<Value> Masks::seenBits(Value firstKey, Value crossed) {
  SmallVector<Value> words;
  if (shape.attention.masks.empty())
    return words;
  if (!listed || !listed->saysAll)
    return askedBits(firstKey);
  SmallVector<Value> all(llvm::divideCeil(place.scores.numbers().size(), 32), b.i32(-1));
  return b.choose(
      crossed, TypeRange(ValueRange(all)), [&] { return askedBits(firstKey); }, [&] { return all; });
}

SmallVector<Value> Masks::askedBits(Value firstKey) {
  SmallVector<Value> words;
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
  bool ragged = isRagged();
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
  if (!bits.empty() && !(listed && listed->saysAll)) {
    scores = gathered(hidden());
    return;
  }
  // Only a tile that the edge of the mask, or of the keys, crosses is checked key by key.
  Value looked = crossed;
  if (ragged && !listed) {
    Value last = b.lessEqual(place.keys(), b.add(firstKey, shape.tile.keys - 1));
    looked = looked ? Value(arith::OrIOp::create(b, looked, last)) : last;
  }
  SmallVector<Value> flat = flattened(scores);
  scores = gathered(b.choose(looked, TypeRange(ValueRange(flat)), hidden, [&] { return flat; }));
}
