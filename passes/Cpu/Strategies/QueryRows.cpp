// The query side of terms with picked rows: logits of the rows that positions can pick. The strategies of the query
// side share it (PickedRows.h).
#include "passes/Cpu/Strategies/PickedRows.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

QueryRows::QueryRows(CpuKernel &kernel, const RowTerm &term) : PickedRows(kernel, term) {
  table.itemsOfCopy = llvm::divideCeil(term.rows, lanes);
  table.copyFloats = table.itemsOfCopy * stride();
}

void QueryRows::planRows(Layout &layout, int64_t productRows) {
  compensated = term.kind != RowKind::Axis && context.isHuge(term.scale, term.depth);
  bool large = ownVectors || term.kind != RowKind::Offset || std::abs(factor) >= kLargeFactor;
  chunk = large ? kChunk : std::max<int64_t>(steps(), 1);
  productStride = llvm::alignTo(picked(), lanes) + 2 * lanes;
  layout.reserve(vectors, ownVectors ? rowBlock * steps() : 0, Layout::Zone::PickedRows);
  layout.reserve(products, productRows * productStride, Layout::Zone::PickedRows);
  table.plan(layout, Layout::Zone::PickedRows);
}

void QueryRows::packItem(Value target, Value copy, Value item) {
  Value base = positions.baseOf(term.tableBase), targetBase = b.mul(copy, table.copyFloats);
  engine.packPanel(b,
                   {memory.arguments[term.table], base, term.rowStride, term.depthStride, term.rows, term.depth,
                    engine.packedFactor(factor), /*reversed=*/false, rowLength()},
                   {target, targetBase, stride()}, item);
}

/// Returns the end of the panels with picked rows. No pair picks rows that the table lacks in this call.
Value QueryRows::endPanel() {
  Value end = b.index((term.endRow - 1) / lanes + 1);
  return term.rowLength ? b.minimum(end, b.divide(b.add(rowLength(), lanes - 1), lanes)) : end;
}

void QueryRows::packQueries(const RowBlock &block) {
  if (ownVectors)
    kernel.packer.packQueryRows(engine, term.vector, term.depth, engine.packedFactor(term.scale), block, vectorsMemory,
                                steps());
}

void QueryRows::rowLogits(Value group, Value firstPanel, Value endPanel, Value target) {
  int64_t rowStride = ownVectors ? steps() : depth;
  Value copy = table.copyOfHead();
  Value rowsBase = b.add(b.mul(group, tileRows * rowStride), vectorOffset);
  auto tile = [&](Value panel, int64_t vectors) {
    TileProduct product{{0, tileRows, 0, vectors},
                        steps(),
                        summation(),
                        {vectorsMemory, rowsBase, rowStride},
                        {tableMemory, b.add(copy, b.mul(panel, stride())), stride()}};
    product.scale = engine.factorOfSums(term.scale);
    engine.multiplyInto(b, product,
                        {productsMemory, b.add(target, b.mul(b.sub(panel, firstPanel), lanes)), productStride});
  };
  Value whole = b.add(firstPanel, b.mul(b.divide(b.sub(endPanel, firstPanel), tileVectors), tileVectors));
  b.loop(firstPanel, whole, tileVectors, [&](Value panel) { tile(panel, tileVectors); });
  b.loop(whole, endPanel, 1, [&](Value panel) { tile(panel, 1); });
}

Value QueryRows::pick(Value at, Value rows, Value guard) {
  if (picked() > lanes || !canPermute(b))
    return gather(b, productsMemory, at, rows, guard);
  Value x = permute(b, b.load(productsMemory, at), rows);
  return guard ? b.select(guard, x, b.constant(0)) : x;
}
