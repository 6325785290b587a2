// Emits the tests of masks, and the marks of keys that they hide (HiddenKeys.h).
#include "passes/Cpu/HiddenKeys.h"
#include "passes/Emit/IntegerLanes.h"
#include <limits>

using namespace mlir;
using namespace skewer;

Value HiddenKeys::mark() { return b.constant(shape.direct ? -0.0f : -std::numeric_limits<float>::infinity()); }

Value HiddenKeys::isSeen(Value weight) {
  if (!shape.direct)
    return b.compare(arith::CmpFPredicate::UNE, weight, b.constantScalar(0));
  Type integer = b.builder.getI32Type();
  Value bits = arith::BitcastOp::create(b.builder, integer, weight);
  Value none = arith::ConstantIntOp::create(b.builder, integer, INT32_MIN);
  return arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, bits, none);
}

void HiddenKeys::hide(ScoreTile &tile, Value state) {
  hideBehindEnd(tile);
  hideOutsideBounds(tile);
  hideOutsideInterval(tile);
  hideByTiles(tile, state);
}

/// Hides the lanes behind the last key.
void HiddenKeys::hideBehindEnd(ScoreTile &tile) {
  if (!tile.last || shape.keys % b.lanes == 0)
    return;
  Value nothing = mark();
  Value inside = arith::CmpIOp::create(
      b.builder, arith::CmpIPredicate::slt, laneNumbers(b),
      arith::ConstantOp::create(b.builder, DenseElementsAttr::get(b.integers, int32_t(shape.keys % b.lanes))));
  for (int64_t r = 0; r < g.tileRows; ++r) {
    Value &sum = tile.sums[r * tile.vectors + tile.vectors - 1];
    sum = b.select(inside, sum, nothing);
  }
}

/// Runs `hide`, with its tests, if the tile lies at an edge; else the scores stay as they are.
void HiddenKeys::hideAtEdge(ScoreTile &tile, Value edge, function_ref<void(MutableArrayRef<Value>)> hide) {
  SmallVector<Value> seen(tile.sums.begin(), tile.sums.end()), masked = seen;
  auto hidden = [&] {
    hide(masked);
    return masked;
  };
  llvm::copy(choose(b, edge, ValueRange(seen).getTypes(), hidden, [&] { return seen; }), tile.sums.begin());
}

/// Hides the keys that no query of the head sees. Tiles without such keys skip the test.
void HiddenKeys::hideOutsideBounds(ScoreTile &tile) {
  if (shape.bounds.parts.empty() && !shape.bounds.keyLength)
    return;
  const KeyRange &seen = live.ofHead;
  Value end = b.add(tile.key, tile.vectors * b.lanes), nothing = mark(), numbers = laneNumbers(b);
  Value edge = arith::OrIOp::create(b.builder, b.less(tile.key, seen.low), b.less(seen.high, end));
  hideAtEdge(tile, edge, [&](MutableArrayRef<Value> masked) {
    for (int64_t v = 0; v < tile.vectors; ++v) {
      auto test = [&](arith::CmpIPredicate predicate, Value bound) {
        Value limit = broadcastIndex(b, b.sub(bound, b.add(tile.key, v * b.lanes)));
        return arith::CmpIOp::create(b.builder, predicate, numbers, limit);
      };
      Value inside = arith::AndIOp::create(b.builder, test(arith::CmpIPredicate::sge, seen.low),
                                           test(arith::CmpIPredicate::slt, seen.high));
      for (int64_t r = 0; r < g.tileRows; ++r) {
        Value &sum = masked[r * tile.vectors + v];
        sum = b.select(inside, sum, nothing);
      }
    }
  });
}

/// Hides the keys outside the interval of key - query. Tiles that every row sees whole skip the test.
void HiddenKeys::hideOutsideInterval(ScoreTile &tile) {
  if (!shape.visible || context.runs)
    return;
  const subscript::Range &visible = *shape.visible;
  Value edge, nothing = mark();
  auto either = [&](Value condition) {
    edge = edge ? arith::OrIOp::create(b.builder, edge, condition).getResult() : condition;
  };
  if (visible.high != INT64_MAX)
    either(b.less(b.add(tile.position, live.highestVisible()), b.add(tile.key, tile.vectors * g.lanes - 1)));
  if (visible.low != INT64_MIN) {
    Value begins = b.less(tile.key, b.add(b.add(tile.position, live.lowestVisible()), (g.tileRows - 1) * g.rowStep));
    if (shape.prefix)
      begins = arith::AndIOp::create(b.builder, begins,
                                     b.less(b.index(shape.prefix), b.add(tile.key, tile.vectors * g.lanes)));
    either(begins);
  }
  hideAtEdge(tile, edge, [&](MutableArrayRef<Value> masked) {
    Value numbers = laneNumbers(b);
    for (int64_t r = 0; r < g.tileRows; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v) {
        // Compares lane + key + v*lanes - (position + r) with the interval.
        auto test = [&](arith::CmpIPredicate predicate, Value bound, bool prefix) {
          Value limit = b.sub(b.add(b.add(tile.position, bound), r * g.rowStep - v * g.lanes), tile.key);
          Value seen = arith::CmpIOp::create(b.builder, predicate, numbers, broadcastIndex(b, limit));
          if (prefix) {
            Value end = broadcastIndex(b, b.sub(b.index(shape.prefix - v * g.lanes), tile.key));
            Value first = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, numbers, end);
            seen = arith::OrIOp::create(b.builder, seen, first);
          }
          Value &sum = masked[r * tile.vectors + v];
          sum = b.select(seen, sum, nothing);
        };
        if (visible.high != INT64_MAX)
          test(arith::CmpIPredicate::sle, live.highestVisible(), false);
        if (visible.low != INT64_MIN)
          test(arith::CmpIPredicate::sge, live.lowestVisible(), shape.prefix > 0);
      }
  });
}

/// Hides the keys that a mask known at compile time hides. Tiles that every row sees whole skip the test.
void HiddenKeys::hideByTiles(ScoreTile &tile, Value state) {
  if (!state)
    return;
  Value nothing = mark();
  hideAtEdge(tile, context.runs->isEdge(state), [&](MutableArrayRef<Value> masked) {
    for (int64_t r = 0; r < g.tileRows; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = masked[r * tile.vectors + v];
        sum = b.select(context.runs->seenLanes(state, r, v), sum, nothing);
      }
  });
}

void HiddenKeys::hideAll(const KeyBlock &block, Value group, Value vector, int64_t vectors) {
  Value column = b.sub(b.mul(vector, g.lanes), block.lowKey), nothing = mark();
  Value row = b.mul(group, g.tileRows);
  for (int64_t r = 0; r < g.tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      b.store(nothing, memory.scores, b.add(b.add(b.mul(b.add(row, r), g.scoreStride), column), v * g.lanes));
}
