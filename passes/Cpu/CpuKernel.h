// The skeleton of a fused attention on a processor: its phases, heads, row blocks, key blocks and register tiles.
// CpuStages (CpuStages.h) makes one kernel for each schedule of an attention and calls `emit`. The skeleton knows no
// terms: at each of these points it calls the strategies (Strategy.h), which emit the code of the terms.
//
// One work item is a run of query rows of one leading index (batch, head). It packs the keys of that head once, then
// goes through blocks of `rowBlock` rows × `keyBlock` keys:
//
//   packQueries      rows × depth, scaled, zero below the last row (PackPanels.cpp)
//   biasLines        rows × keys, if some strategy needs them (BiasLines.cpp)
//   scoreTile        the matmul of the content, plus what strategies add, then the mask (ScoreTile.cpp)
//   rowSoftmax       running maximum, exponentials, sums (RowSoftmax.cpp)
//   accumulateValues probabilities × values (AccumulateValues.cpp)
//
// No buffer grows with queries × keys. Sources: Dao 2022 (arXiv:2205.14135) for the online softmax; Huang 2018
// (arXiv:1809.04281) section 3.4.1 for the skew that the start address of a load replaces.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Analysis/Summation.h"
#include "passes/Cpu/Engine.h"
#include "passes/Cpu/Geometry.h"
#include "passes/Cpu/KeyRuns.h"
#include "passes/Cpu/Layout.h"
#include "passes/Cpu/LiveKeys.h"
#include "passes/Cpu/Positions.h"
#include "passes/Emit/PhaseFunction.h"

namespace skewer {

class CpuStrategy;
struct RowBlock;
struct KeyBlock;
struct ScoreTile;

/// The memory that a phase reads and writes. All of it is flat. Elements are f32, except in index operands and in
/// arguments that are widened when they are read.
struct KernelMemory {
  llvm::SmallVector<mlir::Value> arguments; // one for each of operandsOf(attention); null: computed when it is packed
  mlir::Value output, lse, total, weights;  // results; all but `output` are null if nobody asks for them
  mlir::Value shared, local;                // the workspaces, in bytes
  mlir::Value parts;                        // the records of items with parts of the keys; null: keys are not divided
  // Buffers in the workspace of the worker.
  mlir::Value keys, values, queries; // packed; `values` may be the operand itself
  mlir::Value dotKeys;               // the keys behind the last whole panel, as rows; see CpuKernel::dotKeys
  mlir::Value scores, accumulators;  // of a block
  mlir::Value maxima, sums;          // of each row
  mlir::Value scales;                // of each row: the factor for earlier key blocks; second half: the maximum in use
  mlir::Value shifts;                // of each row: the number that is subtracted from its scores
  mlir::Value line;                  // lines of biases, in layers with one sum; see CpuKernel::lineOf
};

/// The attention as its stage describes it to the kernel.
struct AttentionStage {
  attn::CpuScheduleAttr schedule;
  std::vector<bool> computed = {};  // by operand number: it has no memory; empty: all have
  std::vector<bool> narrow = {};    // by operand number: its memory has fewer bits than the computation; empty: none
  std::vector<Extent> leading = {}; // of each leading axis
  /// Begins a phase: sets `arguments`, `output` and the other results, `shared` and `local` of the memory. Returns the
  /// function that finds the run-time index operands of the kernel.
  std::function<FindIndices(KernelMemory &, const PhaseFunction &)> open = {};
  /// Computes a row of an operand without memory: target[at + d] = scale × element `first` + d of the operand, where
  /// the row begins at element `first`.
  std::function<void(unsigned argument, mlir::Value first, mlir::Value target, mlir::Value at, double scale)>
      computeRow = {};
  /// Applies the arithmetic that finishes the result to the row of the query at `query`, which lies in `rows` from `at`
  /// on, and stores the row. Null: rows are stored as they are.
  std::function<void(mlir::Value query, mlir::Value rows, mlir::Value at)> finishRow = {};
  /// The kernel has work only if there are more than `above` queries and, unless `atMost` is 0, at most `atMost`:
  /// several kernels share an attention of run-time length.
  int64_t above = 0, atMost = 0;
  const Target &target;
  std::vector<ElementType> elements = {}; // by operand number: of its memory; f32 if it has none
};

/// How many bytes ahead of the current product keys and values are prefetched, if each of them is read once. Measured
/// on a Zen 4 core, with 8 rows, 512 to 4096 keys and depth 128, in f32 and in bf16: 9.7 and 5.4 ms at 4 KiB, 9.0 and
/// 4.4 ms at 8 KiB, 9.2 and 4.9 ms at 16 KiB; 13.2 and 6.1 ms with prefetches into L1 instead of L2. Since bf16 is
/// multiplied in pairs, the speed as a share of a plain read of the same memory, in f32 and in bf16: 0.63 and 0.51 at
/// 4 KiB, 0.66 and 0.64 at 8 KiB, 0.66 and 0.68 at 16 KiB, 0.65 and 0.66 at 24 KiB, 0.66 and 0.64 at 32 KiB.
constexpr int64_t kFetchedAhead = 16384;

class CpuKernel : public Geometry {
public:
  CpuKernel(VectorBuilder &, const AttentionShape &, AttentionStage);
  ~CpuKernel();

  /// Adds the phase functions to the module and to the plan's phases: `NAME_pack` (only if some strategy packs),
  /// `NAME_attend` and `NAME_join` (only if items have parts of the keys). The `leading`, `open` and `computeRow` of
  /// the stage must be set before.
  void emit(mlir::ModuleOp, KernelPlan &);

  /// Returns the numbers of the operands that alone determine what `NAME_pack` leaves in the shared workspace; nothing
  /// if it may depend on anything else.
  std::optional<llvm::SmallVector<unsigned>> packedArguments() const;

  /// Returns how many bytes of the shared workspace each head needs for the records that `NAME_join` merges; a multiple
  /// of 64.
  int64_t partBytesOfHead() const;

  //===- For strategies -----------------------------------------------------------------===//
  VectorBuilder &b;
  const AttentionShape &shape;
  AttentionStage stage;
  const CpuEngine &engine; // multiplies the content
  Layout layout;
  KernelMemory memory;
  Positions positions;
  LiveKeys live;
  std::optional<KeyRuns> runs; // where the mask is known at compile time

  /// The offset of each content term in the packed depth. Terms with the same queries share an offset.
  std::vector<int64_t> contentOffset;
  static constexpr int64_t kInPlace = -1; // the offset of a term whose keys are in no panel
  /// Returns the bytes of one element of an operand that has memory.
  int64_t bytesOf(unsigned argument) const;
  bool isNarrow(unsigned argument) const { return argument < stage.narrow.size() && stage.narrow[argument]; }
  /// Returns the engine that multiplies the elements of two operands as they are in memory.
  const CpuEngine &engineOf(unsigned argument, unsigned other) const;
  bool isComputed(unsigned argument) const { return argument < stage.computed.size() && stage.computed[argument]; }
  /// Returns whether sums of `depth` products of this scale belong to such large scores that their rounding errors are
  /// compensated.
  bool isHuge(double scale, int64_t depth) const;
  static constexpr Summation kCompensated{kCompensatedChunk, true};
  /// Returns the position of a row of a block.
  mlir::Value positionOf(mlir::Value firstRow, mlir::Value row) { return b.add(firstRow, b.mul(row, rowStep)); }
  /// Packs the keys of a walk into panels of an engine; computes keys that have no memory. Null `panels`: the panels
  /// that some query sees.
  void packKeyPanels(const CpuEngine &, const Walk &, int64_t depth, double factor, const PanelTarget &,
                     KeyRange panels = {});
  /// Packs the query rows of a walk for an engine, times `scale`, `stride` floats apart in the target.
  void packQueryRows(const CpuEngine &, const Walk &, int64_t depth, double scale, const RowBlock &, mlir::Value target,
                     int64_t stride, int64_t offset = 0);
  /// Stores target[to + v] = scale × source[from + v × stride] for the width of the values, with zeros behind it. With
  /// `accumulate`, adds to the target instead.
  void copyWidth(mlir::Value source, mlir::Value from, int64_t stride, double scale, mlir::Value target, mlir::Value to,
                 bool accumulate = false);
  /// Records that `shift` is subtracted from all scores of a row. The weights do not depend on it, the lse does.
  void noteShift(mlir::Value row, mlir::Value shift);
  /// Returns the value that replaces the score of a hidden key, -inf, or its direct weight, -0, which no seen key has.
  mlir::Value hidden();
  /// Returns the weight of a key that is hidden or does not exist, for which `isSeen` is false: 0, or -0 as a direct
  /// weight. A sum of weights begins with it, so that the sum keeps this value if no key is seen.
  float noWeight() const { return shape.direct ? -0.0f : 0.0f; }
  /// Returns whether a weight belongs to a key that is seen. A softmax weight of 0 counts as not seen.
  mlir::Value isSeen(mlir::Value weight);
  std::function<mlir::Value(mlir::Value)> seenIf(bool tested) {
    return tested ? [this](mlir::Value weight) { return isSeen(weight); } : std::function<mlir::Value(mlir::Value)>();
  }
  /// Returns whether a number may be subtracted from all scores of a row.
  bool mayShift() const { return shape.isPlainSoftmax(); }
  /// Returns whether the lines of biases hide keys.
  bool linesHide() const { return lineMask; }
  /// Returns the lines of biases of a sum, which must have some.
  mlir::Value lineOf(uint64_t sum);
  /// Calls `body` for each group of rows of a block that may see some keys of the block; `high` is the end of those
  /// keys.
  void forLiveGroups(const KeyBlock &, const std::function<void(mlir::Value group, mlir::Value high)> &body);
  /// i1: the values of masked keys may be multiplied by 0; null if no mask needs to know.
  mlir::Value valuesFinite;
  /// Return the number of queries and of keys: a constant, or a number of the call.
  mlir::Value queries();
  mlir::Value keys();

private:
  using Body = std::function<void(CpuStrategy &)>;
  void forEach(const Body &);

  // Planning (PlanWorkspace.cpp).
  void planGeometry();
  void planContent();
  const CpuEngine &engineOfContent() const;
  void planDots();
  void planBuffers();
  Summation summationOfContent() const;
  bool isContentRepeated(unsigned term) const; // an earlier term has packed its queries

  // Phases (CpuKernel.cpp).
  void openPhase(const PhaseFunction &);
  mlir::Value endOfPhase(const PhaseFunction &);
  void emitPack(mlir::ModuleOp, KernelPlan &);
  void emitAttend(mlir::ModuleOp, KernelPlan &);
  void attendRows(mlir::Value chunk);
  void attendPhase(mlir::Value phase, mlir::Value changes);
  void openBuffers();
  void enterLeading(const PhaseFunction &, const KernelPlan &);
  SizeExpression itemsOfHeads(int64_t each) const;
  void beginHead(mlir::Value packs, mlir::Value prepares);
  std::vector<subscript::Expr> basesOfKeys();
  mlir::Value keysChange(llvm::ArrayRef<subscript::Expr> bases);
  ProductOperand computedRows(const Walk &, int64_t depth, mlir::Value first, mlir::Value end);
  void packKeys();
  void packDotKeys(const ContentTerm &, double factor, int64_t depthOffset, bool accumulate);
  KeyRange packedPanels();
  void packValues();
  void packValueRows(mlir::Value low, mlir::Value high);
  void testValues();
  void packQueries(const RowBlock &);
  void computeRowBlock(mlir::Value firstRow, mlir::Value rows);
  void beginRows(const RowBlock &);
  void computeKeyBlock(const RowBlock &, mlir::Value firstVector, mlir::Value endVector);
  void meetKeys(const KeyBlock &);
  void scoreTiles(const KeyBlock &, mlir::Value firstVector, mlir::Value endVector);
  void weighValues(const KeyBlock &);
  mlir::Value isLive(mlir::Value vector, int64_t vectors);
  std::pair<mlir::Value, mlir::Value> liveOf(const KeyBlock &, mlir::Value group);

  // Work items (WorkItems.cpp).
  struct WorkItem {
    mlir::Value chunk;           // the item's rows within the head: a run of rows, or a phase
    mlir::Value packs, prepares; // i1: pack keys and values; prepare the rest that is made once for the rows of a head
    mlir::Value firstOfRun;      // i1: the first item of a worker; null: the item does nothing for other items
    mlir::Value changes;         // i1: the phase differs from that of the item before; null: always
  };
  WorkItem enterItem(mlir::Value item, mlir::Value first);
  WorkItem enterItemOfPhase(mlir::Value item, mlir::Value first);

  // Items with parts of the keys (KeyParts.cpp).
  struct PartRecord;
  PartRecord partRecord() const;
  mlir::Value placeOfPart(mlir::Value which);
  mlir::Value dividesKeys();
  KeyRange keysOfPart();
  void attendPart(mlir::Value number, mlir::Value prepares);
  void finishPart(const KeyRange &live);
  void leavePart(mlir::Value some);
  void forLiveParts(const std::function<void(mlir::Value place)> &body);
  void joinRow(mlir::Value row);
  void emitJoin(mlir::ModuleOp, KernelPlan &);

  // Lines of biases (BiasLines.cpp).
  void biasLines(const KeyBlock &);
  void biasLinesOf(const KeyBlock &, uint64_t sum);

  // Tiles of scores (ScoreTile.cpp).
  void scoreTile(const KeyBlock &, mlir::Value group, mlir::Value vector, int64_t vectors, bool last,
                 mlir::Value state = {});
  void scoreKnownTile(const KeyBlock &, mlir::Value group, mlir::Value vector, int64_t vectors, bool last);
  ScoreTile tileAt(const KeyBlock &, mlir::Value group, mlir::Value vector, int64_t vectors, bool last,
                   llvm::SmallVectorImpl<mlir::Value> &sums, llvm::SmallVectorImpl<mlir::Value> &places);
  ProductsOfSteps ownProducts(const ScoreTile &);
  llvm::SmallVector<mlir::Value> contentSums(const ScoreTile &, llvm::ArrayRef<mlir::Value> places);
  bool passesByChunks() const;
  llvm::SmallVector<mlir::Value> addChunk(const TilePart &, int64_t first, int64_t steps,
                                          llvm::ArrayRef<mlir::Value> places, const ProductsOfSteps &);
  void leaveChunk(const KeyBlock &, mlir::Value group, mlir::Value vector, int64_t vectors, int64_t first);
  llvm::SmallVector<mlir::Value> contentDots(const ScoreTile &);
  void addTerms(ScoreTile &, uint64_t sum);
  void applyFunction(ScoreTile &, llvm::ArrayRef<mlir::Value> places);
  void applyInPlace(ScoreTile &, llvm::ArrayRef<mlir::Value> places);
  mlir::Value through(llvm::ArrayRef<mlir::Value> sums);
  void hideByLine(ScoreTile &);
  mlir::Value lineOrigin(const ScoreTile &);
  void hideBehindEnd(ScoreTile &);
  void hideAtEdge(ScoreTile &, mlir::Value edge, llvm::function_ref<void(llvm::MutableArrayRef<mlir::Value>)> hide);
  void hideOutsideBounds(ScoreTile &);
  void hideOutsideInterval(ScoreTile &);
  void hideByTiles(ScoreTile &, mlir::Value state);
  void hideAll(const KeyBlock &, mlir::Value group, mlir::Value vector, int64_t vectors);

  void rowSoftmax(const KeyBlock &, mlir::Value row,
                  llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> runsOfVectors);
  struct KeyTurn { // `count` consecutive keys from `key` on
    mlir::Value key;
    int64_t count;
    mlir::Value weights; // place of their weights for the first row of the group
    bool tested;         // test for each row whether it sees the key
  };
  llvm::SmallVector<mlir::Value> addKeys(const KeyTurn &, int64_t firstVector, int64_t vectors,
                                         llvm::ArrayRef<mlir::Value> before);
  void accumulateValues(mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value low, mlir::Value high);
  llvm::SmallVector<mlir::Value> unlessFinite(llvm::SmallVector<mlir::Value> sums,
                                              llvm::function_ref<llvm::SmallVector<mlir::Value>()> again);
  bool picksValues() const { return shape.value.picked && !buffers.values.floats; }
  void storeSums(mlir::Value row, mlir::Value out, int64_t vectors, llvm::ArrayRef<mlir::Value> sums);
  void addToStoredSums(mlir::Value out, int64_t vectors, llvm::ArrayRef<mlir::Value> more);
  std::pair<mlir::Value, mlir::Value> untestedKeys(mlir::Value position, mlir::Value low, mlir::Value high);
  mlir::Value valuePlace(mlir::Value key, int64_t offset);
  void fetchValuesAhead(mlir::Value key, int64_t keysOfTurn);
  void writeRows(mlir::Value firstRow, mlir::Value rows);
  void finishRow(mlir::Value position, mlir::Value from, mlir::Value factor);

  // Weights that are a result (StoredWeights.cpp).
  using VectorRuns = llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>>; // first vector of keys, and their end
  mlir::Value placeOfWeights(mlir::Value position);
  void forVectorsOfKeys(mlir::Value low, mlir::Value high, mlir::Value place,
                        llvm::function_ref<mlir::Value(mlir::Value key, mlir::Value mask)> vector);
  void hideStoredWeights(const RowBlock &);
  void leaveScores(const RowBlock &, mlir::Value row, mlir::Value lowKey, VectorRuns);
  void finishWeights(mlir::Value row, mlir::Value position, mlir::Value inverse);

  // Results that the caches do not hold (StreamedResult.cpp).
  bool rowsAreVectors() const;
  void decideStreaming();
  void storeRow(llvm::ArrayRef<mlir::Value> row, mlir::Value at);
  void endStreaming();
  void rowTotal(mlir::Value row, mlir::Value lowKey, llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> runsOfVectors);
  mlir::Value sumOfChains(mlir::Value count, mlir::Value start, llvm::function_ref<mlir::Value(mlir::Value x)> term);
  void writeTotal(mlir::Value row, mlir::Value firstRow, mlir::Value sum);
  /// Returns the factor that undoes the smaller weights of a second pass (RowBlock::isSecond) in a row's sum, weights
  /// and weighted values; 1 if the row has the usual weights.
  mlir::Value factorToWhole(mlir::Value sum);
  void writeLogSum(mlir::Value row, mlir::Value firstRow, mlir::Value sum);

  // The next head, prefetched while the values of this one are added up (UpcomingHead.cpp).
  struct UpcomingRows { // consecutive rows of an operand, `depth` floats each, from `base` on
    mlir::Value memory, base;
    int64_t depth;
  };
  void findUpcoming();
  void fetchUpcoming(mlir::Value row, mlir::Value key, int64_t keysOfTurn);

  struct Buffers {
    Buffer keys, dotKeys, values, computedRows, queries, scores, accumulators, maxima, sums, scales, shifts;
    std::vector<Buffer> lines; // of each sum
  };
  Buffers buffers;
  std::vector<bool> hasLine; // of each sum: some strategy adds to a line
  bool lineMask = false;     // the line of the first sum hides keys
  double scoreDeviation = 0; // standard deviation of the scores of unit-normal operands
  int64_t dotKeys = 0;       // keys of the last vector if they are few enough to be multiplied as dot products; else 0
  std::vector<std::unique_ptr<CpuStrategy>> strategies;
  mlir::Value leadingIndex;           // flat index of the current head
  mlir::Value queryLength, keyLength; // null where they are known at compile time
  mlir::Value part;                   // the current part of its keys
  mlir::Value divided;                // i1: its keys are divided; null: they are if `parts` > 1
  mlir::Value streamsResult;          // i1: the result is stored past the caches; null: it is not
  mlir::Value valueBase;              // element offset of (key 0, width 0)
  int64_t valueStride = 0;
  std::vector<UpcomingRows> upcoming;
};

} // namespace skewer
