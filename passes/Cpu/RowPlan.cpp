// Sizes of what terms with picked rows hold, and the packing of their tables and vectors.
#include "passes/Cpu/CpuKernel.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

/// The most rows that a window of `length` offsets picks, from the lowest to the highest.
static int64_t reachOf(const OffsetRows &offsets, int64_t length) {
  int64_t most = 1;
  for (int64_t first = offsets.low - length + 1; first <= offsets.high(); ++first)
    most = std::max(most, std::abs(offsets.at(first + length - 1) - offsets.at(first)) + 1);
  return most;
}

void CpuKernel::planRows() {
  rowPlans.resize(shape.rows.size());
  int64_t tileKeys = tileVectors * lanes;
  for (auto [term, plan] : llvm::zip(shape.rows, rowPlans)) {
    plan.copies = countOf(term.tableAxes, shape.space);
    // Packed vectors of the content serve if they are the same: a different scale of the queries moves into the table,
    // keys are packed without one.
    for (auto [number, content] : llvm::enumerate(shape.content)) {
      const Walk &packed = term.keySide ? content.key : content.query;
      bool alone = llvm::count(contentOffset, contentOffset[number]) == 1;
      if (!plan.ownVectors || !(packed == term.vector) || content.depth != term.depth || (term.keySide && !alone))
        continue;
      if (!term.keySide && (content.scale == 0 || !std::isfinite(term.scale / content.scale)))
        continue;
      plan.ownVectors = false;
      plan.vectorOffset = contentOffset[number];
      plan.factor = term.scale / content.scale;
    }
    if (plan.ownVectors)
      plan.factor = 1;
    bool large = plan.ownVectors || term.kind != RowKind::Offset || std::abs(plan.factor) >= kLargeFactor;
    if (term.keySide) {
      plan.factor = term.scale * kLog2e;
      large = std::abs(term.scale) * std::sqrt(double(term.depth)) >= kLargeFactor;
    }
    plan.compensated = (term.keySide || term.kind != RowKind::Axis) && isHuge(term.scale, term.depth);
    plan.chunk = large ? kChunk : std::max<int64_t>(term.depth, 1);
    int64_t picked = term.endRow - term.firstRow / lanes * lanes;

    if (!term.keySide) {
      plan.items = llvm::divideCeil(term.rows, lanes);
      plan.copyFloats = plan.items * (term.depth + 1) * lanes;
      plan.vectors = reserve(localBytes, plan.ownVectors ? rowBlock * term.depth : 0);
      plan.productStride = llvm::alignTo(picked, lanes) + 2 * lanes;
      plan.products = reserve(localBytes, (term.kind == RowKind::Any ? rowBlock : tileRows) * plan.productStride);
      if (term.kind == RowKind::Offset) {
        // A tile that begins here, or after the last offset, has one row in all its lanes.
        plan.origin = term.offsets.low - tileKeys + 1;
        plan.lineVectors = llvm::divideCeil(term.offsets.high() + tileKeys - plan.origin, lanes);
        int64_t window = llvm::divideCeil(keyBlock + tileRows + tileKeys, lanes) + 2;
        plan.onceABlock = !manyKeyBlocks || plan.lineVectors * lanes <= keyBlock;
        plan.lineStride = std::min(plan.lineVectors, window) * lanes;
        plan.lines = reserve(localBytes, rowBlock * plan.lineStride + lanes);
      } else if (term.kind == RowKind::Axis) {
        plan.lineStride = llvm::alignTo(shape.keyAxes[term.axis].extent, lanes) + lanes;
        plan.lines = reserve(localBytes, rowBlock * plan.lineStride);
        lineBias = true;
      } else {
        lineBias = true;
      }
    } else {
      int64_t rows = picked;
      plan.items = term.rows;
      if (term.kind == RowKind::Offset) {
        int64_t window = llvm::alignTo(rowBlock, lanes) + tileKeys;
        rows = reachOf(term.offsets, window);
        plan.byOffset = !term.offsets.isMonotone() || term.offsets.hasNone() || rows > window;
        if (plan.byOffset) {
          plan.items = term.offsets.rows.size();
          rows = std::min(plan.items, window);
        }
      }
      // Groups of rows may go beyond the last one.
      plan.copyFloats = (plan.items + tileRows) * term.depth;
      plan.vectors =
          reserve(localBytes, plan.ownVectors ? llvm::alignTo(keyVectors, tileVectors) * (term.depth + 1) * lanes : 0);
      plan.productStride = tileKeys;
      plan.products = reserve(localBytes, (rows + 2 * tileRows) * plan.productStride);
      if (term.kind == RowKind::Axis) {
        plan.lineStride = llvm::alignTo(keyVectors, tileVectors) * lanes;
        plan.lines = reserve(localBytes, shape.queryAxes[term.axis].extent * plan.lineStride);
      } else {
        lineBias = true;
      }
    }
    plan.table = reserve(sharedBytes, plan.copies * plan.copyFloats);
  }
}

/// One panel, or one row, of one copy of a table.
void CpuKernel::packRowTable(unsigned number, Value copy, Value item) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  Value target = b.view(shared, b.index(plan.table.offset), plan.table.floats);
  enterCopy(term.tableAxes, copy);
  Value source = arguments[term.table], base = baseOf(term.tableBase), targetBase = b.mul(copy, plan.copyFloats);
  if (!term.keySide)
    return packPanel(b, {source, base, term.rowStride, term.depthStride, term.rows, term.depth, plan.factor},
                     {target, targetBase, (term.depth + 1) * lanes}, item);
  Value to = b.add(targetBase, b.mul(item, term.depth)), row = item;
  auto copyRow = [&](Value row) {
    Value from = b.add(base, b.mul(row, term.rowStride));
    b.loop(b.index(0), b.index(term.depth), 1, [&](Value d) {
      Value x = b.mulf(b.scalar(source, b.add(from, b.mul(d, term.depthStride))), b.constantScalar(plan.factor));
      b.storeScalar(x, target, b.add(to, d));
    });
  };
  if (!plan.byOffset)
    return copyRow(row);
  std::vector<int32_t> rows(term.offsets.rows.begin(), term.offsets.rows.end());
  row = b.tableElement(b.integerTable(rows), item);
  b.when(
      b.less(row, b.index(0)),
      [&] {
        b.loop(b.index(0), b.index(term.depth), 1,
               [&](Value d) { b.storeScalar(b.constantScalar(0), target, b.add(to, d)); });
      },
      [&] { copyRow(row); });
}

/// Panels of keys for terms whose keys are not those of the content.
void CpuKernel::packRowKeys() {
  for (auto [term, plan] : llvm::zip(shape.rows, rowPlans)) {
    if (!term.keySide || !plan.ownVectors)
      continue;
    packKeyPanels(term.vector, term.depth, 0, 1, plan.vectorsBuffer, (term.depth + 1) * lanes);
  }
}
