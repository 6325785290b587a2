// Where more than one thing adds to a score, each row gets a line of values over the block's keys: the map axes'
// logits first (a broadcast and a load for each vector), then windows over whole positions, then single elements.
#include "passes/Lowering/CpuKernel.h"
#include "passes/Lowering/EmitIndex.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace skewer;

static constexpr double kLog2e = 1.4426950408889634;

namespace {
class LineBuilder {
public:
  LineBuilder(CpuKernel &kernel, Value firstRow, Value lowKey, Value highKey)
      : kernel(kernel), b(kernel.b), firstRow(firstRow), lowKey(lowKey), highKey(highKey) {}
  void row(Value row);

private:
  /// Where key-axis value 0 of term `number` stands in its logits for this row.
  Value logitsOrigin(unsigned number, Value row, Value position);
  void mapTerms(Value line, ArrayRef<Value> origins);
  void elements(Value line, Value position);
  Value element(const OtherTerm &term, std::map<std::string, Value> at);
  Value predicate(const subscript::Expr &expression, const std::map<std::string, Value> &at);

  CpuKernel &kernel;
  VectorBuilder &b;
  Value firstRow, lowKey, highKey;
};
} // namespace

Value LineBuilder::logitsOrigin(unsigned number, Value row, Value position) {
  const OffsetTerm &term = kernel.shape.offsets[number];
  const PackedTable &table = kernel.tables[number];
  Value start = kernel.logitsStart(number, b.divide(row, kernel.tileRows), firstRow, lowKey);
  Value query = term.queryAxis.isWhole(kernel.shape.queries) ? position : kernel.axisOf(term.queryAxis, position);
  Value column = b.sub(b.sub(b.index(table.constant), query), b.mul(start, kernel.lanes));
  return b.add(b.add(b.mul(row, table.logitsStride), table.margin), column);
}

/// Terms over a map: for each index of the outer key axes, a sum of scalars plus vectors over the innermost axis.
void LineBuilder::mapTerms(Value line, ArrayRef<Value> origins) {
  const AttentionShape &shape = kernel.shape;
  const MapAxis &innermost = shape.keyAxes.back();
  bool map = shape.keyAxes.size() > 1;
  if (!map) {
    Value low = b.mul(b.divide(lowKey, kernel.lanes), kernel.lanes);
    b.loop(low, highKey, kernel.lanes, [&](Value key) {
      Value sum = b.constant(0);
      for (unsigned t = 0; t < shape.offsets.size(); ++t)
        sum = b.addf(sum, b.load(kernel.logitsBuffers[t], b.add(origins[t], key)));
      b.store(sum, kernel.lineBuffer, b.add(line, b.sub(key, lowKey)));
    });
    return;
  }
  int64_t width = innermost.extent;
  Value firstOuter = b.divide(lowKey, width), endOuter = b.divide(b.add(highKey, width - 1), width);
  b.loop(firstOuter, endOuter, 1, [&](Value outer) {
    Value position = b.mul(outer, width);
    Value base = b.constant(0);
    for (unsigned t = 0; t < shape.offsets.size(); ++t) {
      const MapAxis &axis = shape.offsets[t].keyAxis;
      if (axis.inner == 1)
        continue;
      Value at = b.add(origins[t], kernel.axisOf(axis, position));
      base = b.addf(base, b.loadBroadcast(kernel.logitsBuffers[t], at));
    }
    Value target = b.add(line, b.sub(position, lowKey));
    b.loop(b.index(0), b.index(width), kernel.lanes, [&](Value x) {
      Value sum = base;
      for (unsigned t = 0; t < shape.offsets.size(); ++t) {
        const MapAxis &axis = shape.offsets[t].keyAxis;
        if (axis.inner != 1)
          continue;
        Value at = axis.isWhole(shape.keys) ? b.add(position, x) : x;
        sum = b.addf(sum, b.load(kernel.logitsBuffers[t], b.add(origins[t], at)));
      }
      // The last vector of a map row runs into the next one, which is written after it.
      b.store(sum, kernel.lineBuffer, b.add(target, x));
    });
  });
}

Value LineBuilder::predicate(const subscript::Expr &expression, const std::map<std::string, Value> &at) {
  return IndexEmitter(b.builder, b.builder.getLoc(), at).emitPredicate(expression);
}

Value LineBuilder::element(const OtherTerm &term, std::map<std::string, Value> at) {
  std::function<Value(size_t, Value)> contract = [&](size_t level, Value sum) -> Value {
    if (level < term.einsum.contracted.size()) {
      const std::string &axis = term.einsum.contracted[level];
      return b.loop(b.index(0), b.index(term.einsum.sizes.at(axis)), 1, ValueRange{sum},
                    [&](Value d, ValueRange carried) {
                      at[axis] = d;
                      return SmallVector<Value>{contract(level + 1, carried[0])};
                    })[0];
    }
    Value product = b.constantScalar(1);
    for (auto [argument, offset] : llvm::zip(term.arguments, term.offsets)) {
      Value flat = emitIndex(b.builder, b.builder.getLoc(), offset, at);
      product = b.mulf(product, b.scalar(kernel.arguments[argument], flat));
    }
    return b.addf(sum, product);
  };
  Value sum = contract(0, b.constantScalar(0));
  if (term.value) {
    Value number = emitIndex(b.builder, b.builder.getLoc(), *term.value, at);
    Value wide = arith::IndexCastOp::create(b.builder, b.builder.getI64Type(), number);
    sum = b.mulf(sum, arith::SIToFPOp::create(b.builder, b.f32, wide));
  }
  return b.mulf(sum, b.constantScalar(term.scale * kLog2e));
}

/// Terms of no class, and masks that are no interval: one element at a time. A masked key's value is -inf.
void LineBuilder::elements(Value line, Value position) {
  const AttentionShape &shape = kernel.shape;
  if (shape.others.empty() && !shape.mask)
    return;
  b.loop(lowKey, highKey, 1, [&](Value key) {
    std::map<std::string, Value> at = kernel.axes;
    for (auto [axis, name] : llvm::zip(shape.queryAxes, shape.space.query))
      at[name] = kernel.axisOf(axis, position);
    for (auto [axis, name] : llvm::zip(shape.keyAxes, shape.space.key))
      at[name] = kernel.axisOf(axis, key);
    Value where = b.add(line, b.sub(key, lowKey));
    auto addTerm = [&](const OtherTerm &term) {
      Value sum = b.addf(b.scalar(kernel.lineBuffer, where), element(term, at));
      b.storeScalar(sum, kernel.lineBuffer, where);
    };
    auto addAll = [&] {
      for (const OtherTerm &term : shape.others)
        if (term.guard)
          b.when(predicate(*term.guard, at), [&] { addTerm(term); });
        else
          addTerm(term);
    };
    if (!shape.mask)
      return addAll();
    b.when(predicate(*shape.mask, at), addAll, [&] {
      b.storeScalar(b.constantScalar(-std::numeric_limits<float>::infinity()), kernel.lineBuffer, where);
    });
  });
}

void LineBuilder::row(Value row) {
  Value position = b.add(firstRow, row);
  Value line = b.add(b.mul(row, kernel.lineStride), kernel.lineMargin);
  SmallVector<Value> origins;
  for (unsigned t = 0; t < kernel.shape.offsets.size(); ++t)
    origins.push_back(logitsOrigin(t, row, position));
  mapTerms(line, origins);
  elements(line, position);
}

void CpuKernel::biasLines(Value firstRow, Value rows, Value lowKey, Value highKey) {
  LineBuilder lines(*this, firstRow, lowKey, highKey);
  b.loop(b.index(0), rows, 1, [&](Value row) { lines.row(row); });
}
