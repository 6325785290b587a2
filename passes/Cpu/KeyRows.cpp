// Key side of terms with picked rows: products of table rows with the packed keys, lanes = keys, for one tile of keys
// at a time. Rows picked lane by lane, and lines over keys for each value of an axis of the query map; rows by offset
// are in KeyDiagonals.cpp.
#include "passes/Cpu/CpuKernel.h"

using namespace mlir;
using namespace skewer;

/// products[row - firstRow][key]: table rows [firstRow, endRow), in whole groups, times a tile's keys.
void CpuKernel::keyProducts(unsigned number, Value firstRow, Value endRow, Value vector, int64_t vectors) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  int64_t stride = plan.ownVectors ? (term.depth + 1) * lanes : panelStride;
  Value panel = b.add(b.mul(vector, stride), plan.vectorOffset * lanes);
  Value copy = b.mul(copyOf(term.tableAxes), plan.copyFloats);
  b.loop(firstRow, endRow, tileRows, [&](Value row) {
    multiplyInto(b, tileRows, vectors, term.depth, summationOf(plan),
                 {plan.tableBuffer, b.add(copy, b.mul(row, term.depth)), term.depth},
                 {plan.vectorsBuffer, panel, stride},
                 {plan.productsBuffer, b.mul(b.sub(row, firstRow), plan.productStride), plan.productStride});
  });
}

/// The products that `lanes` keys pick, of keys that stand `v` vectors behind the tile's first.
static Value pick(CpuKernel &kernel, unsigned number, const std::map<std::string, Value> &at, Value key, int64_t v) {
  VectorBuilder &b = kernel.b;
  const RowPlan &plan = kernel.rowPlans[number];
  Value guard, rows = kernel.pickedRows(number, at, kernel.keyLanes(b.add(key, v * b.lanes)), guard);
  Value places = arith::MulIOp::create(b.builder, rows, b.integer(plan.productStride));
  places = arith::AddIOp::create(b.builder, places, b.laneNumbers());
  return b.gather(plan.productsBuffer, b.index(v * b.lanes), places, guard);
}

/// The rows that any pair picks: from the one that `pickedRows` counts from.
static std::pair<Value, Value> pickedRange(CpuKernel &kernel, const RowTerm &term) {
  return {kernel.b.index(term.firstRow / kernel.lanes * kernel.lanes), kernel.b.index(term.endRow)};
}

void CpuKernel::gatherKeys(unsigned number, Value firstRow, Value rows, Value lowKey, Value vector, int64_t vectors) {
  auto [first, end] = pickedRange(*this, shape.rows[number]);
  keyProducts(number, first, end, vector, vectors);
  Value key = b.mul(vector, lanes);
  b.loop(b.index(0), rows, 1, [&](Value row) {
    std::map<std::string, Value> at = axesAt(b.add(firstRow, row), {});
    Value line = b.add(b.add(b.mul(row, lineStride), lineMargin), b.sub(key, lowKey));
    for (int64_t v = 0; v < vectors; ++v)
      addToLine(pick(*this, number, at, key, v), b.add(line, v * lanes));
  });
}

/// For one head: what each value of a query axis gives for each key.
void CpuKernel::keyLines(unsigned number) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  auto [first, end] = pickedRange(*this, term);
  auto tile = [&, first = first, end = end](Value vector, int64_t vectors) {
    keyProducts(number, first, end, vector, vectors);
    Value key = b.mul(vector, lanes);
    b.loop(b.index(0), b.index(shape.queryAxes[term.axis].extent), 1, [&](Value value) {
      std::map<std::string, Value> at = axes;
      at[shape.space.query[term.axis]] = value;
      Value line = b.add(b.mul(value, plan.lineStride), key);
      for (int64_t v = 0; v < vectors; ++v)
        b.store(pick(*this, number, at, key, v), plan.linesBuffer, b.add(line, v * lanes));
    });
  };
  int64_t whole = keyVectors / tileVectors * tileVectors;
  b.loop(b.index(0), b.index(whole), tileVectors, [&](Value vector) { tile(vector, tileVectors); });
  if (whole < keyVectors)
    tile(b.index(whole), keyVectors - whole);
}

void CpuKernel::addKeyLine(unsigned number, Value position, Value key, int64_t vectors, SmallVector<Value> &sums) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  for (int64_t r = 0; r < tileRows; ++r) {
    Value value = axisOf(shape.queryAxes[term.axis], b.add(position, r));
    Value line = b.add(b.mul(value, plan.lineStride), key);
    for (int64_t v = 0; v < vectors; ++v) {
      Value &sum = sums[r * vectors + v];
      sum = b.addf(sum, b.load(plan.linesBuffer, b.add(line, v * lanes)));
    }
  }
}

/// What a block of keys adds to the lines of biases of a block of rows, one tile of keys after the other.
void CpuKernel::keyRows(Value firstRow, Value rows, Value lowKey, Value highKey) {
  auto tile = [&](Value vector, int64_t vectors) {
    Value key = b.mul(vector, lanes);
    auto live = liveKeys(firstRow, rowBlock, lowKey, highKey);
    b.when(meetsLive(live, lowKey, key, b.add(key, vectors * lanes)), [&] {
      for (auto [number, term] : llvm::enumerate(shape.rows)) {
        if (!term.keySide || term.kind == RowKind::Axis)
          continue;
        if (term.kind == RowKind::Offset)
          keyDiagonals(number, firstRow, rows, lowKey, vector, vectors);
        else
          gatherKeys(number, firstRow, rows, lowKey, vector, vectors);
      }
    });
  };
  if (llvm::none_of(shape.rows, [](const RowTerm &term) { return term.keySide && term.kind != RowKind::Axis; }))
    return;
  Value first = b.divide(lowKey, lanes), end = b.divide(b.add(highKey, lanes - 1), lanes);
  Value whole = b.add(first, b.mul(b.divide(b.sub(end, first), tileVectors), tileVectors));
  b.loop(first, whole, tileVectors, [&](Value vector) { tile(vector, tileVectors); });
  b.loop(whole, end, 1, [&](Value vector) { tile(vector, 1); });
}
