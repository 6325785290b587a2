// Emits a block of rows and the blocks of keys that it goes through. CpuKernel calls it for each block of rows of a
// work item.
#include "passes/Cpu/Strategy.h"
#include <limits>

using namespace mlir;
using namespace skewer;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Sets maxima, sums and accumulators to their values before the first key.
void CpuKernel::beginRows(const RowBlock &block) {
  const Geometry &g = *this;
  Value nothing = b.constant(-kInfinity);
  b.loop(b.index(0), b.mul(block.groups, g.tileRows), 1, [&](Value row) {
    if (!shape.direct)
      b.store(nothing, memory.maxima, b.mul(row, g.lanes));
    b.storeScalar(b.constantScalar(0), memory.sums, row);
    if (g.manyKeyBlocks && !shape.direct)
      b.storeScalar(b.constantScalar(-kInfinity), memory.scales, b.add(row, g.rowBlock));
    if (shape.further.lse)
      b.storeScalar(b.constantScalar(0), memory.shifts, row);
    for (int64_t v = 0; v < g.widthVectors; ++v)
      b.store(b.constant(0), memory.accumulators, b.add(b.mul(row, g.widthVectors * g.lanes), v * g.lanes));
  });
}

/// Returns whether some weighted sum of a block of rows is infinite or NaN: only 0 × a finite sum is 0. Several chains
/// of sums hide the latency of an addition. The last row counts more than once if the chains do not divide the rows.
static Value someAreNoNumbers(CpuKernel &kernel, Value rows) {
  constexpr int64_t kChains = 8;
  VectorBuilder &b = kernel.b;
  int64_t vectors = kernel.widthVectors, together = std::max<int64_t>(1, kChains / vectors);
  Value last = b.sub(rows, b.index(1));
  SmallVector<Value> tests(together * vectors, b.constant(0));
  tests = b.loop(b.index(0), rows, together, tests, [&](Value row, ValueRange so) {
    SmallVector<Value> next;
    for (int64_t r = 0; r < together; ++r) {
      Value from = b.mul(b.minimum(b.add(row, r), last), vectors * kernel.lanes);
      for (int64_t v = 0; v < vectors; ++v) {
        Value sum = b.load(kernel.memory.accumulators, b.add(from, v * kernel.lanes));
        next.push_back(b.fma(sum, b.constant(0), so[next.size()]));
      }
    }
    return next;
  });
  Value test = tests.pop_back_val();
  for (Value other : tests)
    test = b.addf(test, other);
  return b.compare(arith::CmpFPredicate::UNO, b.reduceAdd(test), b.constantScalar(0));
}

/// Resets the rows to their beginning, except the maxima: those of all keys are known now.
static void restartRows(CpuKernel &kernel, const RowBlock &block) {
  VectorBuilder &b = kernel.b;
  const KernelMemory &memory = kernel.memory;
  b.loop(b.index(0), b.mul(block.groups, kernel.tileRows), 1, [&](Value row) {
    b.storeScalar(b.constantScalar(0), memory.sums, row);
    if (kernel.manyKeyBlocks)
      b.storeScalar(b.constantScalar(-kInfinity), memory.scales, b.add(row, kernel.rowBlock));
    for (int64_t v = 0; v < kernel.widthVectors; ++v)
      b.store(b.constant(0), memory.accumulators,
              b.add(b.mul(row, kernel.widthVectors * kernel.lanes), v * kernel.lanes));
  });
}

/// Runs `weighKeys`, which goes through all keys of a block of rows, and repeats it if a sum is not finite. The
/// weights of a softmax are divided by their sum only after the product with the values. If values are near the end of
/// f32, a sum may be infinite; then the keys are gone through once more with smaller weights.
static void weighInRange(CpuKernel &kernel, RowBlock &block, const std::function<void()> &weighKeys) {
  VectorBuilder &b = kernel.b;
  auto constant = [&](bool is) -> Value { return arith::ConstantIntOp::create(b.builder, is, 1); };
  auto loop = scf::WhileOp::create(b.builder, TypeRange{b.builder.getI1Type()}, ValueRange{constant(true)});
  OpBuilder::InsertionGuard guard(b.builder);
  Block *before = b.builder.createBlock(&loop.getBefore(), {}, {b.builder.getI1Type()}, {b.builder.getLoc()});
  block.isSecond = arith::XOrIOp::create(b.builder, before->getArgument(0), constant(true));
  b.when(block.isSecond, [&] { restartRows(kernel, block); });
  weighKeys();
  Value again =
      arith::AndIOp::create(b.builder, before->getArgument(0), someAreNoNumbers(kernel, block.rows)).getResult();
  scf::ConditionOp::create(b.builder, again, ValueRange{again});
  b.builder.createBlock(&loop.getAfter(), {}, {b.builder.getI1Type()}, {b.builder.getLoc()});
  scf::YieldOp::create(b.builder, ValueRange{constant(false)});
}

/// Emits one block of rows: every key block in turn, then the division by the sums.
void CpuKernel::computeRowBlock(Value firstRow, Value rows) {
  const Geometry &g = *this;
  Value zero = b.index(0);
  RowBlock block{firstRow, rows, b.divide(b.add(rows, g.tileRows - 1), g.tileRows)};
  packQueries(block);
  forEach([&](CpuStrategy &strategy) { strategy.packQueries(block); });
  forEach([&](CpuStrategy &strategy) { strategy.prepareGates(block); });
  beginRows(block);
  b.loop(zero, block.groups, 1,
         [&](Value group) { forEach([&](CpuStrategy &strategy) { strategy.computeGroup(block, group); }); });
  b.loop(zero, rows, 1, [&](Value row) { forEach([&](CpuStrategy &strategy) { strategy.centreRow(block, row); }); });
  forEach([&](CpuStrategy &strategy) { strategy.centre(block); });
  forEach([&](CpuStrategy &strategy) { strategy.computeRows(block); });

  hideStoredWeights(block);

  int64_t blockVectors = g.keyBlock / g.lanes;
  Value low = zero, high = b.index(shape.keys);
  if (g.parts > 1) {
    KeyRange own = keysOfPart();
    low = own.low, high = own.high;
  }
  KeyRange keys = {low, high};
  std::tie(keys.low, keys.high) = live.of(firstRow, g.rowBlock, low, high);
  Value lowLive = shape.prefix ? low : b.maximum(keys.low, zero), highLive = keys.high;
  Value firstBlock = b.mul(b.divide(lowLive, g.keyBlock), blockVectors);
  Value endBlock = b.divide(b.add(b.maximum(highLive, zero), g.lanes - 1), g.lanes);
  auto weighKeys = [&] {
    if (runs)
      return runs->forEach(firstRow, [&](Value firstVector, Value endVector) {
        Value seen = b.less(b.mul(firstVector, g.lanes), highLive);
        b.when(arith::AndIOp::create(b.builder, seen, b.less(lowLive, b.mul(endVector, g.lanes))),
               [&] { computeKeyBlock(block, firstVector, endVector); });
      });
    b.loop(firstBlock, endBlock, blockVectors,
           [&](Value firstVector) { computeKeyBlock(block, firstVector, endBlock); });
  };
  if (shape.direct)
    weighKeys();
  else
    weighInRange(*this, block, weighKeys);
  if (g.parts > 1)
    finishPart({lowLive, highLive});
  else
    writeRows(firstRow, rows);
}

std::pair<Value, Value> CpuKernel::liveOf(const KeyBlock &block, Value group) {
  Value low = block.lowKey, high = block.highKey;
  if (runs) {
    KeyRange seen = runs->keysOf(group);
    low = seen.low, high = seen.high;
  }
  return live.of(positionOf(block.firstRow, b.mul(group, tileRows)), tileRows, low, high);
}

void CpuKernel::forLiveGroups(const KeyBlock &block, const std::function<void(Value group, Value high)> &body) {
  b.loop(b.index(0), block.groups, 1, [&](Value group) {
    auto [low, high] = liveOf(block, group);
    b.when(live.meets({low, high}, block.lowKey, block.lowKey, block.highKey), [&, high = high] { body(group, high); });
  });
}

/// Emits one block of keys: those from `firstVector` on, as many as a block has, before `endVector`.
void CpuKernel::computeKeyBlock(const RowBlock &rows, Value firstVector, Value endVector) {
  const Geometry &g = *this;
  Value lowKey = b.mul(firstVector, g.lanes);
  Value highKey = b.minimum(runs ? b.mul(endVector, g.lanes) : b.add(lowKey, g.keyBlock), keys());
  KeyBlock block{rows, lowKey, highKey};
  forEach([&](CpuStrategy &strategy) { strategy.computeBlock(block); });
  live.ofBlock = {};
  forEach([](CpuStrategy &strategy) { strategy.beginLines(); });
  biasLines(block);
  forEach([&](CpuStrategy &strategy) {
    if (KeyRange keys = strategy.liveKeys(block))
      live.ofBlock = keys;
  });
  meetKeys(block);
  scoreTiles(block, firstVector, endVector);
  if (streaming && buffers.values.floats) {
    auto [low, high] = live.of(block.firstRow, g.rowBlock, block.lowKey, block.highKey);
    low = shape.prefix ? block.lowKey : low;
    packValueRows(low, high);
    valueBase = b.mul(low, -valueStride);
  }
  weighValues(block);
  live.ofBlock = {};
}

/// Adds the terms of a block of keys to the lines of biases of a block of rows, one tile of keys after the other.
void CpuKernel::meetKeys(const KeyBlock &block) {
  const Geometry &g = *this;
  if (llvm::none_of(strategies, [](const auto &strategy) { return strategy->meetsKeys(); }))
    return;
  auto tile = [&](Value vector, int64_t vectors) {
    Value key = b.mul(vector, g.lanes);
    auto seen = live.of(block.firstRow, g.rowBlock, block.lowKey, block.highKey);
    b.when(live.meets(seen, block.lowKey, key, b.add(key, vectors * g.lanes)),
           [&] { forEach([&](CpuStrategy &strategy) { strategy.meetKeys(block, vector, vectors); }); });
  };
  Value first = b.divide(block.lowKey, g.lanes), end = b.divide(b.add(block.highKey, g.lanes - 1), g.lanes);
  Value whole = b.add(first, b.mul(b.divide(b.sub(end, first), g.tileVectors), g.tileVectors));
  b.loop(first, whole, g.tileVectors, [&](Value vector) { tile(vector, g.tileVectors); });
  b.loop(whole, end, 1, [&](Value vector) { tile(vector, 1); });
}

/// Returns whether some row of the block sees some key of these vectors, counted from the first vector of the block;
/// null: not known.
Value CpuKernel::isLive(Value vector, int64_t vectors) {
  for (const auto &strategy : strategies)
    if (Value live = strategy->isLive(vector, vectors))
      return live;
  return {};
}

/// Emits the score tiles of a block, with panels in the outer loop and row groups in the inner loop, so that a panel
/// stays in L1 while every group uses it.
void CpuKernel::scoreTiles(const KeyBlock &block, Value firstVector, Value endVector) {
  const Geometry &g = *this;
  Value zero = b.index(0);
  auto forGroups = [&](Value vector, int64_t vectors, llvm::function_ref<void(Value group)> tile) {
    b.loop(zero, block.groups, 1, [&](Value group) {
      if (!live.isLimited())
        return tile(group);
      Value key = b.mul(vector, g.lanes);
      b.when(live.meets(liveOf(block, group), block.lowKey, key, b.add(key, vectors * g.lanes)), [&] { tile(group); });
    });
  };
  auto tileLiveGroups = [&](Value vector, int64_t vectors, bool last) {
    if (passesByChunks()) {
      int64_t chunk = summationOfContent().chunk;
      for (int64_t first = 0; first + chunk < g.depth; first += chunk)
        forGroups(vector, vectors, [&](Value group) { leaveChunk(block, group, vector, vectors, first); });
    }
    forGroups(vector, vectors, [&](Value group) {
      if (runs)
        scoreKnownTile(block, group, vector, vectors, last);
      else
        scoreTile(block, group, vector, vectors, last);
    });
  };
  auto tileAllGroups = [&](Value vector, int64_t vectors, bool last) {
    Value some = isLive(b.sub(vector, firstVector), vectors);
    if (!some)
      return tileLiveGroups(vector, vectors, last);
    b.when(
        some, [&] { tileLiveGroups(vector, vectors, last); },
        [&] {
          Value column = b.mul(b.sub(vector, firstVector), g.lanes), nothing = hidden();
          b.loop(zero, b.mul(block.groups, g.tileRows), 1, [&](Value row) {
            for (int64_t v = 0; v < vectors; ++v)
              b.store(nothing, memory.scores, b.add(b.add(b.mul(row, g.scoreStride), column), v * g.lanes));
          });
        });
  };
  Value end = b.minimum(b.add(firstVector, g.keyBlock / g.lanes), endVector);
  // With a run-time length, the last keys are computed in single vectors: a whole tile would have up to three too many.
  if (shape.bounds.keyLength && !runs) {
    Value whole = b.mul(b.divide(b.sub(end, firstVector), g.tileVectors), g.tileVectors);
    whole = b.add(firstVector, whole);
    b.loop(firstVector, whole, g.tileVectors, [&](Value vector) { tileAllGroups(vector, g.tileVectors, false); });
    b.loop(whole, end, 1, [&](Value vector) { tileAllGroups(vector, 1, false); });
    return;
  }
  int64_t inTiles = g.keyVectors - (dotKeys > 0), rest = inTiles % g.tileVectors;
  if (rest == 0 && shape.keys % g.lanes && !dotKeys)
    rest = g.tileVectors;
  Value lastWhole = b.index(inTiles - rest);
  b.loop(firstVector, b.minimum(end, lastWhole), g.tileVectors,
         [&](Value vector) { tileAllGroups(vector, g.tileVectors, false); });
  if (rest)
    b.when(b.less(lastWhole, end), [&] { tileAllGroups(lastWhole, rest, !dotKeys); });
  if (dotKeys)
    b.when(b.less(b.index(inTiles), end), [&] { tileAllGroups(b.index(inTiles), 1, true); });
}

/// Turns the scores of a block into weights, and adds up weights × values.
void CpuKernel::weighValues(const KeyBlock &block) {
  const Geometry &g = *this;
  b.loop(b.index(0), block.groups, 1, [&](Value group) {
    auto [low, high] = liveOf(block, group);
    auto body = [&, low = low, high = high] {
      Value lowVector = b.divide(low, g.lanes), highVector = b.divide(b.add(high, g.lanes - 1), g.lanes);
      SmallVector<std::pair<Value, Value>> runs = {{lowVector, highVector}};
      if (shape.prefix) {
        Value end = b.divide(b.add(live.prefixEnd(block.lowKey, high), g.lanes - 1), g.lanes);
        runs = {{b.divide(block.lowKey, g.lanes), end}, {b.maximum(lowVector, end), highVector}};
      }
      Value firstOfGroup = b.mul(group, g.tileRows);
      b.loop(firstOfGroup, b.add(firstOfGroup, g.tileRows), 1, [&](Value row) {
        leaveScores(block, row, block.lowKey, runs);
        if (shape.direct)
          rowTotal(row, block.lowKey, runs);
        else
          rowSoftmax(block, row, runs);
      });
      accumulateValues(group, block.firstRow, block.lowKey, low, high);
      forEach([&](CpuStrategy &strategy) { strategy.addToValues({group, block.firstRow, block.lowKey, low, high}); });
    };
    if (live.isLimited())
      b.when(live.meets({low, high}, block.lowKey, block.lowKey, block.highKey), body);
    else
      body();
  });
}
