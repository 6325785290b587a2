// Query side of terms with picked rows: logits of the rows that positions can pick, then a line over a map's axis, or
// rows picked lane by lane. Lines over offsets are in OffsetLines.cpp.
#include "passes/Cpu/CpuKernel.h"
#include "passes/Cpu/LaneIndices.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// Products of a group's queries with table rows, panel by panel, at `target` in the term's products.
void CpuKernel::rowLogits(unsigned number, Value group, Value firstPanel, Value endPanel, Value target) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  int64_t stride = (term.depth + 1) * lanes, rowStride = plan.ownVectors ? term.depth : depth;
  Value copy = b.mul(copyOf(term.tableAxes), plan.copyFloats);
  Value rowsBase = b.add(b.mul(group, tileRows * rowStride), plan.vectorOffset);
  auto tile = [&](Value panel, int64_t vectors) {
    multiplyInto(b, tileRows, vectors, term.depth, summationOf(plan), {plan.vectorsBuffer, rowsBase, rowStride},
                 {plan.tableBuffer, b.add(copy, b.mul(panel, stride)), stride},
                 {plan.productsBuffer, b.add(target, b.mul(b.sub(panel, firstPanel), lanes)), plan.productStride});
  };
  Value whole = b.add(firstPanel, b.mul(b.divide(b.sub(endPanel, firstPanel), tileVectors), tileVectors));
  b.loop(firstPanel, whole, tileVectors, [&](Value panel) { tile(panel, tileVectors); });
  b.loop(whole, endPanel, 1, [&](Value panel) { tile(panel, 1); });
}

/// The key axes' values for `lanes` keys from `key` on; what is computed for keys behind the last one is not used.
std::map<std::string, Value> CpuKernel::keyLanes(Value key, bool inside) {
  std::map<std::string, Value> at;
  Value position = arith::AddIOp::create(b.builder, b.broadcastIndex(key), b.laneNumbers());
  if (inside && shape.keys % lanes)
    position = arith::MinSIOp::create(b.builder, position, b.integer(shape.keys - 1));
  for (auto [axis, name] : llvm::zip(shape.keyAxes, shape.space.key)) {
    if (axis.isWhole(shape.keys)) {
      at[name] = position;
      continue;
    }
    subscript::Expr value = floorDiv(subscript::Expr::symbol("position"), axis.inner);
    if (axis.inner * axis.extent < shape.keys)
      value = mod(value, axis.extent);
    at[name] = LaneIndices(b, {}, {{"position", position}}, {}).emit(value);
  }
  return at;
}

/// The picked rows, counted from the first row of the first panel that holds one; never outside.
Value CpuKernel::pickedRows(unsigned number, const std::map<std::string, Value> &at,
                            std::map<std::string, Value> lanesAt, Value &guard) {
  const RowTerm &term = shape.rows[number];
  LaneIndices indices(b, at, std::move(lanesAt), reads);
  int64_t first = term.firstRow / lanes * lanes;
  Value row = arith::SubIOp::create(b.builder, indices.emit(term.row), b.integer(first));
  // Rows of pairs that a guard or a mask hides may be any.
  row = arith::MinUIOp::create(b.builder, row, b.integer(term.endRow - first - 1));
  if (term.guard)
    guard = indices.emitPredicate(*term.guard);
  return row;
}

/// The logits of picked rows for `lanes` keys, from products that begin at `at`.
static Value pick(CpuKernel &kernel, unsigned number, Value products, Value rows, Value guard) {
  VectorBuilder &b = kernel.b;
  const RowTerm &term = kernel.shape.rows[number];
  const RowPlan &plan = kernel.rowPlans[number];
  bool few = term.endRow - term.firstRow / b.lanes * b.lanes <= b.lanes;
  if (!few || !b.canPermute())
    return b.gather(plan.productsBuffer, products, rows, guard);
  Value x = b.permute(b.load(plan.productsBuffer, products), rows);
  return guard ? b.select(guard, x, b.constant(0)) : x;
}

/// One query's logits over one axis of the key map, less their maximum: see centreLogits.
void CpuKernel::axisLine(unsigned number, Value row, Value position, Value products) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  int64_t extent = shape.keyAxes[term.axis].extent, whole = extent / lanes * lanes;
  float none = -std::numeric_limits<float>::infinity();
  std::map<std::string, Value> at = axesAt(position, {});
  Value line = b.mul(row, plan.lineStride);
  auto vectorAt = [&](Value x) {
    Value guard, keys = arith::AddIOp::create(b.builder, b.broadcastIndex(x), b.laneNumbers());
    Value rows = pickedRows(number, at, {{shape.space.key[term.axis], keys}}, guard);
    Value logits = pick(*this, number, products, rows, guard);
    b.store(logits, plan.linesBuffer, b.add(line, x));
    return logits;
  };
  Value largest =
      b.loop(b.index(0), b.index(whole), lanes, ValueRange{b.constant(none)},
             [&](Value x, ValueRange carried) { return SmallVector<Value>{b.larger(vectorAt(x), carried[0])}; })[0];
  if (whole < extent) {
    Value inside =
        arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, b.laneNumbers(), b.integer(extent - whole));
    largest = b.larger(b.select(inside, vectorAt(b.index(whole)), b.constant(none)), largest);
  }
  Value maximum = b.reduceMax(largest);
  // Infinities are left to the softmax.
  Value finite = b.compare(arith::CmpFPredicate::OEQ, b.subf(maximum, maximum), b.constantScalar(0));
  Value centre = b.select(finite, maximum, b.constantScalar(0)), shift = b.broadcast(centre);
  noteShift(row, centre);
  b.loop(b.index(0), b.index(extent), lanes, [&](Value x) {
    Value place = b.add(line, x);
    b.store(b.subf(b.load(plan.linesBuffer, place), shift), plan.linesBuffer, place);
  });
}

/// Adds to a row's line of biases; where it says that a key is masked it goes on to say so.
void CpuKernel::addToLine(Value x, Value at) {
  Value line = b.load(lineBuffer, at), sum = b.addf(line, x);
  if (lineMask) {
    Value nothing = b.constant(-std::numeric_limits<float>::infinity());
    sum = b.select(b.compare(arith::CmpFPredicate::OEQ, line, nothing), nothing, sum);
  }
  b.store(sum, lineBuffer, at);
}

/// One query's logits of the rows that each key picks.
void CpuKernel::gatherRows(unsigned number, Value row, Value position, Value lowKey, Value highKey) {
  std::map<std::string, Value> at = axesAt(position, {});
  Value products = b.mul(row, rowPlans[number].productStride);
  Value line = b.add(b.mul(row, lineStride), lineMargin);
  b.loop(lowKey, highKey, lanes, [&](Value key) {
    Value guard, rows = pickedRows(number, at, keyLanes(key), guard);
    addToLine(pick(*this, number, products, rows, guard), b.add(line, b.sub(key, lowKey)));
  });
}

/// What does not depend on the block of keys.
void CpuKernel::queryRows(Value firstRow, Value rows, Value groups) {
  for (auto [number, term] : llvm::enumerate(shape.rows)) {
    const RowPlan &plan = rowPlans[number];
    if (term.keySide || (term.kind == RowKind::Offset && !plan.onceABlock))
      continue;
    b.loop(b.index(0), groups, 1, [&, number = number, &term = term](Value group) {
      if (term.kind == RowKind::Offset) {
        auto [low, high] = liveKeys(b.add(firstRow, b.mul(group, tileRows)), tileRows, b.index(0), b.index(shape.keys));
        return offsetLine(number, group, firstRow, b.index(0), high);
      }
      Value first = b.index(term.firstRow / lanes), end = b.index((term.endRow - 1) / lanes + 1);
      bool kept = term.kind == RowKind::Any;
      rowLogits(number, group, first, end, kept ? b.mul(group, tileRows * plan.productStride) : b.index(0));
      if (kept)
        return;
      Value firstOfGroup = b.mul(group, tileRows);
      b.loop(firstOfGroup, b.minimum(b.add(firstOfGroup, tileRows), rows), 1, [&](Value row) {
        axisLine(number, row, b.add(firstRow, row), b.mul(b.sub(row, firstOfGroup), plan.productStride));
      });
    });
  }
}
