// Plans the sizes of all that a kernel holds, and its place in the workspaces. The constructor of CpuKernel calls it,
// before anything is emitted.
#include "passes/Analysis/DotKeys.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Cpu/Strategy.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

CpuKernel::CpuKernel(VectorBuilder &b, const AttentionShape &shape, AttentionStage stage)
    : b(b), shape(shape), stage(std::move(stage)), engine(engineOfContent()), positions(b, shape),
      live(b, shape, *this, positions) {
  planGeometry();
  planContent();
  strategies = makeStrategies(*this);
  forEach([&](CpuStrategy &strategy) { rowStep = std::max(rowStep, strategy.rowsApart()); });
  if (rowStep > 1)
    chunks = rowStep;
  if (parts == 1)
    forEach([&](CpuStrategy &strategy) { headsTogether = std::max(headsTogether, strategy.headsOfPhase()); });
  planBuffers();
}

void CpuKernel::planGeometry() {
  Geometry &g = *this;
  attn::CpuScheduleAttr schedule = stage.schedule;
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
  if (shape.bounds.tiles) {
    runs.emplace(b, shape, *this, positions);
    g.manyKeyBlocks = runs->areMany();
  }
  int64_t innermost = shape.bounds.map ? shape.bounds.map->mostWidth : shape.keyAxes.back().extent;
  g.lineMargin = llvm::alignTo(innermost + g.lanes, g.lanes);
  g.lineStride = g.keyBlock + 2 * g.lineMargin;
  g.scoreStride = g.keyBlock + g.lanes;
}

const CpuEngine &CpuKernel::engineOf(unsigned argument, unsigned other) const {
  ElementType element = stage.elements[argument];
  bool isOne = element == stage.elements[other] && stage.schedule.getLanes() == stage.target.lanes;
  return isOne ? engineFor(element, stage.target) : fmaEngine();
}

/// Returns the engine for the element type that all queries and keys have in memory. An engine that packs no floats
/// scales the sums, so all terms must have one scale; and strategies with phases add rows of a table to the keys.
const CpuEngine &CpuKernel::engineOfContent() const {
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
  }
  return engine && !stage.schedule.hasPhases() ? *engine : fmaEngine();
}

void CpuKernel::planContent() {
  for (const ContentTerm &term : shape.content) {
    if (term.inPlace) {
      contentOffset.push_back(kInPlace);
      continue;
    }
    std::optional<int64_t> shared;
    for (auto [before, offset] : llvm::zip(shape.content, contentOffset)) {
      const Walk &a = before.query, &q = term.query;
      if (engine.packsFloats() && !before.inPlace && a.argument == q.argument && a.base == q.base &&
          a.query == q.query && a.depth == q.depth && before.depth == term.depth && before.scale != 0 &&
          std::isfinite(term.scale / before.scale))
        shared = offset;
    }
    contentOffset.push_back(shared.value_or(depth));
    if (!shared)
      depth += engine.stepsOf(term.depth);
  }
  panelStride = CpuEngine::panelStride(depth, lanes);
}

/// Decides how many keys of the last vector are multiplied as dot products. Sums that are held in chunks stay products
/// of whole vectors.
void CpuKernel::planDots() {
  if (!engine.packsFloats() || !mayMultiplyAsDots(shape) || summationOfContent().chunk < std::min(depth, kChain) ||
      depth > kChain * lanes ||
      llvm::any_of(strategies, [](const auto &strategy) { return strategy->readsKeyPanels(); }))
    return;
  dotKeys = keysMultipliedAsDots(shape.keys, depth, lanes);
}

void CpuKernel::planBuffers() {
  double variance = 0;
  for (const ContentTerm &term : shape.content)
    variance += term.scale * term.scale * double(term.depth);
  Geometry &g = *this;
  hasLine.assign(size_t(shape.sums), false);
  buffers.lines.resize(size_t(shape.sums));
  forEach([&](CpuStrategy &strategy) {
    variance += strategy.variance();
    if (strategy.lineUse() != CpuStrategy::LineUse::None)
      hasLine[strategy.sum()] = true;
    lineMask |= strategy.lineUse() == CpuStrategy::LineUse::Hides;
  });
  scoreDeviation = std::sqrt(variance);
  planDots();
  // With `streaming`, each key is read once, and its block meets the values while it is in the caches.
  bool inPlace = llvm::any_of(shape.content, [](const ContentTerm &term) { return term.inPlace; });
  bool testsKeys = hidesKeys(shape) && std::min(g.keyBlock, shape.keys) > kChain;
  g.streaming = inPlace && g.chunks == 1 && shape.queries <= g.rowBlock && shape.valueTerms.empty() && !testsKeys;
  forEach([&](CpuStrategy &strategy) { strategy.plan(layout); });

  auto reserve = [&](Buffer &buffer, int64_t floats, Layout::Zone zone = Layout::Zone::Panels) {
    layout.reserve(buffer, floats, zone);
  };
  reserve(buffers.keys,
          g.depth ? g.headsTogether * llvm::alignTo(g.keyVectors, g.tileVectors) * g.panelStride : 0);
  reserve(buffers.dotKeys, dotKeys * g.depth);
  // Values that must be widened are widened once if they are read more than once.
  bool copyValues = shape.value.depth != 1 || shape.width % g.lanes != 0 || isComputed(shape.value.argument) ||
                    ((isNarrow(shape.value.argument) || shape.value.picked) && !g.streaming);
  forEach([&](CpuStrategy &strategy) { copyValues |= strategy.changesValues(); });
  int64_t heldKeys = g.streaming ? std::min(g.keyBlock, shape.keys) : shape.keys;
  reserve(buffers.values, copyValues ? g.headsTogether * heldKeys * g.widthVectors * g.lanes : 0);
  int64_t longest = 0; // depth of the keys without memory
  for (const ContentTerm &term : shape.content)
    longest = std::max(longest, isComputed(term.key.argument) && !term.inPlace ? term.depth : 0);
  forEach([&](CpuStrategy &strategy) {
    if (auto [walk, depth] = strategy.packedKeys(); walk && isComputed(walk->argument))
      longest = std::max(longest, depth);
  });
  reserve(buffers.computedRows, longest * g.lanes);
  reserve(buffers.queries, g.rowBlock * std::max<int64_t>(g.depth, 1));
  reserve(buffers.scores, g.rowBlock * g.scoreStride);
  reserve(buffers.accumulators, g.rowBlock * g.widthVectors * g.lanes);
  reserve(buffers.maxima, g.rowBlock * g.lanes);
  reserve(buffers.sums, g.rowBlock);
  reserve(buffers.scales, 2 * g.rowBlock);
  reserve(buffers.shifts, shape.further.lse ? g.rowBlock : 0);
  for (auto [line, used] : llvm::zip(buffers.lines, hasLine))
    reserve(line, used ? llvm::alignTo(g.rowBlock, g.lanes) * g.lineStride : 0, Layout::Zone::Line);
  layout.place();
}

bool CpuKernel::isHuge(double scale, int64_t depth) const {
  return scoreDeviation > kHugeScores && std::abs(scale) * std::sqrt(double(depth)) > kLargeScores;
}

Summation CpuKernel::summationOfContent() const {
  bool large = false;
  for (const ContentTerm &term : shape.content) {
    if (isHuge(term.scale, term.depth))
      return kCompensated;
    large |= std::abs(term.scale) * std::sqrt(double(term.depth)) > kLargeScores;
  }
  return {chunkOf(large ? kChunk : rowStep > 1 ? kStridedChunk : kChain, depth), false, rowStep > 1};
}

void CpuKernel::openBuffers() {
  auto open = [&](const Buffer &buffer) { return b.view(memory.local, b.index(buffer.offset), buffer.floats); };
  memory.keys = open(buffers.keys);
  memory.dotKeys = open(buffers.dotKeys);
  memory.values = buffers.values.floats ? open(buffers.values) : memory.arguments[shape.value.argument];
  memory.queries = open(buffers.queries);
  memory.scores = open(buffers.scores);
  memory.accumulators = open(buffers.accumulators);
  memory.maxima = open(buffers.maxima);
  memory.sums = open(buffers.sums);
  memory.scales = open(buffers.scales);
  if (shape.further.lse)
    memory.shifts = open(buffers.shifts);
  if (shape.sums == 1 && hasLine[0])
    memory.line = open(buffers.lines[0]);
  forEach([](CpuStrategy &strategy) { strategy.open(); });
}
