// Emits the phases of a fused attention: their functions, the work items, and what is made once for a head. Blocks.cpp
// emits the blocks of rows and keys within an item.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/Cpu/Strategy.h"
#include <limits>

using namespace mlir;
using namespace skewer;

CpuKernel::~CpuKernel() = default;

void CpuKernel::forEach(const Body &body) {
  for (const auto &strategy : strategies)
    body(*strategy);
}

int64_t CpuKernel::bytesOf(unsigned argument) const {
  return cast<MemRefType>(memory.arguments[argument].getType()).getElementTypeBitWidth() / 8;
}

void CpuKernel::openPhase(const PhaseFunction &phase) {
  positions.readFrom(stage.open(memory, phase));
  streamsResult = Value(); // it was a value in the function of another phase
  queryLength = shape.bounds.queryLength ? positions.baseOf(*shape.bounds.queryLength) : Value();
  keyLength = shape.bounds.keyLength ? positions.baseOf(*shape.bounds.keyLength) : Value();
}

/// Returns the end of a worker's items. The worker has no items if another kernel has the work of this length.
Value CpuKernel::endOfPhase(const PhaseFunction &phase) {
  Value end = phase.end;
  if (stage.above)
    end = b.select(b.less(b.index(stage.above), queries()), end, phase.begin);
  if (stage.atMost)
    end = b.select(b.less(queries(), b.index(stage.atMost + 1)), end, phase.begin);
  return end;
}

Value CpuKernel::queries() { return queryLength ? queryLength : b.index(shape.queries); }
Value CpuKernel::keys() { return keyLength ? keyLength : b.index(shape.keys); }

void CpuKernel::emit(ModuleOp module, KernelPlan &plan) {
  if (llvm::any_of(strategies, [](const auto &strategy) { return strategy->packItems() > 0; }))
    emitPack(module, plan);
  emitAttend(module, plan);
  if (parts > 1)
    emitJoin(module, plan);
}

std::optional<SmallVector<unsigned>> CpuKernel::packedArguments() const {
  SmallVector<unsigned> all;
  for (const auto &strategy : strategies) {
    if (!strategy->packItems())
      continue;
    auto own = strategy->packedArguments();
    if (!own)
      return std::nullopt;
    all.append(*own);
  }
  return all;
}

void CpuKernel::emitPack(ModuleOp module, KernelPlan &plan) {
  PhaseFunction phase = createPhase(b.builder, module, plan, "pack");
  openPhase(phase);
  int64_t first = 0;
  Value end = endOfPhase(phase);
  forEach([&](CpuStrategy &strategy) {
    int64_t items = strategy.packItems();
    if (!items)
      return;
    Value low = b.maximum(phase.begin, b.index(first)), high = b.minimum(end, b.index(first + items));
    strategy.pack(low, high, first);
    first += items;
  });
  plan.phases.push_back({phase.function.getSymName().str(), "pack", {first, 0, {}}});
}

/// Returns the expressions that determine where the keys and values of a head lie; empty if no two consecutive heads
/// can share them.
std::vector<subscript::Expr> CpuKernel::basesOfKeys() {
  if (shape.value.picked || llvm::any_of(shape.content, [](const ContentTerm &term) { return bool(term.key.picked); }))
    return {};
  std::vector<subscript::Expr> bases = {shape.value.base};
  for (const ContentTerm &term : shape.content)
    bases.push_back(term.key.base);
  for (const auto &bound : {shape.bounds.low, shape.bounds.high}) // they limit what is packed
    if (bound)
      bases.push_back(*bound);
  bool added = false;
  forEach([&](CpuStrategy &strategy) {
    if (const Walk *keys = strategy.packedKeys().walk)
      bases.push_back(keys->base);
    added |= strategy.changesValues();
  });
  if (shape.space.leading.empty() || added)
    return {};
  subscript::Domain domain = subscript::domainOf(shape.space.sizes);
  for (const subscript::Expr &base : bases)
    if (auto affine = subscript::asAffine(base, domain);
        affine && affine->coefficients.count(shape.space.leading.back()))
      return {};
  return bases;
}

/// Returns whether the keys or values differ from those of the head before.
Value CpuKernel::keysChange(ArrayRef<subscript::Expr> bases) {
  SmallVector<Value> own;
  for (const subscript::Expr &base : bases)
    own.push_back(positions.baseOf(base));
  Positions::Values axes = positions.axes;
  positions.enterHead(b.maximum(b.add(leadingIndex, -1), b.index(0)));
  Value change;
  for (auto [base, here] : llvm::zip(bases, own)) {
    Value other = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, positions.baseOf(base), here);
    change = change ? arith::OrIOp::create(b.builder, change, other).getResult() : other;
  }
  positions.axes = std::move(axes);
  return change;
}

/// Emits everything that is made once for the rows that this item has of a head.
void CpuKernel::beginHead(Value packs, Value prepares) {
  live.enterHead();
  b.when(packs, [&] {
    packKeys();
    forEach([](CpuStrategy &strategy) { strategy.packKeys(); });
    packValues();
  });
  b.when(prepares, [&] {
    forEach([](CpuStrategy &strategy) { strategy.packValues(); });
    forEach([](CpuStrategy &strategy) { strategy.prepareHead(); });
  });
  forEach([&](CpuStrategy &strategy) {
    if (KeyRange keys = strategy.visibleKeys())
      live.restrictHead(keys);
  });
  findUpcoming();
  if (buffers.values.floats) {
    valueBase = b.index(0);
    valueStride = widthVectors * b.lanes;
  } else {
    valueBase = positions.baseOf(shape.value.base);
    valueStride = shape.value.key;
  }
  forEach([](CpuStrategy &strategy) { strategy.enterHead(); });
  testValues();
}

void CpuKernel::enterLeading(const PhaseFunction &phase, const KernelPlan &plan) {
  positions.leadingSizes.clear();
  for (const Extent &extent : stage.leading)
    positions.leadingSizes.push_back(extentIn(phase, b.builder, plan, extent));
  divided = parts > 1 ? dividesKeys() : Value();
}

/// Returns the number of items if each index of the leading axes has `each` items.
SizeExpression CpuKernel::itemsOfHeads(int64_t each) const {
  SizeExpression items;
  for (const Extent &extent : stage.leading) {
    if (extent.name.empty())
      each *= extent.fixed;
    else
      items.factors.push_back(extent.name);
  }
  (items.factors.empty() ? items.fixed : items.scaled) = each;
  return items;
}

/// Emits an item of consecutive rows.
void CpuKernel::attendRows(Value chunk) {
  Value low = b.mul(chunk, rowsPerItem);
  Value high = b.minimum(b.add(low, rowsPerItem), queries());
  b.loop(low, high, rowBlock, [&](Value firstRow) {
    Value rows = b.minimum(b.index(rowBlock), b.sub(high, firstRow));
    computeRowBlock(firstRow, rows);
  });
}

/// Emits an item of every rowStep-th row, from row `phase` on.
void CpuKernel::attendPhase(Value phase, Value changes) {
  forEach([&](CpuStrategy &strategy) { strategy.enterPhase(phase, changes); });
  Value count = b.divide(b.sub(b.add(queries(), rowStep - 1), phase), rowStep);
  b.loop(b.index(0), count, rowBlock, [&](Value first) {
    Value rows = b.minimum(b.index(rowBlock), b.sub(count, first));
    computeRowBlock(positionOf(phase, first), rows);
  });
}

void CpuKernel::emitAttend(ModuleOp module, KernelPlan &plan) {
  PhaseFunction phase = createPhase(b.builder, module, plan, "attend");
  openPhase(phase);
  openBuffers();
  enterLeading(phase, plan);
  decideStreaming();
  engine.begin(b);

  const Geometry &g = *this;
  b.loop(phase.begin, endOfPhase(phase), 1, [&](Value item) {
    WorkItem own = enterItem(item, phase.begin);
    if (g.parts > 1)
      return attendPart(own.chunk, own.prepares);
    auto attend = [&] {
      beginHead(own.packs, own.prepares);
      if (g.rowStep > 1)
        attendPhase(own.chunk, own.changes);
      else
        attendRows(own.chunk);
    };
    if (!queryLength)
      return attend();
    // An item behind the last query has no rows, but it packs what the next head may share.
    Value some = b.less(g.rowStep > 1 ? own.chunk : b.mul(own.chunk, g.rowsPerItem), queryLength);
    b.when(own.firstOfRun ? arith::OrIOp::create(b.builder, some, own.firstOfRun).getResult() : some, attend);
  });
  engine.end(b);
  endStreaming();

  plan.phases.push_back({phase.function.getSymName().str(), "attend", itemsOfHeads(g.chunks * g.parts)});
}
