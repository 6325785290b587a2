// Emits a block of rows and the blocks of keys that it goes through. CpuKernel calls it for each block of rows of a
// work item.
#include "passes/Cpu/CpuKernel.h"
#include "passes/Cpu/Strategy.h"

using namespace mlir;
using namespace skewer;

/// Sets the rows of a block to their state before the first key.
void CpuKernel::beginRows(const RowBlock &block) {
  b.loop(b.index(0), b.mul(block.groups, g.tileRows), 1, [&](Value row) {
    softmax.begin(row);
    sums.begin(row);
  });
}

/// Resets the rows to their beginning, except the maxima: those of all keys are known now.
void CpuKernel::restartRows(const RowBlock &block) {
  b.loop(b.index(0), b.mul(block.groups, g.tileRows), 1, [&](Value row) {
    softmax.restart(row);
    sums.begin(row);
  });
}

/// Runs `weighKeys`, which goes through all keys of a block of rows, and repeats it if a sum is not finite. The
/// weights of a softmax are divided by their sum only after the product with the values. If values are near the end of
/// f32, a sum may be infinite; then the keys are gone through once more with smaller weights. With loose references
/// (Weighing), so may be the sum of weights, and the second pass subtracts the running maxima of all keys.
void CpuKernel::weighInRange(RowBlock &block, const std::function<void()> &weighKeys) {
  auto constant = [&](bool is) -> Value { return arith::ConstantIntOp::create(b.builder, is, 1); };
  auto loop = scf::WhileOp::create(b.builder, TypeRange{b.builder.getI1Type()}, ValueRange{constant(true)});
  OpBuilder::InsertionGuard guard(b.builder);
  Block *before = b.builder.createBlock(&loop.getBefore(), {}, {b.builder.getI1Type()}, {b.builder.getLoc()});
  block.isSecond = arith::XOrIOp::create(b.builder, before->getArgument(0), constant(true));
  b.when(block.isSecond, [&] { restartRows(block); });
  weighKeys();
  softmax.addTotals(block);
  Value some = sums.someAreNoNumbers(block.rows);
  if (g.weighing.looseReferences)
    some = arith::OrIOp::create(b.builder, some, softmax.someSumsAreNoNumbers(block.rows));
  Value again = arith::AndIOp::create(b.builder, before->getArgument(0), some).getResult();
  scf::ConditionOp::create(b.builder, again, ValueRange{again});
  b.builder.createBlock(&loop.getAfter(), {}, {b.builder.getI1Type()}, {b.builder.getLoc()});
  scf::YieldOp::create(b.builder, ValueRange{constant(false)});
}

/// Emits one block of rows: every key block in turn, then the division by the sums.
void CpuKernel::computeRowBlock(Value firstRow, Value rows) {
  Value zero = b.index(0);
  RowBlock block{firstRow, rows, b.divide(b.add(rows, g.tileRows - 1), g.tileRows)};
  content.packQueries(block);
  for (const auto &strategy : strategies)
    strategy->packQueries(block);
  beginRows(block);
  b.loop(zero, block.groups, 1, [&](Value group) {
    for (const auto &strategy : strategies)
      strategy->computeGroup(block, group);
  });
  b.loop(zero, rows, 1, [&](Value row) {
    for (const auto &strategy : strategies)
      strategy->centreRow(block, row);
  });
  for (const auto &strategy : strategies)
    strategy->centre(block);
  for (const auto &strategy : strategies)
    strategy->computeRows(block);

  weights.hideAll(block);

  LiveKeys &live = context.live;
  int64_t blockVectors = g.keyBlock / g.lanes;
  Value low = zero, high = b.index(shape.keys);
  if (parts.exist()) {
    KeyRange own = parts.keys();
    low = own.low, high = own.high;
  }
  KeyRange keys = {low, high};
  std::tie(keys.low, keys.high) = live.of(firstRow, g.rowBlock, low, high);
  Value lowLive = shape.prefix ? low : b.maximum(keys.low, zero), highLive = keys.high;
  Value firstBlock = b.mul(b.divide(lowLive, g.keyBlock), blockVectors);
  Value endBlock = b.divide(b.add(b.maximum(highLive, zero), g.lanes - 1), g.lanes);
  auto weighKeys = [&] {
    if (context.runs)
      return context.runs->forEach(firstRow, [&](Value firstVector, Value endVector) {
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
    weighInRange(block, weighKeys);
  auto write = [&] { result.write(firstRow, rows); };
  if (parts.exist())
    parts.finish({lowLive, highLive}, write);
  else
    write();
}

/// Emits one block of keys: those from `firstVector` on, as many as a block has, before `endVector`.
void CpuKernel::computeKeyBlock(const RowBlock &rows, Value firstVector, Value endVector) {
  Value lowKey = b.mul(firstVector, g.lanes);
  Value highKey =
      b.minimum(context.runs ? b.mul(endVector, g.lanes) : b.add(lowKey, g.keyBlock), context.positions.keys());
  KeyBlock block{rows, lowKey, highKey};
  for (const auto &strategy : strategies)
    strategy->computeBlock(block);
  context.live.ofBlock = {};
  for (const auto &strategy : strategies)
    strategy->beginLines();
  lines.make(block);
  for (const auto &strategy : strategies)
    if (KeyRange keys = strategy->liveKeys(block))
      context.live.ofBlock = keys;
  meetKeys(block);
  tiles.compute(block, firstVector, endVector);
  values.packBlock(block);
  weighValues(block);
  context.live.ofBlock = {};
}

/// Adds the terms of a block of keys to the lines of biases of a block of rows, one tile of keys after the other.
void CpuKernel::meetKeys(const KeyBlock &block) {
  if (llvm::none_of(strategies,
                    [](const auto &strategy) { return strategy->lineUse() == CpuStrategy::LineUse::AddsByTile; }))
    return;
  LiveKeys &live = context.live;
  auto tile = [&](Value vector, int64_t vectors) {
    Value key = b.mul(vector, g.lanes);
    auto seen = live.of(block.firstRow, g.rowBlock, block.lowKey, block.highKey);
    b.when(live.meets(seen, block.lowKey, key, b.add(key, vectors * g.lanes)), [&] {
      for (const auto &strategy : strategies)
        strategy->meetKeys(block, vector, vectors);
    });
  };
  Value first = b.divide(block.lowKey, g.lanes), end = b.divide(b.add(block.highKey, g.lanes - 1), g.lanes);
  Value whole = b.add(first, b.mul(b.divide(b.sub(end, first), g.tileVectors), g.tileVectors));
  b.loop(first, whole, g.tileVectors, [&](Value vector) { tile(vector, g.tileVectors); });
  b.loop(whole, end, 1, [&](Value vector) { tile(vector, 1); });
}

/// Returns the runs of vectors of keys that a group of rows sees in a block: those from `keys.low` on, and the prefix.
SmallVector<std::pair<Value, Value>> CpuKernel::runsOf(const KeyBlock &block, const KeyRange &keys) {
  Value lowVector = b.divide(keys.low, g.lanes), highVector = b.divide(b.add(keys.high, g.lanes - 1), g.lanes);
  if (!shape.prefix)
    return {{lowVector, highVector}};
  Value end = b.divide(b.add(context.live.prefixEnd(block.lowKey, keys.high), g.lanes - 1), g.lanes);
  return {{b.divide(block.lowKey, g.lanes), end}, {b.maximum(lowVector, end), highVector}};
}

/// Turns the scores of a group of rows into weights, and calls `addValues` with the runs of vectors of keys that have
/// weights.
void CpuKernel::weighGroup(const KeyBlock &block, Value group, const KeyRange &keys,
                           function_ref<void(const WeightedRows &, VectorRuns)> addValues) {
  SmallVector<std::pair<Value, Value>> runs = runsOf(block, keys);
  Value firstOfGroup = b.mul(group, g.tileRows);
  if (weights.areResult())
    b.loop(firstOfGroup, b.add(firstOfGroup, g.tileRows), 1, [&](Value row) { weights.leaveScores(block, row, runs); });
  softmax.weigh(block, firstOfGroup, runs);
  WeightedRows rows{group, block.firstRow, block.lowKey, keys.low, keys.high};
  addValues(rows, runs);
  for (const auto &strategy : strategies)
    strategy->addToValues(rows);
}

/// Turns the scores of a block into weights, and adds up weights × values.
void CpuKernel::weighValues(const KeyBlock &block) {
  if (packedWeights.areUsed())
    return weighPacked(block);
  LiveKeys &live = context.live;
  b.loop(b.index(0), block.groups, 1, [&](Value group) {
    auto [low, high] = context.liveOf(block, group);
    auto body = [&, low = low, high = high] {
      weighGroup(block, group, {low, high}, [&](const WeightedRows &rows, VectorRuns) { sums.add(rows); });
    };
    if (live.isLimited())
      b.when(live.meets({low, high}, block.lowKey, block.lowKey, block.highKey), body);
    else
      body();
  });
}

/// Weighs the values of a block with an engine that multiplies the packed weights of several groups with them, for the
/// keys that some of these groups see.
void CpuKernel::weighPacked(const KeyBlock &block) {
  b.loop(b.index(0), block.groups, g.groupsTogether, [&](Value firstGroup) {
    if (!context.live.isLimited())
      return weighTogether(block, firstGroup, {block.lowKey, block.highKey});
    auto seen = context.liveTogether(block, firstGroup);
    b.when(seen.some, [&] { weighTogether(block, firstGroup, seen.keys); });
  });
}

/// Turns the scores of a group of rows into packed weights, for the keys of `all`. If some value is not finite, it
/// multiplies the keys that the group sees, `keys`, with the values instead.
void CpuKernel::weighOrPack(const KeyBlock &block, Value group, const KeyRange &keys, const KeyRange &all) {
  Value finite = values.areFinite();
  auto ifFinite = [&](const std::function<void()> &then, const std::function<void()> &otherwise) {
    finite ? b.when(finite, then, otherwise) : then();
  };
  auto add = [&](const WeightedRows &rows, VectorRuns) { sums.add(rows); };
  if (g.weighing.arePowers) {
    auto pack = [&] {
      SmallVector<std::pair<Value, Value>> runs = runsOf(block, keys);
      auto scores = [&](Value row, Value vector, int64_t count) {
        return tiles.scoresOfRow(block, row, vector, count);
      };
      softmax.raise(block, b.mul(group, g.tileRows), runs, scores, [&] { sums.rescale(group); });
      packedWeights.packPowers(block, group, runs, all, scores);
    };
    return ifFinite(pack, [&] {
      tiles.addTermsByRows(block, group, runsOf(block, keys));
      weighGroup(block, group, keys, add);
    });
  }
  weighGroup(block, group, keys, [&](const WeightedRows &rows, VectorRuns runs) {
    auto pack = [&] {
      sums.rescale(group);
      packedWeights.pack(block, group, runs, all);
    };
    ifFinite(pack, [&] { add(rows, runs); });
  });
}

/// Turns the scores of several groups into packed weights, and multiplies these with the values. If some value is not
/// finite, each group multiplies the keys that it sees instead.
void CpuKernel::weighTogether(const KeyBlock &block, Value firstGroup, const KeyRange &all) {
  LiveKeys &live = context.live;
  Value end = b.minimum(b.add(firstGroup, g.groupsTogether), block.groups);
  b.loop(firstGroup, end, 1, [&](Value group) {
    if (!live.isLimited())
      return weighOrPack(block, group, all, all);
    auto [low, high] = context.liveOf(block, group);
    b.when(
        live.meets({low, high}, block.lowKey, block.lowKey, block.highKey),
        [&, low = low, high = high] {
          weighOrPack(block, group, {low, high}, all);
        },
        [&] { packedWeights.pack(block, group, {}, all); });
  });
  auto multiply = [&] { packedWeights.multiply(block, firstGroup, all); };
  Value finite = values.areFinite();
  finite ? b.when(finite, multiply) : multiply();
}
