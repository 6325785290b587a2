// The key side of terms with picked rows: products of table rows with the packed keys, with the keys in the lanes, for
// one tile of keys at a time. The strategies of the key side share it (PickedRows.h).
#include "passes/Cpu/Strategies/PickedRows.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

KeyRows::KeyRows(CpuKernel &kernel, const RowTerm &term) : PickedRows(kernel, term) {
  factor = engine.packedFactor(term.scale);
  table.itemsOfCopy = term.rows;
}

void KeyRows::planKeys(Layout &layout, int64_t productRows) {
  compensated = context.isHuge(term.scale, term.depth);
  bool large = shape.scoreFactor * std::abs(term.scale) * std::sqrt(double(term.depth)) >= kLargeFactor;
  chunk = large ? kChunk : std::max<int64_t>(steps(), 1);
  rowsTogether = engine.storesSums(term.scale, compensated) ? tileRows * g.groupsTogether : tileRows;
  // Rows that are taken together may reach beyond the last row.
  table.copyFloats = (table.itemsOfCopy + rowsTogether) * steps();
  int64_t panels = llvm::alignTo(keyVectors, tileVectors);
  layout.reserve(vectors, ownVectors ? panels * stride() : 0, Layout::Zone::PickedRows);
  productStride = tileVectors * lanes;
  layout.reserve(products, (productRows + tileRows + rowsTogether) * productStride, Layout::Zone::PickedRows);
  table.plan(layout, Layout::Zone::PickedRows);
}

void KeyRows::open() {
  PickedRows::open();
  if (!ownVectors)
    vectorsMemory = kernel.content.keys();
}

/// Packs panels of keys, unless those of the content serve.
void KeyRows::packKeys() {
  if (ownVectors)
    kernel.packer.packKeyPanels(engine, term.vector, term.depth, 1, {vectorsMemory, b.index(0), stride()});
}

void KeyRows::packItem(Value target, Value copy, Value item) {
  copyRow(target, b.add(b.mul(copy, table.copyFloats), b.mul(item, steps())), item);
}

void KeyRows::copyRow(Value target, Value to, Value row) {
  Value source = memory.arguments[term.table];
  if (term.rowLength) // no pair picks rows behind the last one
    row = b.minimum(row, b.add(rowLength(), -1));
  Value from = b.add(positions.baseOf(term.tableBase), b.mul(row, term.rowStride));
  engine.packRow(b, {source, from, term.depthStride, term.depth, factor}, target, to);
}

void KeyRows::keyProducts(Value first, Value end, Value vector, int64_t vectors) {
  int64_t panelFloats = ownVectors ? stride() : panelStride;
  Value panel = b.add(b.mul(vector, panelFloats), vectorOffset * lanes);
  Value copy = table.copyOfHead();
  b.loop(first, end, rowsTogether, [&](Value row) {
    TileProduct product{{0, rowsTogether, 0, vectors},
                        steps(),
                        summation(),
                        {tableMemory, b.add(copy, b.mul(row, steps())), steps()},
                        {vectorsMemory, panel, panelFloats}};
    product.scale = engine.factorOfSums(term.scale);
    engine.multiplyInto(b, product, {productsMemory, b.mul(b.sub(row, first), productStride), productStride});
  });
}

Value KeyRows::pick(const Positions::Values &at, Value key, int64_t v) {
  Value guard, rows = pickedRows(at, lanesFrom(b.add(key, v * lanes)), guard);
  Value places = arith::MulIOp::create(b.builder, rows, integer(b, productStride));
  places = arith::AddIOp::create(b.builder, places, laneNumbers(b));
  return gather(b, productsMemory, b.index(v * lanes), places, guard);
}
