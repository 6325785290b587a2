// Tiles of rows that stand a vector apart, and the table in the order of one phase.
#include "passes/Cpu/StridedAdd.h"
#include "passes/Cpu/CpuKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

SmallVector<Value> skewer::multiplySums(VectorBuilder &b, int64_t tileRows, int64_t vectors, int64_t depth,
                                        SmallVector<Value> accumulators, const ProductOperand &rows,
                                        const ProductOperand &keys, const ProductOperand &table) {
  // One step a turn: with two, LLVM spills.
  return b.rolledLoop(b.index(0), b.index(depth), 1, accumulators, [&](Value k, ValueRange carried) {
    SmallVector<Value> sums(carried), columns, queries;
    Value line = b.mul(k, b.lanes);
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(b.load(keys.memory, b.add(b.add(keys.base, line), v * keys.stride)));
    for (int64_t r = 0; r < tileRows; ++r)
      queries.push_back(b.loadBroadcast(rows.memory, b.add(b.add(rows.base, k), r * rows.stride)));
    for (int64_t diagonal = 0; diagonal < tileRows + vectors - 1; ++diagonal) {
      Value offset = b.load(table.memory, b.add(b.add(table.base, line), diagonal * table.stride));
      for (int64_t r = 0; r < tileRows; ++r)
        if (int64_t v = diagonal - (tileRows - 1) + r; v >= 0 && v < vectors) {
          Value &sum = sums[r * vectors + v];
          sum = b.fma(queries[r], b.addf(columns[v], offset), sum);
        }
    }
    return sums;
  });
}

/// Sizes of the table in the shared workspace (its steps as rows, `shiftedLine` floats apart, so that any column may be
/// the first of a vector) and of one phase's panels in the worker's.
void CpuKernel::planStridedAdd() {
  const OffsetTerm &term = shape.offsets.front();
  PackedTable &table = tables.front();
  // Panel p belongs to (key vector) - (row of the phase) = p - phaseRows; tiles reach beyond the last row and key.
  phaseRows = llvm::divideCeil(shape.queries, lanes) + tileRows;
  phasePanels = phaseRows + llvm::alignTo(keyVectors, tileVectors) + tileRows + tileVectors;
  shiftedMargin = llvm::alignTo(std::max<int64_t>(0, (phaseRows + 1) * lanes - table.constant), lanes);
  int64_t columns = std::max(term.rows, table.constant + (phasePanels - phaseRows + 1) * lanes);
  shiftedLine = shiftedMargin + llvm::alignTo(columns, lanes) + lanes;
  table.panels = llvm::divideCeil(term.rows, lanes);
  table.copyFloats = term.depth * shiftedLine;
  table.buffer = reserve(sharedBytes, table.copies * table.copyFloats);
  phaseTable = reserve(localBytes, phasePanels * panelStride);
}

/// The table's panels for queries of one phase.
void CpuKernel::packPhase(Value phase) {
  const PackedTable &table = tables.front();
  Value copy = b.mul(copyOf(shape.offsets.front().tableAxes), table.copyFloats);
  Value first = b.add(copy, b.sub(b.index(table.constant + shiftedMargin - phaseRows * lanes), phase));
  b.loop(b.index(0), b.index(phasePanels), 1, [&](Value panel) {
    Value from = b.add(first, b.mul(panel, lanes)), to = b.mul(panel, panelStride);
    b.loop(b.index(0), b.index(depth), 1, [&](Value d) {
      b.store(b.load(tableBuffers.front(), b.add(from, b.mul(d, shiftedLine))), phaseTableBuffer,
              b.add(to, b.mul(d, lanes)));
    });
  });
}

SmallVector<Value> CpuKernel::stridedTile(Value row, Value position, Value vector, const TilePart &part,
                                          Value firstStep, int64_t steps, SmallVector<Value> start) {
  // Parts of the tile: vectors of keys, and rows of the phase.
  row = b.add(row, part.row);
  position = b.add(position, part.row * rowStep);
  vector = b.add(vector, part.vector);
  // position / lanes: which row of its phase the tile begins with.
  Value panel = b.add(b.sub(vector, b.divide(position, lanes)), phaseRows - (part.rows - 1));
  Value line = b.mul(firstStep, lanes);
  return multiplySums(b, part.rows, part.vectors, steps, std::move(start),
                      {queriesBuffer, b.add(b.mul(row, depth), firstStep), depth},
                      {keysBuffer, b.add(b.mul(vector, panelStride), line), panelStride},
                      {phaseTableBuffer, b.add(b.mul(panel, panelStride), line), panelStride});
}
