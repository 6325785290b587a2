// One tile of scores: the matmul, then everything that is added to it, then the mask.
#include "passes/Cpu/CpuKernel.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// The keys in [low, high) that some row of [firstRow, firstRow + rows) may see.
std::pair<Value, Value> CpuKernel::liveKeys(Value firstRow, int64_t rows, Value low, Value high) {
  Value lowest = low;
  if (shape.visible && shape.visible->low != INT64_MIN)
    low = b.maximum(low, b.add(firstRow, lowestVisible()));
  if (shape.visible && shape.visible->high != INT64_MAX)
    high = b.minimum(high, b.add(b.add(firstRow, highestVisible()), (rows - 1) * rowStep + 1));
  if (lowVisible) {
    low = b.maximum(low, lowVisible);
    high = b.minimum(high, highVisible);
  }
  if (lowBlock) {
    low = b.maximum(low, lowBlock);
    high = b.minimum(high, highBlock);
  }
  if (shape.prefix)
    low = b.maximum(low, prefixEnd(lowest, high));
  return {low, high};
}

/// Where the keys from `lowKey` on end that rows see although their interval begins later; at `lowKey` if there are
/// none before `high`.
Value CpuKernel::prefixEnd(Value lowKey, Value high) {
  return b.maximum(lowKey, b.minimum(b.index(shape.prefix), high));
}

/// Whether some of the keys in [key, end) are among `live`, as liveKeys says, or in the prefix.
Value CpuKernel::meetsLive(std::pair<Value, Value> live, Value lowKey, Value key, Value end) {
  auto [low, high] = live;
  Value some = arith::AndIOp::create(b.builder, b.less(key, high), b.less(low, end));
  if (!shape.prefix)
    return some;
  return arith::OrIOp::create(b.builder, some, b.less(key, prefixEnd(lowKey, high)));
}

void CpuKernel::scoreTile(Value group, Value firstRow, Value lowKey, Value vector, int64_t vectors, bool last) {
  Value row = b.mul(group, tileRows);         // within the block
  Value position = positionOf(firstRow, row); // of the tile's first query
  Value key = b.mul(vector, lanes);           // of the tile's first key
  Value column = b.sub(key, lowKey);          // within the key block

  // Scores that may be large are summed up in chunks, which are held where the scores will be: one chain of products
  // rounds at the size of its result each time.
  Value held = b.add(b.mul(row, scoreStride), column);
  SmallVector<Value> places, sums(tileRows * vectors, b.constant(0));
  for (int64_t r = 0; r < tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      places.push_back(b.add(held, r * scoreStride + v * lanes));
  if (depth)
    sums =
        sumInChunks(b, {0, tileRows, 0, vectors}, depth, summationOfContent(), scoresBuffer, places,
                    [&](const TilePart &part, Value first, int64_t steps, SmallVector<Value> start) {
                      if (strided)
                        return stridedTile(row, position, vector, part, first, steps, std::move(start));
                      return multiplyPart(b, part, steps, std::move(start), {queriesBuffer, b.mul(row, depth), depth},
                                          {keysBuffer, b.mul(vector, panelStride), panelStride}, first);
                    });
  // Everything but the content is added last, in one rounding. As the accumulators' initial value it would be free of
  // this add, but each of the `depth` products would then round at the size of the bias: measured 4.3e-6 of the largest
  // output against 1.9e-6 on a 64x64 map with unit-normal tables.
  Value nothing = b.constant(-std::numeric_limits<float>::infinity());
  auto addBias = [&](Value buffer, Value origin, int64_t rowStride, bool mayHide) {
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Value term = b.load(buffer, b.add(origin, r * rowStride + v * lanes)), &sum = sums[r * vectors + v];
        sum = b.addf(sum, term);
        if (mayHide)
          sum = b.select(b.compare(arith::CmpFPredicate::OEQ, term, nothing), nothing, sum);
      }
  };
  for (unsigned number = 0; number < shape.offsets.size(); ++number) {
    if (strided || !readsWhole(shape.offsets[number]))
      continue;
    // Row r of the group reads one element earlier than row r-1: the skew.
    const PackedTable &table = tables[number];
    Value start = logitsStart(number, group, firstRow, lowKey);
    Value origin = b.add(b.add(b.add(b.mul(row, table.logitsStride), table.margin), firstColumn(number)),
                         b.sub(b.sub(key, position), b.mul(start, lanes)));
    addBias(logitsBuffers[number], origin, table.logitsStride - 1, false);
  }
  for (auto [number, term] : llvm::enumerate(shape.rows)) {
    if (!term.keySide && term.kind == RowKind::Offset)
      addOffsetLine(number, group, firstRow, lowKey, key, vectors, sums);
    else if (term.keySide && term.kind == RowKind::Axis)
      addKeyLine(number, position, key, vectors, sums);
  }
  addPrepared(row, position, key, vectors, last, sums);
  if (lineBias)
    addBias(lineBuffer, b.add(b.add(b.mul(row, lineStride), lineMargin), column), lineStride, lineMask);
  hideMasked(position, key, vectors, sums);
  if (last && shape.keys % lanes) {
    Value inside = arith::CmpIOp::create(
        b.builder, arith::CmpIPredicate::slt, b.laneNumbers(),
        arith::ConstantOp::create(b.builder, DenseElementsAttr::get(b.integers, int32_t(shape.keys % lanes))));
    for (int64_t r = 0; r < tileRows; ++r) {
      Value &sum = sums[r * vectors + vectors - 1];
      sum = b.select(inside, sum, nothing);
    }
  }
  if (shape.visible) {
    const subscript::Range &visible = *shape.visible;
    // Tiles that every row sees whole carry no test.
    Value edge;
    auto either = [&](Value condition) {
      edge = edge ? arith::OrIOp::create(b.builder, edge, condition).getResult() : condition;
    };
    if (visible.high != INT64_MAX)
      either(b.less(b.add(position, highestVisible()), b.add(key, vectors * lanes - 1)));
    if (visible.low != INT64_MIN) {
      Value begins = b.less(key, b.add(b.add(position, lowestVisible()), (tileRows - 1) * rowStep));
      if (shape.prefix)
        begins = arith::AndIOp::create(b.builder, begins, b.less(b.index(shape.prefix), b.add(key, vectors * lanes)));
      either(begins);
    }
    auto branch = scf::IfOp::create(b.builder, ValueRange(sums).getTypes(), edge, true);
    b.builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b.builder, sums);
    b.builder.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> masked = sums;
    Value numbers = b.laneNumbers();
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        // lane + key + v*lanes - (position + r) against the interval.
        auto test = [&](arith::CmpIPredicate predicate, Value bound, bool prefix) {
          Value limit = b.sub(b.add(b.add(position, bound), r * rowStep - v * lanes), key);
          Value seen = arith::CmpIOp::create(b.builder, predicate, numbers, b.broadcastIndex(limit));
          if (prefix) {
            Value end = b.broadcastIndex(b.sub(b.index(shape.prefix - v * lanes), key));
            Value first = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, numbers, end);
            seen = arith::OrIOp::create(b.builder, seen, first);
          }
          Value &sum = masked[r * vectors + v];
          sum = b.select(seen, sum, nothing);
        };
        if (visible.high != INT64_MAX)
          test(arith::CmpIPredicate::sle, highestVisible(), false);
        if (visible.low != INT64_MIN)
          test(arith::CmpIPredicate::sge, lowestVisible(), shape.prefix > 0);
      }
    scf::YieldOp::create(b.builder, masked);
    sums = SmallVector<Value>(branch.getResults());
    b.builder.setInsertionPointAfter(branch);
  }

  Value rowMaxima = b.mul(row, lanes);
  for (int64_t r = 0; r < tileRows; ++r) {
    Value at = b.add(rowMaxima, r * lanes);
    Value maximum = b.load(maximaBuffer, at);
    for (int64_t v = 0; v < vectors; ++v) {
      Value sum = sums[r * vectors + v];
      maximum = b.larger(sum, maximum);
      b.store(sum, scoresBuffer, places[r * vectors + v]);
    }
    b.store(maximum, maximaBuffer, at);
  }
}
