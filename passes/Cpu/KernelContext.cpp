// Derives the sizes of blocks and tiles from the schedule, and finds the keys that groups of rows see
// (KernelContext.h).
#include "passes/Cpu/KernelContext.h"
#include "passes/Analysis/ByteRows.h"
#include "passes/Analysis/Summation.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

static Geometry geometryOf(attn::CpuScheduleAttr schedule, const AttentionShape &shape) {
  Geometry g;
  g.tileRows = schedule.getTileRows();
  g.tileVectors = schedule.getTileVectors();
  g.rowBlock = schedule.getRowBlock();
  g.keyBlock = schedule.getKeyBlock();
  g.rowsPerItem = schedule.getRowsPerItem();
  g.lanes = schedule.getLanes();
  g.keyVectors = llvm::divideCeil(shape.keys, g.lanes);
  g.widthVectors = llvm::divideCeil(shape.width, g.lanes);
  g.manyKeyBlocks = g.keyBlock < g.keyVectors * g.lanes;
  g.keyBlock = std::min<int64_t>(g.keyBlock, llvm::alignTo(g.keyVectors, g.tileVectors) * g.lanes);
  g.chunks = llvm::divideCeil(shape.queries, g.rowsPerItem);
  g.keysPerItem = schedule.getKeysPerItem() ? schedule.getKeysPerItem() : shape.keys;
  g.parts = llvm::divideCeil(shape.keys, g.keysPerItem);
  int64_t innermost = shape.bounds.map ? shape.bounds.map->mostWidth : shape.keyAxes.back().extent;
  g.lineMargin = llvm::alignTo(innermost + g.lanes, g.lanes);
  g.lineStride = g.keyBlock + 2 * g.lineMargin;
  g.scoreStride = g.keyBlock + g.lanes;
  return g;
}

/// Returns how many groups of rows the engines of a stage multiply at once.
static int64_t groupsTogether(const AttentionStage &stage, const AttentionShape &shape, const Geometry &g) {
  auto groupsOf = [&](const CpuEngine &engine) {
    return engine.cost.groupsTogether(g.tileRows, 1, g.rowBlock, stage.target);
  };
  for (unsigned argument = 0; argument < stage.elements.size(); ++argument)
    if (int64_t groups = groupsOf(stage.engineOf(argument, argument)); groups > 1)
      return groups;
  return groupsOf(stage.engineOfContent(shape));
}

KernelContext::KernelContext(VectorBuilder &b, const AttentionShape &shape, AttentionStage attention)
    : b(b), shape(shape), stage(std::move(attention)), geometry(geometryOf(stage.schedule, shape)), positions(b, shape),
      live(b, shape, geometry, positions) {
  geometry.groupsTogether = groupsTogether(stage, shape, geometry);
  if (!shape.bounds.tiles)
    return;
  runs.emplace(b, shape, geometry, positions);
  geometry.manyKeyBlocks = runs->areMany();
}

Value KernelContext::viewOfTurn(const Buffer &buffer, Value turn) {
  int64_t floats = buffer.floats / geometry.headsTogether;
  return b.view(memory.local, b.add(b.mul(turn, floats * int64_t(sizeof(float))), buffer.offset), floats);
}

std::pair<Value, Value> KernelContext::liveOf(const KeyBlock &block, Value group) {
  Value low = block.lowKey, high = block.highKey;
  if (runs) {
    KeyRange seen = runs->keysOf(group);
    low = seen.low, high = seen.high;
  }
  int64_t rows = geometry.tileRows;
  return live.of(positionOf(block.firstRow, b.mul(group, rows)), rows, low, high);
}

KernelContext::LiveTogether KernelContext::liveTogether(const KeyBlock &block, Value firstGroup) {
  KeyRange all;
  Value some;
  for (int64_t number = 0; number < geometry.groupsTogether; ++number) {
    auto keys = liveOf(block, b.minimum(b.add(firstGroup, number), b.add(block.groups, -1)));
    Value own = live.meets(keys, block.lowKey, block.lowKey, block.highKey);
    all = all ? KeyRange{b.minimum(all.low, keys.first), b.maximum(all.high, keys.second)}
              : KeyRange{keys.first, keys.second};
    some = some ? arith::OrIOp::create(b.builder, some, own).getResult() : own;
  }
  Value low = shape.prefix ? block.lowKey : b.maximum(all.low, block.lowKey);
  return {{low, b.minimum(all.high, block.highKey)}, some};
}

void KernelContext::forLiveGroups(const KeyBlock &block, const std::function<void(Value group, Value high)> &body) {
  b.loop(b.index(0), block.groups, 1, [&](Value group) {
    auto [low, high] = liveOf(block, group);
    b.when(live.meets({low, high}, block.lowKey, block.lowKey, block.highKey), [&, high = high] { body(group, high); });
  });
}

bool KernelContext::isHuge(double scale, int64_t depth) const {
  return scoreDeviation > kHugeScores && shape.scoreFactor * std::abs(scale) * std::sqrt(double(depth)) > kLargeScores;
}

int64_t KernelMemory::bytesOf(unsigned argument) const {
  return cast<MemRefType>(arguments[argument].getType()).getElementTypeBitWidth() / 8;
}

const CpuEngine &AttentionStage::engineOf(unsigned argument, unsigned other) const {
  bool isOne = elements[argument] == elements[other] && schedule.getLanes() == target.lanes;
  return isOne ? engineFor(elements[argument], target) : fmaEngine();
}

const CpuEngine &AttentionStage::engineOfContent(const AttentionShape &shape) const {
  if (schedule.hasPhases())
    return fmaEngine();
  const CpuEngine *engine = nullptr;
  double scale = 1;
  for (const ContentTerm &term : shape.content) {
    if (term.inPlace)
      continue;
    const CpuEngine &own = engineOf(term.query.argument, term.key.argument);
    if (engine && (&own != engine || term.scale != scale))
      return fmaEngine();
    engine = &own;
    scale = term.scale;
    auto isRead = [&](unsigned argument) { return !isComputed(argument) || isScaled(argument); };
    auto areBytes = [&](unsigned argument) { return elements[argument] == ElementType::I8 && isRead(argument); };
    if (mayMultiplyBytes(shape) && areBytes(term.query.argument) && areBytes(term.key.argument) &&
        schedule.getLanes() == target.lanes)
      return engineOfCost(contentEngineFor(ElementType::I8, term.depth, target));
  }
  return engine ? *engine : fmaEngine();
}
