// The parts of a fused attention on a CPU, and the state they share while one kernel is emitted.
//
// One work item is a run of query rows of one leading index (batch, head). It packs that head's keys and prepares what
// is added to its scores (PreparedBias) once, then goes through blocks of `rowBlock` rows × `keyBlock` keys:
//
//   packQueries      rows × depth, scaled by scale·log2(e), zero below the last row
//   offsetLogits     for each offset term: rows × the window of its table that the block reaches (Band)
//   queryRows        for each term with picked rows: logits of the rows, put in the order in which tiles read them
//   biasLines        where windows over map axes, gathered rows, or terms of no class, add up: rows × keys
//   keyRows          the same of terms in which a key meets the picked row
//   scoreTile        the matmul, plus a (skewed) load of each window, prepared line, table or row
//   rowSoftmax       running maximum, exp2, sums
//   accumulateValues probabilities × values
//   addValueTerms    probabilities × rows of tables that positions pick
//
// Nothing here grows with queries × keys. Sources: Dao 2022 (arXiv:2205.14135) for the online softmax; Huang 2018
// (arXiv:1809.04281) section 3.4.1 for the skew that the start address of a load replaces.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Analysis/Summation.h"
#include "passes/Cpu/LaneTerm.h"
#include "passes/Cpu/Panels.h"
#include "passes/Cpu/RowPlan.h"
#include "passes/Cpu/ValuePlan.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/PhaseFunction.h"
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// A table packed for the band: panels of `lanes` columns × depth, columns in the order of key minus query.
struct PackedTable {
  Buffer buffer;        // in the shared workspace
  int64_t panels = 0;   // of one copy
  int64_t copies = 1;   // one for each tuple of OffsetTerm::tableAxes
  int64_t constant = 0; // column of (query axis 0, key axis 0)
  double factor = 1;    // table entries are multiplied by this
  int64_t copyFloats = 0;
  Buffer queries; // rows × depth of its own if the content's scaled queries do not serve
  bool ownQueries = false;
  Buffer logits; // rows × logitsStride in the worker's workspace
  int64_t logitsStride = 0, margin = 0;
};

/// Summands without a contraction, or parts of the mask, whose values are prepared before the scores are computed: by
/// `prepare` once for each run of work items of a head, or (a score table) in the pack phase.
///
/// A Difference of one pair of axes is a line that each row reads one element earlier than the row before it, as the
/// band is; over maps it has a dimension for each pair. A Key line is the same for all rows.
struct PreparedBias {
  BiasKind kind = BiasKind::Key;
  std::vector<unsigned> terms;   // of shape.others; their values are added up
  std::vector<unsigned> masks;   // of shape.masks: 0 where all hold, -inf elsewhere
  std::vector<std::string> axes; // score table: leading axes with a copy each
  Buffer buffer;                 // score table: in the shared workspace
  int64_t copyFloats = 0;        // of one copy
  std::vector<int64_t> strides;  // Difference: of each pair of axes; Table: of a row
  int64_t origin = 0;            // of difference (0, …, 0)
  Buffer gates;                  // one factor a row of the block, if a term has gates
  // Centred: what `buffer` lacks of the value, and the values less the largest that a block of rows sees.
  Buffer lows, centred;

  bool isMask() const { return !masks.empty(); }
  bool overMap() const { return kind == BiasKind::Difference && strides.size() > 1; }
  /// Each block of rows has its line with the largest value near 0, so that large biases are added without rounding.
  bool isCentred() const { return kind == BiasKind::Difference && !overMap() && !isMask() && !gates.floats; }
};

/// Rows of an operand that follow each other in memory, `depth` floats each, from `base` on.
struct UpcomingRows {
  mlir::Value memory, base;
  int64_t depth;
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
  bool manyKeyBlocks;
  // Strided addition: rows of a block stand `rowStep` positions apart (else 1); see StridedAdd.cpp.
  bool strided = false;
  int64_t rowStep = 1, phaseRows = 0, phasePanels = 0, shiftedMargin = 0, shiftedLine = 0;
  Buffer phaseTable;
  bool lineBias;                      // rows have bias lines: see biasLines
  bool lineMask;                      // … in which masked keys are -inf
  std::vector<int64_t> contentOffset; // of each content term in the packed depth; terms with the same queries share one
  std::vector<PackedTable> tables;
  std::vector<PreparedBias> prepared;
  std::vector<IndexLine> indexLines;
  std::vector<LaneTerm> laneTerms;
  std::vector<subscript::Expr> laneMasks;
  std::vector<RowPlan> rowPlans;
  std::vector<ValuePlan> valuePlans;
  Buffer packedKeys, packedValues, queries, scores, accumulators, maxima, sums, scales, shifts, line;
  int64_t localBytes = 0, sharedBytes = 0;
  // Sums of large scores; see Summation.h.
  double scoreDeviation = 0; // of unit-normal operands
  bool isHuge(double scale, int64_t depth) const;
  static constexpr Summation kCompensated{kCompensatedChunk, true};
  Summation summationOf(const RowPlan &plan) const { return plan.compensated ? kCompensated : Summation{plan.chunk}; }
  Summation summationOfContent() const;
  void planSums();

  // From the stage: how many of each leading axis there are, and what a phase begins with: it sets `arguments`,
  // `output`, `shared` and `local` from the phase's own.
  std::vector<Extent> leading;
  std::function<void(CpuKernel &, const PhaseFunction &)> openStage;
  // Operands without memory: target[at + d] = scale × their element `first` + d, for the whole row that begins there.
  std::vector<bool> computed; // by number; empty: none
  std::function<void(unsigned argument, mlir::Value first, mlir::Value target, mlir::Value at, double scale)>
      computeRow;
  Buffer computedRows; // of a panel
  bool isComputed(unsigned argument) const { return argument < computed.size() && computed[argument]; }

  // While emitting a phase.
  IndexEmitter::Read reads;                 // of the kernel's run-time index operands
  llvm::SmallVector<mlir::Value> arguments; // flat memory of each of operandsOf(attention)
  mlir::Value output, lse, shared, local;   // lse: null where it is not asked for
  std::map<std::string, mlir::Value> axes;  // values of the leading axes
  mlir::Value leadingIndex;                 // flat
  mlir::Value phaseTableBuffer;
  llvm::SmallVector<mlir::Value> leadingSizes;
  mlir::Value keysBuffer, valuesBuffer, queriesBuffer, scoresBuffer, accumulatorsBuffer, maximaBuffer, sumsBuffer,
      scalesBuffer, shiftsBuffer, lineBuffer;
  std::vector<mlir::Value> tableBuffers, logitsBuffers, ownQueriesBuffers;
  std::vector<UpcomingRows> upcoming; // of the next head, fetched while this one's values are added up
  mlir::Value valueBase;              // element offset of (key 0, width 0)
  int64_t valueStride = 0;
  std::vector<mlir::Value> preparedBuffers, gateBuffers, lowBuffers, centredBuffers;
  mlir::Value lowVisible, highVisible; // keys outside are masked for all queries of this head; null without such a mask
  mlir::Value valuesFinite;            // whether a masked key's value may be multiplied by 0; null without such masks

  void planWorkspace();
  void planStridedAdd();
  void packPhase(mlir::Value phase);
  llvm::SmallVector<mlir::Value> stridedTile(mlir::Value row, mlir::Value position, mlir::Value vector,
                                             const TilePart &, mlir::Value firstStep, int64_t steps,
                                             llvm::SmallVector<mlir::Value> start);
  /// The position of a row of a block.
  mlir::Value positionOf(mlir::Value firstRow, mlir::Value row) { return b.add(firstRow, b.mul(row, rowStep)); }
  void planPrepared();
  void planLanes();
  void planRows();
  void planValueTerms();
  void openBuffers();
  bool isContentRepeated(unsigned term) const; // its queries stand there already
  bool readsWhole(const OffsetTerm &term) const {
    return term.queryAxis.isWhole(shape.queries) && term.keyAxis.isWhole(shape.keys);
  }
  /// The number of the copy that belongs to the current leading axes; and back, at the start of a copy's preparation.
  mlir::Value copyOf(const std::vector<std::string> &axes);
  void enterCopy(const std::vector<std::string> &axes, mlir::Value copy);
  /// The leading axes at a flat index.
  void enterHead(mlir::Value index);
  mlir::Value baseOf(const subscript::Expr &); // at the current leading axes
  mlir::Value axisOf(const MapAxis &, mlir::Value position);
  mlir::Value firstColumn(unsigned term); // of an offset term's table: the column of (query axis 0, key axis 0)
  mlir::Value lowestVisible();            // key - query: of an interval that is not open there
  mlir::Value highestVisible();

  // One part each; see the file of that name.
  /// Panels of keys that a walk says, computed where they have no memory.
  void packKeyPanels(const Walk &, int64_t depth, int64_t depthOffset, double factor, mlir::Value target,
                     int64_t stride, bool accumulate = false);
  void packKeys();
  void packValues();
  /// target[to + v] = scale × source[from + v × stride] for the width of the values, zeros behind it; or added to it.
  void copyWidth(mlir::Value source, mlir::Value from, int64_t stride, double scale, mlir::Value target, mlir::Value to,
                 bool accumulate = false);
  void packQueries(mlir::Value firstRow, mlir::Value rows, mlir::Value groups);
  void offsetLogits(unsigned term, mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value highKey);
  mlir::Value logitsStart(unsigned term, mlir::Value group, mlir::Value firstRow, mlir::Value lowKey);
  // Terms with picked rows; `number` is that of shape.rows.
  void packRowTable(unsigned number, mlir::Value copy, mlir::Value item);
  void packRowKeys();
  void rowLogits(unsigned number, mlir::Value group, mlir::Value firstPanel, mlir::Value endPanel, mlir::Value target);
  void queryRows(mlir::Value firstRow, mlir::Value rows, mlir::Value groups);
  void offsetLine(unsigned number, mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value highKey);
  void addOffsetLine(unsigned number, mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value key,
                     int64_t vectors, llvm::SmallVector<mlir::Value> &sums);
  mlir::Value lineStart(unsigned number, mlir::Value group, mlir::Value firstRow, mlir::Value lowKey);
  void axisLine(unsigned number, mlir::Value row, mlir::Value position, mlir::Value products);
  void gatherRows(unsigned number, mlir::Value row, mlir::Value position, mlir::Value lowKey, mlir::Value highKey);
  mlir::Value pickedRows(unsigned number, const std::map<std::string, mlir::Value> &at,
                         std::map<std::string, mlir::Value> lanesAt, mlir::Value &guard);
  /// With `inside`, lanes behind the last key repeat it.
  std::map<std::string, mlir::Value> keyLanes(mlir::Value key, bool inside = false);
  void addToLine(mlir::Value x, mlir::Value at);
  void keyProducts(unsigned number, mlir::Value firstRow, mlir::Value endRow, mlir::Value vector, int64_t vectors);
  void keyRows(mlir::Value firstRow, mlir::Value rows, mlir::Value lowKey, mlir::Value highKey);
  void keyDiagonals(unsigned number, mlir::Value firstRow, mlir::Value rows, mlir::Value lowKey, mlir::Value vector,
                    int64_t vectors);
  void gatherKeys(unsigned number, mlir::Value firstRow, mlir::Value rows, mlir::Value lowKey, mlir::Value vector,
                  int64_t vectors);
  void keyLines(unsigned number);
  void addKeyLine(unsigned number, mlir::Value position, mlir::Value key, int64_t vectors,
                  llvm::SmallVector<mlir::Value> &sums);
  void prepare(unsigned number, mlir::Value target, mlir::Value targetBase, mlir::Value queryRow = {});
  void prepareHead();
  // Terms and masks that are evaluated for a vector of keys (LaneTerms.cpp).
  void prepareIndexLines();
  // Keys that none of a block's rows sees, by masks that are evaluated so: tiles of them are not computed.
  Buffer liveVectors;              // a vector of keys for each of a block: 1 where some row sees the key
  mlir::Value lowBlock, highBlock; // keys outside are seen by no row of the block; null without such masks
  void forgetLive();
  void findLive(mlir::Value lowKey, mlir::Value highKey);
  mlir::Value isLive(mlir::Value vector, int64_t vectors);
  void addLanes(mlir::Value line, mlir::Value position, mlir::Value lowKey, mlir::Value highKey);
  void findUpcoming();
  void fetchUpcoming(mlir::Value row, mlir::Value key, int64_t keysOfTurn);
  void findVisible();
  void testValues();
  void prepareGates(mlir::Value firstRow, mlir::Value rows, mlir::Value groups);
  void addPrepared(mlir::Value row, mlir::Value position, mlir::Value key, int64_t vectors, bool last,
                   llvm::SmallVector<mlir::Value> &sums);
  void hideMasked(mlir::Value position, mlir::Value key, int64_t vectors, llvm::SmallVector<mlir::Value> &sums);
  void centreLines(mlir::Value firstRow, mlir::Value groups);
  /// The largest of a buffer's elements [from, to); 0 where that is no finite number.
  mlir::Value largestIn(mlir::Value buffer, mlir::Value from, mlir::Value to);
  /// One element of a term without its gates and its guard, in base 2 and f64; whether a predicate holds; axis values
  /// of a pair.
  mlir::Value element(const OtherTerm &term, std::map<std::string, mlir::Value> at);
  mlir::Value predicate(const subscript::Expr &expression, const std::map<std::string, mlir::Value> &at);
  mlir::Value indexOf(const subscript::Expr &expression, const std::map<std::string, mlir::Value> &at);
  std::map<std::string, mlir::Value> axesAt(mlir::Value query, mlir::Value key);
  void centreLogits(mlir::Value firstRow, mlir::Value rows);
  void biasLines(mlir::Value firstRow, mlir::Value rows, mlir::Value lowKey, mlir::Value highKey);
  void scoreTile(mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value vector, int64_t vectors,
                 bool last);
  void rowSoftmax(mlir::Value row, mlir::Value lowKey,
                  llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> runsOfVectors);
  void accumulateValues(mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value low, mlir::Value high);
  // Terms of the values (ValueTerms.cpp); `number` is that of shape.valueTerms.
  void openValueTerms();
  void packValueTerms();
  void enterHeadOfValueTerms();
  mlir::Value addValueTables(mlir::Value sum);
  void addValueTerms(mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value low, mlir::Value high);
  void addRuns(unsigned number, mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value low,
               mlir::Value high);
  void addAxisRuns(unsigned number, mlir::Value row, mlir::Value position, mlir::Value lowKey, mlir::Value low,
                   mlir::Value high);
  void addPairs(unsigned number, mlir::Value row, mlir::Value position, mlir::Value lowKey, mlir::Value low,
                mlir::Value high);
  void
  addToRow(mlir::Value row,
           const std::function<llvm::SmallVector<mlir::Value>(int64_t first, int64_t vectors, mlir::ValueRange)> &body);
  mlir::Value sumOfWeights(mlir::Value low, mlir::Value high);
  mlir::Value firstWeights(mlir::Value at, mlir::Value count);
  void writeRows(mlir::Value firstRow, mlir::Value rows);
  void writeLogSum(mlir::Value row, mlir::Value firstRow, mlir::Value sum);
  /// What a row's scores lack, the same for all keys: the weights do not see it, the lse does.
  void noteShift(mlir::Value row, mlir::Value shift);
  void rowBlockBody(mlir::Value firstRow, mlir::Value rows);

  /// The keys of a row group that may be visible, within [low, high).
  std::pair<mlir::Value, mlir::Value> liveKeys(mlir::Value firstRow, int64_t rows, mlir::Value low, mlir::Value high);
  mlir::Value prefixEnd(mlir::Value lowKey, mlir::Value high);
  mlir::Value meetsLive(std::pair<mlir::Value, mlir::Value> live, mlir::Value lowKey, mlir::Value key, mlir::Value end);
};

/// Phase functions: `NAME_pack` (tables; only if there are any) and `NAME_attend`, added to the module and to the
/// plan's phases. `planWorkspace` has been called; `leading` and `openStage` are set.
void emitCpuKernel(CpuKernel &, mlir::ModuleOp, KernelPlan &);

} // namespace skewer
