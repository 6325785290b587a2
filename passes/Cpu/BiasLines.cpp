// What the score tile cannot load by itself is added up in a line of values over the block's keys, one a row: the map
// axes' logits and prepared differences (broadcasts and loads for each vector of a map row), then single elements.
#include "passes/Cpu/CpuKernel.h"
#include <limits>

using namespace mlir;
using namespace skewer;

namespace {
class LineBuilder {
public:
  LineBuilder(CpuKernel &kernel, Value firstRow, Value lowKey, Value highKey)
      : kernel(kernel), b(kernel.b), firstRow(firstRow), lowKey(lowKey), highKey(highKey) {}
  void row(Value row);
  void centre(Value row);

private:
  /// Where key-axis value 0 of term `number` stands in its logits for this row.
  Value logitsOrigin(unsigned number, Value row, Value position);
  void mapTerms(Value line, Value row, Value position, ArrayRef<Value> origins);
  void elements(Value line, Value position);
  /// Where prepared differences over maps are read for this row and the key axes' first values.
  Value preparedOrigin(const PreparedBias &bias, Value position);

  CpuKernel &kernel;
  VectorBuilder &b;
  Value firstRow, lowKey, highKey;
};
} // namespace

Value LineBuilder::logitsOrigin(unsigned number, Value row, Value position) {
  const OffsetTerm &term = kernel.shape.offsets[number];
  const PackedTable &table = kernel.tables[number];
  Value start = kernel.logitsStart(number, b.divide(row, kernel.tileRows), firstRow, lowKey);
  Value query = kernel.axisOf(term.queryAxis, position);
  Value column = b.sub(b.sub(kernel.firstColumn(number), query), b.mul(start, kernel.lanes));
  return b.add(b.add(b.mul(row, table.logitsStride), table.margin), column);
}

/// Terms over a map: for each index of the outer key axes, a sum of scalars plus vectors over the innermost axis.
void LineBuilder::mapTerms(Value line, Value row, Value position, ArrayRef<Value> origins) {
  const AttentionShape &shape = kernel.shape;
  const MapAxis &innermost = shape.keyAxes.back();
  bool map = shape.keyAxes.size() > 1;
  if (!map)
    return b.loop(lowKey, highKey, kernel.lanes,
                  [&](Value key) { b.store(b.constant(0), kernel.lineBuffer, b.add(line, b.sub(key, lowKey))); });
  SmallVector<Value> preparedOrigins(kernel.prepared.size());
  for (auto [number, bias] : llvm::enumerate(kernel.prepared))
    if (bias.overMap())
      preparedOrigins[number] = preparedOrigin(bias, position);
  int64_t width = innermost.extent;
  Value firstOuter = b.divide(lowKey, width), endOuter = b.divide(b.add(highKey, width - 1), width);
  b.loop(firstOuter, endOuter, 1, [&](Value outer) {
    Value firstKey = b.mul(outer, width);
    Value base = b.constant(0);
    for (unsigned t = 0; t < shape.offsets.size(); ++t) {
      const MapAxis &axis = shape.offsets[t].keyAxis;
      if (axis.inner == 1)
        continue;
      Value at = b.add(origins[t], kernel.axisOf(axis, firstKey));
      base = b.addf(base, b.loadBroadcast(kernel.logitsBuffers[t], at));
    }
    for (auto [term, plan] : llvm::zip(shape.rows, kernel.rowPlans)) {
      const MapAxis &axis = shape.keyAxes[term.axis];
      if (term.keySide || term.kind != RowKind::Axis || axis.inner == 1)
        continue;
      Value at = b.add(b.mul(row, plan.lineStride), kernel.axisOf(axis, firstKey));
      base = b.addf(base, b.loadBroadcast(plan.linesBuffer, at));
    }
    Value target = b.add(line, b.sub(firstKey, lowKey));
    SmallVector<Value> preparedAt(kernel.prepared.size());
    for (auto [number, bias] : llvm::enumerate(kernel.prepared))
      if (bias.overMap()) {
        Value at = preparedOrigins[number];
        for (size_t pair = 0; pair + 1 < shape.keyAxes.size(); ++pair)
          at = b.add(at, b.mul(kernel.axisOf(shape.keyAxes[pair], firstKey), bias.strides[pair]));
        preparedAt[number] = at;
      }
    Value nothing = b.constant(-std::numeric_limits<float>::infinity());
    b.loop(b.index(0), b.index(width), kernel.lanes, [&](Value x) {
      Value sum = base;
      for (unsigned t = 0; t < shape.offsets.size(); ++t)
        if (shape.offsets[t].keyAxis.inner == 1 && !kernel.readsWhole(shape.offsets[t]))
          sum = b.addf(sum, b.load(kernel.logitsBuffers[t], b.add(origins[t], x)));
      for (auto [term, plan] : llvm::zip(shape.rows, kernel.rowPlans))
        if (!term.keySide && term.kind == RowKind::Axis && shape.keyAxes[term.axis].inner == 1)
          sum = b.addf(sum, b.load(plan.linesBuffer, b.add(b.mul(row, plan.lineStride), x)));
      for (bool masks : {false, true})
        for (auto [number, bias] : llvm::enumerate(kernel.prepared)) {
          if (!bias.overMap() || bias.isMask() != masks)
            continue;
          Value term = b.load(kernel.preparedBuffers[number], b.add(preparedAt[number], x));
          sum = masks ? b.select(b.compare(arith::CmpFPredicate::OEQ, term, nothing), nothing, sum) : b.addf(sum, term);
        }
      // The last vector of a map row runs into the next one, which is written after it.
      b.store(sum, kernel.lineBuffer, b.add(target, x));
    });
  });
}

Value LineBuilder::preparedOrigin(const PreparedBias &bias, Value position) {
  Value origin = b.index(bias.origin);
  for (auto [axis, stride] : llvm::zip(kernel.shape.queryAxes, bias.strides))
    origin = b.sub(origin, b.mul(kernel.axisOf(axis, position), stride));
  return origin;
}

/// Terms and masks that nothing better is known for: one element at a time. A masked key's value is -inf.
void LineBuilder::elements(Value line, Value position) {
  const AttentionShape &shape = kernel.shape;
  SmallVector<const OtherTerm *> terms;
  for (const OtherTerm &term : shape.others)
    if (term.bias == BiasKind::Element)
      terms.push_back(&term);
  std::optional<subscript::Expr> mask;
  for (const MaskPart &part : shape.masks)
    if (part.kind == BiasKind::Element)
      mask = mask ? logicalAnd(*mask, part.predicate) : part.predicate;
  if (terms.empty() && !mask)
    return;
  b.loop(lowKey, highKey, 1, [&](Value key) {
    std::map<std::string, Value> at = kernel.axesAt(position, key);
    Value where = b.add(line, b.sub(key, lowKey));
    auto addAll = [&] {
      for (const OtherTerm *term : terms) {
        auto add = [&] {
          Value sum = b.addf(b.scalar(kernel.lineBuffer, where), b.narrow(kernel.element(*term, at)));
          b.storeScalar(sum, kernel.lineBuffer, where);
        };
        if (term->guard)
          b.when(kernel.predicate(*term->guard, at), add);
        else
          add();
      }
    };
    if (!mask)
      return addAll();
    b.when(kernel.predicate(*mask, at), addAll,
           [&] { b.storeScalar(b.constantScalar(-std::numeric_limits<float>::infinity()), kernel.lineBuffer, where); });
  });
}

void LineBuilder::row(Value row) {
  Value position = b.add(firstRow, row);
  Value line = b.add(b.mul(row, kernel.lineStride), kernel.lineMargin);
  SmallVector<Value> origins;
  for (unsigned t = 0; t < kernel.shape.offsets.size(); ++t)
    origins.push_back(logitsOrigin(t, row, position));
  mapTerms(line, row, position, origins);
  for (auto [number, term] : llvm::enumerate(kernel.shape.rows))
    if (!term.keySide && term.kind == RowKind::Any)
      kernel.gatherRows(number, row, position, lowKey, highKey);
  elements(line, position);
  kernel.addLanes(line, position, lowKey, highKey);
}

void CpuKernel::biasLines(Value firstRow, Value rows, Value lowKey, Value highKey) {
  LineBuilder lines(*this, firstRow, lowKey, highKey);
  b.loop(b.index(0), rows, 1, [&](Value row) { lines.row(row); });
}

/// Whether the table has a row for each pair of query and key, also for those that a mask hides: where it lacks one no
/// logit is computed, and what stands in its place says nothing.
static bool hasEveryRow(const OffsetTerm &term) {
  int64_t below = (term.sign > 0 ? term.queryAxis : term.keyAxis).extent - 1;
  int64_t above = (term.sign > 0 ? term.keyAxis : term.queryAxis).extent - 1;
  return term.shift.isConstant(0) && term.constant >= below && term.constant + above < term.rows;
}

/// Less their maximum, so that what is near the row's largest score is near 0 and is added up without rounding much.
/// Each query's weights stay what they are. For its effect see kChunk in Summation.h.
void LineBuilder::centre(Value row) {
  for (auto [number, term] : llvm::enumerate(kernel.shape.offsets)) {
    if (kernel.readsWhole(term) || !hasEveryRow(term))
      continue;
    Value logits = kernel.logitsBuffers[number], origin = logitsOrigin(number, row, b.add(firstRow, row));
    int64_t extent = term.keyAxis.extent, whole = extent / kernel.lanes * kernel.lanes;
    Value shift = kernel.largestIn(logits, origin, b.add(origin, extent)), shifts = b.broadcast(shift);
    kernel.noteShift(row, shift);
    b.loop(b.index(0), b.index(whole), kernel.lanes, [&](Value x) {
      Value at = b.add(origin, x);
      b.store(b.subf(b.load(logits, at), shifts), logits, at);
    });
    b.loop(b.index(whole), b.index(extent), 1, [&](Value x) {
      Value at = b.add(origin, x);
      b.storeScalar(b.subf(b.scalar(logits, at), shift), logits, at);
    });
  }
}

Value CpuKernel::largestIn(Value buffer, Value from, Value to) {
  float none = -std::numeric_limits<float>::infinity();
  Value whole = b.add(from, b.mul(b.floorDiv(b.sub(to, from), lanes), lanes));
  Value largest = b.loop(from, whole, lanes, ValueRange{b.constant(none)}, [&](Value x, ValueRange carried) {
    return SmallVector<Value>{b.larger(b.load(buffer, x), carried[0])};
  })[0];
  Value maximum = b.loop(whole, to, 1, ValueRange{b.reduceMax(largest)}, [&](Value x, ValueRange carried) {
    return SmallVector<Value>{b.larger(b.scalar(buffer, x), carried[0])};
  })[0];
  // Infinities are left to the softmax.
  Value finite = b.compare(arith::CmpFPredicate::OEQ, b.subf(maximum, maximum), b.constantScalar(0));
  return b.select(finite, maximum, b.constantScalar(0));
}

void CpuKernel::centreLogits(Value firstRow, Value rows) {
  if (llvm::all_of(shape.offsets, [&](const OffsetTerm &term) { return readsWhole(term); }))
    return;
  LineBuilder lines(*this, firstRow, b.index(0), b.index(shape.keys));
  b.loop(b.index(0), rows, 1, [&](Value row) { lines.centre(row); });
}
