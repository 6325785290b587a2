// Plans a fused attention, and emits its phases: their functions, the work items, and what is made once for a head.
// Blocks.cpp emits the blocks of rows and keys within an item.
#include "passes/Cpu/CpuKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Cpu/Strategy.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

CpuKernel::CpuKernel(VectorBuilder &b, const AttentionShape &shape, AttentionStage stage)
    : context(b, shape, std::move(stage)), packer(context), content(context, packer), lines(context, strategies),
      hidden(context), softmax(context), values(context, packer), parts(context, softmax), b(b), shape(shape),
      g(context.geometry), upcoming(context), sums(context, values, hidden, softmax, upcoming),
      packedWeights(context, values, softmax, upcoming), weights(context, softmax), stream(context),
      result(context, softmax, weights, stream), strategies(makeStrategies(*this)),
      tiles(context, content, lines, hidden, softmax, strategies), items(context, content, values, strategies) {
  plan();
}

CpuKernel::~CpuKernel() = default;

/// Completes the sizes with what strategies ask for, and places the buffers.
void CpuKernel::plan() {
  Geometry &sizes = context.geometry;
  double variance = 0;
  int64_t longest = 0; // depth of the keys without memory
  auto contentUse = ContentUse::None;
  bool valuesChange = false, inPlace = false;
  for (const ContentTerm &term : shape.content) {
    variance += term.scale * term.scale * double(term.depth);
    inPlace |= term.inPlace;
    bool packsComputed = context.stage.isComputed(term.key.argument) ||
                         (context.stage.isComputed(term.query.argument) && !content.engine.packsFloats());
    if (packsComputed && !term.inPlace && !content.engine.cost.sumsIntegers())
      longest = std::max(longest, term.depth);
  }
  for (const RowTerm &term : shape.rows)
    if (context.stage.isComputed(term.vector.argument) &&
        !context.stage.engineOf(term.vector.argument, term.table).packsFloats())
      longest = std::max(longest, term.depth);
  for (const auto &strategy : strategies) {
    variance += strategy->variance();
    contentUse = std::max(contentUse, strategy->contentUse());
    valuesChange |= strategy->changesValues();
    if (auto [walk, depth] = strategy->packedKeys(); walk && context.stage.isComputed(walk->argument))
      longest = std::max(longest, depth);
    sizes.rowStep = std::max(sizes.rowStep, strategy->rowsApart());
    if (sizes.parts == 1)
      sizes.headsTogether = std::max(sizes.headsTogether, strategy->headsOfPhase());
  }
  if (sizes.rowStep > 1)
    sizes.chunks = sizes.rowStep;
  context.scoreDeviation = shape.scoreFactor * std::sqrt(variance);
  // With `streaming`, each key is read once, and its block meets the values while it is in the caches. An engine that
  // takes weights multiplies panels of all values of a head.
  bool testsKeys = hidesKeys(shape) && std::min(sizes.keyBlock, shape.keys) > kChain;
  sizes.streaming = inPlace && sizes.chunks == 1 && shape.queries <= sizes.rowBlock && shape.valueTerms.empty() &&
                    !testsKeys && !values.meetPackedWeights(valuesChange);

  for (const auto &strategy : strategies)
    strategy->plan(layout);
  packer.plan(layout, longest);
  content.plan(layout, contentUse);
  values.plan(layout, valuesChange);
  packedWeights.plan(layout);
  // Scores that an engine leaves in memory need not be read twice.
  sizes.weighing.arePowers = packedWeights.areMadePacked();
  sizes.weighing.maximaByRows = sizes.weighing.arePowers && content.multipliesAhead();
  sizes.weighing.looseReferences =
      sizes.weighing.maximaByRows && sizes.manyKeyBlocks && sizes.tileRows % sizes.lanes == 0;
  bool addsTiles = llvm::any_of(strategies, [](const auto &strategy) { return strategy->needsTiles; });
  sizes.weighing.termsByRows = sizes.weighing.maximaByRows && shape.isPlainSoftmax() && shape.sums == 1 && !addsTiles &&
                               content.scaleOfSums() > 0;
  sizes.weighing.scoreScale = shape.scoreFactor;
  // Results that are made of weights keep their digits.
  sizes.weighing.areRounded = packedWeights.areUsed() && !shape.further.lse && !shape.further.weights;
  tiles.plan(layout);
  sums.plan(layout);
  softmax.plan(layout);
  lines.plan(layout);
  layout.place();
}

void CpuKernel::open(const PhaseFunction &phase) {
  context.positions.readFrom(context.stage.open(context.memory, phase));
  stream.begin();
}

void CpuKernel::openBuffers(const PhaseFunction &phase, const KernelPlan &plan) {
  content.open();
  values.open();
  packedWeights.open();
  tiles.open();
  sums.open();
  softmax.open();
  lines.open();
  for (const auto &strategy : strategies)
    strategy->open();
  context.positions.leadingSizes.clear();
  for (const Extent &extent : context.stage.leading)
    context.positions.leadingSizes.push_back(extentIn(phase, b.builder, plan, extent));
  parts.enterCall();
}

/// Returns the end of a worker's items. The worker has no items if another kernel has the work of this length.
Value CpuKernel::endOfPhase(const PhaseFunction &phase) {
  const AttentionStage &stage = context.stage;
  Value end = phase.end;
  if (stage.above)
    end = b.select(b.less(b.index(stage.above), context.positions.queries()), end, phase.begin);
  if (stage.atMost)
    end = b.select(b.less(context.positions.queries(), b.index(stage.atMost + 1)), end, phase.begin);
  return end;
}

/// Returns the number of items if each index of the leading axes has `each` items.
SizeExpression CpuKernel::itemsOfHeads(int64_t each) const {
  SizeExpression items;
  for (const Extent &extent : context.stage.leading) {
    if (extent.name.empty())
      each *= extent.fixed;
    else
      items.factors.push_back(extent.name);
  }
  (items.factors.empty() ? items.fixed : items.scaled) = each;
  return items;
}

void CpuKernel::emit(ModuleOp module, KernelPlan &plan) {
  if (llvm::any_of(strategies, [](const auto &strategy) { return strategy->packedTable(); }))
    emitPack(module, plan);
  emitAttend(module, plan);
  if (parts.exist())
    emitJoin(module, plan);
}

std::optional<SmallVector<unsigned>> CpuKernel::packedArguments() const {
  SmallVector<unsigned> all;
  for (const auto &strategy : strategies) {
    PackedTable *table = strategy->packedTable();
    if (table && !table->arguments)
      return std::nullopt;
    if (table)
      all.append(*table->arguments);
  }
  return all;
}

void CpuKernel::emitPack(ModuleOp module, KernelPlan &plan) {
  PhaseFunction phase = createPhase(b.builder, module, plan, "pack");
  open(phase);
  int64_t first = 0;
  Value end = endOfPhase(phase);
  for (const auto &strategy : strategies) {
    PackedTable *table = strategy->packedTable();
    if (!table)
      continue;
    int64_t next = first + table->items();
    Value low = b.maximum(phase.begin, b.index(first)), high = b.minimum(end, b.index(next));
    table->pack(low, high, first,
                [&](Value target, Value copy, Value item) { strategy->packItem(target, copy, item); });
    first = next;
  }
  plan.phases.push_back({phase.function.getSymName().str(), "pack", {first, 0, {}}});
}

void CpuKernel::emitAttend(ModuleOp module, KernelPlan &plan) {
  PhaseFunction phase = createPhase(b.builder, module, plan, "attend");
  open(phase);
  openBuffers(phase, plan);
  stream.decide();
  llvm::SmallSetVector<const CpuEngine *, 2> engines;
  engines.insert(&content.engine);
  for (const auto &strategy : strategies)
    engines.insert(&strategy->multipliesBy());
  if (values.engine())
    engines.insert(values.engine());
  for (const CpuEngine *engine : engines)
    engine->begin(b);
  b.loop(phase.begin, endOfPhase(phase), 1, [&](Value item) { attend(items.enter(item, phase.begin)); });
  for (const CpuEngine *engine : engines)
    engine->end(b);
  stream.end();
  plan.phases.push_back({phase.function.getSymName().str(), "attend", itemsOfHeads(g.chunks * g.parts)});
}

void CpuKernel::emitJoin(ModuleOp module, KernelPlan &plan) {
  PhaseFunction phase = createPhase(b.builder, module, plan, "join");
  open(phase);
  openBuffers(phase, plan);
  Value rows = context.positions.queries();
  parts.ifDivided([&] {
    b.loop(phase.begin, endOfPhase(phase), 1, [&](Value head) {
      context.positions.enterHead(head);
      beginRows({b.index(0), rows, b.divide(b.add(rows, g.tileRows - 1), g.tileRows)});
      b.loop(b.index(0), rows, 1, [&](Value row) { parts.join(row); });
      result.write(b.index(0), rows);
    });
  });
  plan.phases.push_back({phase.function.getSymName().str(), "join", itemsOfHeads(1)});
}

/// Emits everything that is made once for the rows that this item has of a head.
void CpuKernel::beginHead(Value packs, Value prepares) {
  context.live.enterHead();
  b.when(packs, [&] {
    content.packKeys();
    for (const auto &strategy : strategies)
      strategy->packKeys();
    values.pack();
  });
  b.when(prepares, [&] {
    for (const auto &strategy : strategies)
      strategy->packValues();
    for (const auto &strategy : strategies)
      strategy->prepareHead();
  });
  for (const auto &strategy : strategies)
    if (KeyRange keys = strategy->visibleKeys())
      context.live.restrictHead(keys);
  upcoming.find();
  values.enterHead();
  for (const auto &strategy : strategies)
    strategy->enterHead();
  values.test(strategies);
}

void CpuKernel::attend(const WorkItem &item) {
  if (parts.exist())
    return parts.enter(item.chunk, [&] {
      beginHead(item.prepares, item.prepares);
      computeRowBlock(b.index(0), context.positions.queries());
    });
  auto attendHead = [&] {
    beginHead(item.packs, item.prepares);
    if (g.rowStep > 1)
      attendPhase(item.chunk, item.changes);
    else
      attendRows(item.chunk);
  };
  Value queries = context.positions.queryLength();
  if (!queries)
    return attendHead();
  // An item behind the last query has no rows, but it packs what the next head may share.
  Value some = b.less(g.rowStep > 1 ? item.chunk : b.mul(item.chunk, g.rowsPerItem), queries);
  b.when(item.firstOfRun ? arith::OrIOp::create(b.builder, some, item.firstOfRun).getResult() : some, attendHead);
}

/// Emits an item of consecutive rows.
void CpuKernel::attendRows(Value chunk) {
  Value low = b.mul(chunk, g.rowsPerItem);
  Value high = b.minimum(b.add(low, g.rowsPerItem), context.positions.queries());
  b.loop(low, high, g.rowBlock, [&](Value firstRow) {
    Value rows = b.minimum(b.index(g.rowBlock), b.sub(high, firstRow));
    computeRowBlock(firstRow, rows);
  });
}

/// Emits an item of every rowStep-th row, from row `phase` on.
void CpuKernel::attendPhase(Value phase, Value changes) {
  for (const auto &strategy : strategies)
    strategy->enterPhase(phase, changes);
  Value count = b.divide(b.sub(b.add(context.positions.queries(), g.rowStep - 1), phase), g.rowStep);
  b.loop(b.index(0), count, g.rowBlock, [&](Value first) {
    Value rows = b.minimum(b.index(g.rowBlock), b.sub(count, first));
    computeRowBlock(context.positionOf(phase, first), rows);
  });
}
