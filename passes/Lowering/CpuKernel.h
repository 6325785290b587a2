// The parts of a fused attention on a CPU, and the state they share while one kernel is emitted.
//
// One work item is a run of query rows of one leading index (batch, head). It packs that head's keys once, then goes
// through blocks of `rowBlock` rows × `keyBlock` keys:
//
//   packQueries      rows × depth, scaled by scale·log2(e), zero below the last row
//   offsetLogits     for each offset term: rows × the window of its table that the block reaches (Band)
//   biasLines        where more than one such window, or another term, adds up: rows × keys
//   scoreTile        the matmul, plus a skewed load of a window or a line
//   rowSoftmax       running maximum, exp2, sums
//   accumulateValues probabilities × values
//
// Nothing here grows with queries × keys. Sources: Dao 2022 (arXiv:2205.14135) for the online softmax; Huang 2018
// (arXiv:1809.04281) section 3.4.1 for the skew that the start address of a load replaces.
#pragma once
#include "passes/Lowering/AttentionShape.h"
#include "passes/Lowering/KernelPlan.h"
#include "passes/Lowering/VectorBuilder.h"

namespace skewer {

/// A region of a workspace, in floats, 64-byte aligned.
struct Buffer {
  int64_t offset = 0; // bytes
  int64_t floats = 0;
};

/// A table packed for the band: panels of `lanes` columns × depth, columns in the order of key minus query.
struct PackedTable {
  Buffer buffer;            // in the shared workspace
  int64_t panels = 0;       // of one copy
  int64_t copies = 1;       // one for each leading index if the table differs by it, else 1
  int64_t constant = 0;     // column of (query axis 0, key axis 0)
  double factor = 1;        // table entries are multiplied by this
  Buffer queries;           // rows × depth of its own if the content's scaled queries do not serve
  bool ownQueries = false;
  Buffer logits;            // rows × logitsStride in the worker's workspace
  int64_t logitsStride = 0, margin = 0;
};

struct CpuKernel {
  CpuKernel(VectorBuilder &b, const AttentionShape &shape) : b(b), shape(shape) {}

  VectorBuilder &b;
  const AttentionShape &shape;
  attn::CpuScheduleAttr schedule;

  // From the schedule.
  int64_t tileRows, tileVectors, rowBlock, keyBlock, rowsPerItem;
  // Derived.
  int64_t lanes, depth, keyVectors, widthVectors, panelStride, lineStride, lineMargin, scoreStride, chunks;
  bool manyKeyBlocks, skewedBias, lineBias;
  std::vector<int64_t> contentOffset; // of each content term in the packed depth
  std::vector<PackedTable> tables;
  Buffer packedKeys, packedValues, queries, scores, accumulators, maxima, sums, scales, line;
  int64_t localBytes = 0, sharedBytes = 0;

  // While emitting the attend phase.
  mlir::ValueRange arguments;      // input buffers
  mlir::Value output, shared, local;
  std::map<std::string, mlir::Value> axes; // values of the leading axes
  mlir::Value leadingIndex;        // flat
  mlir::Value keysBuffer, valuesBuffer, queriesBuffer, scoresBuffer, accumulatorsBuffer, maximaBuffer, sumsBuffer,
      scalesBuffer, lineBuffer;
  std::vector<mlir::Value> tableBuffers, logitsBuffers, ownQueriesBuffers;
  mlir::Value valueBase;           // element offset of (key 0, width 0)
  int64_t valueStride = 0;

  void planWorkspace();
  void openBuffers();
  mlir::Value baseOf(const subscript::Expr &);
  mlir::Value axisOf(const MapAxis &, mlir::Value position);

  // One part each; see the file of that name.
  void packPanels(mlir::Value source, mlir::Value sourceBase, int64_t rowStride, int64_t depthStride, int64_t rows,
                  int64_t depth, int64_t depthOffset, bool reversed, double factor, mlir::Value target,
                  mlir::Value targetBase, int64_t stride, mlir::Value panel);
  void packKeys();
  void packValues();
  void packQueries(mlir::Value firstRow, mlir::Value rows, mlir::Value groups);
  void offsetLogits(unsigned term, mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value highKey);
  mlir::Value logitsStart(unsigned term, mlir::Value group, mlir::Value firstRow, mlir::Value lowKey);
  void biasLines(mlir::Value firstRow, mlir::Value rows, mlir::Value lowKey, mlir::Value highKey);
  void scoreTile(mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value vector, int64_t vectors,
                 bool last);
  void rowSoftmax(mlir::Value row, mlir::Value lowKey, mlir::Value lowVector, mlir::Value highVector);
  void accumulateValues(mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value low,
                        mlir::Value high);
  void writeRows(mlir::Value firstRow, mlir::Value rows);
  void rowBlockBody(mlir::Value firstRow, mlir::Value rows);

  /// accumulators[r][v] += Σ_k rows[r][k] · panels[k][v]: the register tile everything is made of.
  llvm::SmallVector<mlir::Value> multiply(int64_t tileRows, int64_t vectors, int64_t depth,
                                          llvm::SmallVector<mlir::Value> accumulators, mlir::Value rowsBuffer,
                                          mlir::Value rowsBase, int64_t rowStride, mlir::Value panels,
                                          mlir::Value panelBase, int64_t panelStride);
  /// The keys of a row group that may be visible, within [low, high).
  std::pair<mlir::Value, mlir::Value> liveKeys(mlir::Value firstRow, int64_t rows, mlir::Value low, mlir::Value high);
};

/// Phase functions: `NAME_pack` (tables; only if there are any) and `NAME_attend`, added to the module; the plan's phases
/// and workspace are filled in.
void emitCpuKernel(CpuKernel &, mlir::ModuleOp, KernelPlan &);

} // namespace skewer
