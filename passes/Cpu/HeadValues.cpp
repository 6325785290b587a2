// Packs and finds the values of a head (HeadValues.h).
#include "passes/Cpu/HeadValues.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Cpu/Strategy.h"
#include "passes/Emit/VectorMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

/// Returns the engine that multiplies weights with the values as they are in memory; null if none does.
const CpuEngine *HeadValues::engineOf(bool change) const {
  const AttentionStage &stage = context.stage;
  unsigned argument = shape.value.argument;
  WeighedValues weighed;
  if (!stage.isComputed(argument) && g.lanes == stage.target.lanes)
    weighed.element = stage.elements[argument];
  weighed.result = stage.result;
  weighed.areRows = shape.value.depth == 1;
  weighed.areChanged = change;
  weighed.areInPlace = !g.depth && llvm::any_of(shape.content, [](const ContentTerm &term) { return term.inPlace; });
  weighed.areOfPhases = g.rowStep > 1;
  const CpuEngineCost &cost = cpuEngineOf(weighed, g.tileRows * g.groupsTogether, stage.target);
  return cost.takesWeights() ? &engineOfCost(cost) : nullptr;
}

void HeadValues::plan(Layout &layout, bool change) {
  const Walk &value = shape.value;
  ownEngine = engineOf(change);
  bool readsRows = !ownEngine || mayMeetHidden();
  // Values that must be widened are widened once if they are read more than once.
  bool isScaled = context.stage.isScaled(value.argument), isNarrow = isScaled || context.stage.isNarrow(value.argument);
  bool packs = change || value.depth != 1 || shape.width % g.lanes != 0 ||
               (context.stage.isComputed(value.argument) && !isScaled) ||
               (((isNarrow && !ownEngine) || value.picked) && !g.streaming);
  int64_t heldKeys = g.streaming ? std::min(g.keyBlock, shape.keys) : shape.keys;
  layout.reserve(packed, packs && readsRows ? g.headsTogether * heldKeys * g.widthVectors * g.lanes : 0,
                 Layout::Zone::Values);
  layout.reserve(packedPanels, ownEngine ? g.widthVectors * panelStride() : 0, Layout::Zone::Values);
}

/// Returns the floats from a panel to the next one. A panel has whole vectors of steps.
int64_t HeadValues::panelStride() const {
  int64_t steps = llvm::divideCeil(shape.keys, ownEngine->cost.elementsOfStep());
  return CpuEngine::panelStride(llvm::alignTo(steps, g.lanes), g.lanes);
}

void HeadValues::open() {
  if (ownEngine)
    panelMemory = context.view(packedPanels);
  values = arePacked() ? context.view(packed) : context.memory.arguments[shape.value.argument];
}

void HeadValues::enterTurn(Value turn) {
  if (arePacked())
    values = context.viewOfTurn(packed, turn);
}

void HeadValues::pack() {
  if (g.streaming)
    return;
  const KeyRange &seen = live.ofHead;
  Value low = seen && !shape.prefix ? seen.low : b.index(0), high = seen ? seen.high : b.index(shape.keys);
  if (arePacked())
    packRows(low, high);
  if (ownEngine)
    packPanels(low, high);
}

/// Packs the values of the keys [low, high) into panels, in whole vectors of steps, with 0 for other keys.
void HeadValues::packPanels(Value low, Value high) {
  int64_t keys = g.lanes * ownEngine->cost.elementsOfStep();
  auto stepsBefore = [&](Value key) { return b.mul(b.divide(key, keys), g.lanes); };
  Value first = stepsBefore(low), end = stepsBefore(b.add(high, keys - 1));
  Value firstWhole = b.minimum(stepsBefore(b.add(low, keys - 1)), end);
  Value endWhole = b.maximum(firstWhole, stepsBefore(high));
  b.when(b.less(low, high), [&] {
    b.loop(first, firstWhole, 1, [&](Value step) { packStep(step, {low, high}); });
    b.loop(firstWhole, endWhole, 1, [&](Value step) { packStep(step, {}); });
    b.loop(endWhole, end, 1, [&](Value step) { packStep(step, {low, high}); });
  });
}

Value HeadValues::panelPlace(Value step, int64_t vector) { return b.add(b.mul(step, g.lanes), vector * panelStride()); }

/// Packs the values of the keys of one step; if `some` is given, with 0 for keys outside of it, which are not read.
void HeadValues::packStep(Value step, const KeyRange &some) {
  int64_t elements = ownEngine->cost.elementsOfStep();
  Value first = ownEngine->forWeights()->elementOfStep(b, step, g.weighing.arePowers),
        source = context.memory.arguments[shape.value.argument];
  SmallVector<Value> places, exist;
  for (int64_t e = 0; e < elements; ++e) {
    Value key = b.add(first, e);
    if (some) {
      exist.push_back(arith::AndIOp::create(b.builder, b.less(b.add(some.low, -1), key), b.less(key, some.high)));
      key = b.minimum(b.maximum(key, some.low), b.add(some.high, -1));
    }
    places.push_back(positions.keyPlace(shape.value, key));
  }
  for (int64_t v = 0; v < g.widthVectors; ++v) {
    SmallVector<Value> from;
    for (Value place : places)
      from.push_back(b.add(place, v * g.lanes));
    int64_t count = std::min(g.lanes, shape.width - v * g.lanes);
    Value packedStep = ownEngine->forWeights()->packValues(b, source, from, count);
    if (some)
      packedStep = ownEngine->forWeights()->keepExisting(b, packedStep, exist);
    b.store(packedStep, panelMemory, panelPlace(step, v));
  }
}

void HeadValues::packBlock(const KeyBlock &block) {
  if (!arePacked() || !g.streaming)
    return;
  auto [low, high] = live.of(block.firstRow, g.rowBlock, block.lowKey, block.highKey);
  low = shape.prefix ? block.lowKey : low;
  packRows(low, high);
  base = b.mul(low, -stride);
}

/// Packs the values of the keys [low, high). With `streaming`, the first one lies at the beginning of the buffer.
void HeadValues::packRows(Value low, Value high) {
  const Walk &value = shape.value;
  int64_t padded = g.widthVectors * g.lanes;
  Value source = context.memory.arguments[value.argument];
  b.loop(low, high, 1, [&](Value key) {
    Value from = positions.keyPlace(value, key), to = b.mul(g.streaming ? b.sub(key, low) : key, padded);
    if (!context.stage.isComputed(value.argument))
      return packer.copyWidth(source, from, value.depth, 1, values, to);
    if (shape.width % g.lanes)
      b.store(b.constant(0), values, b.add(to, padded - g.lanes));
    context.stage.computeRow(value.argument, from, values, to, 1);
  });
}

void HeadValues::enterHead() {
  base = arePacked() ? b.index(0) : positions.baseOf(shape.value.base);
  stride = arePacked() ? g.widthVectors * g.lanes : shape.value.key;
}

/// Returns whether values of hidden keys may be multiplied. Rows that are added one after another leave out the keys
/// that an interval of key - query hides; engines, and rows that are apart, do not.
bool HeadValues::mayMeetHidden() const { return hidesKeys(shape) || (shape.visible && (g.rowStep > 1 || ownEngine)); }

void HeadValues::test(const CpuStrategies &strategies) {
  finite = Value();
  if (g.streaming) // the sums of each block are tested instead
    return;
  if (!mayMeetHidden())
    return;
  const KeyRange &seen = live.ofHead;
  KeyRange keys = seen ? seen : KeyRange{b.index(0), b.index(shape.keys)};
  Value first = shape.prefix ? b.index(0) : keys.low;
  Value sum = b.loop(first, keys.high, 1, ValueRange{b.constant(0)}, [&](Value key, ValueRange carried) {
    Value at = b.add(base, b.mul(key, stride)), sum = carried[0];
    for (int64_t v = 0; v < g.widthVectors; ++v)
      sum = b.fma(b.load(values, b.add(at, v * g.lanes)), b.constant(0), sum);
    return SmallVector<Value>{sum};
  })[0];
  for (const auto &strategy : strategies)
    sum = strategy->testRows(sum);
  finite = b.compare(arith::CmpFPredicate::ORD, reduceAdd(b, sum), b.constantScalar(0));
}

/// Returns the place of a key's values from `offset` on.
Value HeadValues::placeOf(Value key, int64_t offset) {
  if (arePicked())
    return b.add(positions.keyPlace(shape.value, key), offset);
  return b.add(b.add(base, b.mul(key, stride)), offset);
}

SmallVector<Value> HeadValues::placesOf(Value key, int64_t count, int64_t offset, bool isAligned) {
  Value first = arePicked() ? Value() : placeOf(key, offset);
  auto place = [&](int64_t step) {
    return arePicked() ? placeOf(b.add(key, step), offset) : b.add(first, step * stride);
  };
  // Turns of several keys that begin at multiples of their number span no two pages.
  return positions.keyPlaces(shape.value, count, arePicked() && isAligned && isOnePage(shape.value, count), place);
}

Value HeadValues::scaleAt(Value place, int64_t offset) {
  if (arePacked() || !context.stage.isScaled(shape.value.argument))
    return {};
  return context.stage.rowScale(shape.value.argument, offset ? b.add(place, -offset) : place);
}

void HeadValues::fetchAhead(Value key, int64_t keysOfTurn) {
  if (!g.streaming || arePacked())
    return;
  int64_t bytes = context.memory.bytesOf(shape.value.argument);
  int64_t ahead = llvm::divideCeil(kFetchedAhead, bytes * shape.width);
  bool onePage = arePicked() && isOnePage(shape.value, keysOfTurn); // except behind the last key
  auto place = [&](int64_t step) {
    Value later = b.add(key, ahead + step);
    return placeOf(arePicked() ? b.minimum(later, b.index(shape.keys - 1)) : later, 0);
  };
  for (Value at : positions.keyPlaces(shape.value, keysOfTurn, onePage, place))
    for (int64_t d = 0; d < shape.width; d += kLineBytes / bytes)
      b.prefetch(values, b.add(at, d));
}
