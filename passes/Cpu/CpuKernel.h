// The skeleton of a fused attention on a processor: phases, heads, blocks and tiles. What the terms add is the business
// of strategies (Strategy.h), which it calls at each of these points.
//
// One work item is a run of query rows of one leading index (batch, head). It packs that head's keys once, then goes
// through blocks of `rowBlock` rows × `keyBlock` keys:
//
//   packQueries      rows × depth, scaled, zero below the last row (PackPanels.cpp)
//   biasLines        where some strategy needs them: rows × keys (BiasLines.cpp)
//   scoreTile        the content's matmul, plus what strategies add, then the mask (ScoreTile.cpp)
//   rowSoftmax       running maximum, exponentials, sums (RowSoftmax.cpp)
//   accumulateValues probabilities × values (AccumulateValues.cpp)
//
// Nothing here grows with queries × keys. Sources: Dao 2022 (arXiv:2205.14135) for the online softmax; Huang 2018
// (arXiv:1809.04281) section 3.4.1 for the skew that the start address of a load replaces.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Analysis/Summation.h"
#include "passes/Cpu/Geometry.h"
#include "passes/Cpu/KeyRuns.h"
#include "passes/Cpu/Layout.h"
#include "passes/Cpu/LiveKeys.h"
#include "passes/Cpu/Panels.h"
#include "passes/Cpu/Positions.h"
#include "passes/Emit/PhaseFunction.h"

namespace skewer {

class CpuStrategy;
struct RowBlock;
struct KeyBlock;
struct ScoreTile;

/// What a phase reads and writes. Flat memory, of f32 but for index operands and arguments that are widened as they are
/// read.
struct KernelMemory {
  llvm::SmallVector<mlir::Value> arguments; // of each of operandsOf(attention); null: computed as it is packed
  mlir::Value output, lse, total, weights;  // all but the first: null where they are not asked for
  mlir::Value shared, local;                // the workspaces, bytes
  mlir::Value parts;                        // what items with parts of the keys leave; null: keys are not divided
  // Buffers in the worker's.
  mlir::Value keys, values, queries; // packed; the values' may be the operand itself
  mlir::Value dotKeys;               // as rows, those behind the last whole panel; see `dotKeys`
  mlir::Value scores, accumulators;  // of a block
  mlir::Value maxima, sums;          // of a row
  mlir::Value scales;                // of a row: what earlier blocks are multiplied with; then the maximum referred to
  mlir::Value shifts;                // what a row's scores lack
  mlir::Value line;                  // biases of rows; of layers of one sum, see CpuKernel::lineOf
};

/// What the stage that an attention is says of it.
struct AttentionStage {
  attn::CpuScheduleAttr schedule;
  std::vector<bool> computed = {};  // operands without memory, by number; empty: none
  std::vector<bool> narrow = {};    // operands whose memory has fewer bits than what is computed with; empty: none
  std::vector<Extent> leading = {}; // of each leading axis
  /// Begins a phase: sets the memory's `arguments`, `output` and the other results, `shared` and `local`; returns where
  /// the kernel's run-time index operands are.
  std::function<FindIndices(KernelMemory &, const PhaseFunction &)> open = {};
  /// Of an operand without memory: target[at + d] = scale × its element `first` + d, for the row that begins there.
  std::function<void(unsigned argument, mlir::Value first, mlir::Value target, mlir::Value at, double scale)>
      computeRow = {};
  /// Where arithmetic finishes the result: of the query at `query`, whose row stands in `rows` from `at` on; it stores
  /// what it makes of that. Null: rows are stored as they are.
  std::function<void(mlir::Value query, mlir::Value rows, mlir::Value at)> finishRow = {};
  /// It has work only where there are more queries than `above`, and at most `atMost`, if that is not 0: several
  /// kernels share an attention of run-time length.
  int64_t above = 0, atMost = 0;
  bool multipliesPairs = false; // the processor adds products of two bf16 to each f32 of a vector (AVX512_BF16)
};

/// Bytes ahead of what is multiplied that are asked for where keys and values are read once. Measured on a Zen 4 core,
/// 8 rows of 512 to 4096 keys 128 deep, f32 and bf16: 9.0 and 4.4 ms; 9.7 and 5.4 at 4 KiB, 9.2 and 4.9 at 16 KiB; into
/// L1 instead of L2 13.2 and 6.1. Since bf16 is multiplied in pairs, shares of a plain read of the same memory, f32 and
/// bf16: at 4 KiB 0.63 and 0.51, at 8 KiB 0.66 and 0.64, at 16 KiB 0.66 and 0.68, at 24 KiB 0.65 and 0.66, at 32 KiB 0.66
/// and 0.64.
constexpr int64_t kFetchedAhead = 16384;

class CpuKernel : public Geometry {
public:
  CpuKernel(VectorBuilder &, const AttentionShape &, AttentionStage);
  ~CpuKernel();

  /// Phase functions: `NAME_pack` (only if some strategy packs), `NAME_attend` and `NAME_join` (only where items have
  /// parts of the keys), added to the module and to the plan's phases. The stage's `leading`, `open` and `computeRow`
  /// are set by now.
  void emit(mlir::ModuleOp, KernelPlan &);

  /// Operands, by number, that alone say what `NAME_pack` leaves in the shared workspace; nothing where something else
  /// may have a say in it.
  std::optional<llvm::SmallVector<unsigned>> packedArguments() const;

  /// Of what is left for the merge, in the shared workspace; a multiple of 64.
  int64_t partBytesOfHead() const;

  //===- For strategies -----------------------------------------------------------------===//
  VectorBuilder &b;
  const AttentionShape &shape;
  AttentionStage stage;
  Layout layout;
  KernelMemory memory;
  Positions positions;
  LiveKeys live;
  std::optional<KeyRuns> runs; // where the mask is known at compile time

  /// Where each content term stands in the packed depth; terms with the same queries share a place.
  std::vector<int64_t> contentOffset;
  static constexpr int64_t kInPlace = -1; // there, of keys that are in no panel
  /// Of an element of an operand that has memory.
  int64_t bytesOf(unsigned argument) const;
  bool isNarrow(unsigned argument) const { return argument < stage.narrow.size() && stage.narrow[argument]; }
  bool isComputed(unsigned argument) const { return argument < stage.computed.size() && stage.computed[argument]; }
  /// Whether a sum of products of this scale is one of large scores, whose roundings are kept.
  bool isHuge(double scale, int64_t depth) const;
  static constexpr Summation kCompensated{kCompensatedChunk, true};
  /// The position of a row of a block.
  mlir::Value positionOf(mlir::Value firstRow, mlir::Value row) { return b.add(firstRow, b.mul(row, rowStep)); }
  /// Panels of keys that a walk says, computed where they have no memory; null `panels`: those that some query sees.
  void packKeyPanels(const Walk &, int64_t depth, double factor, const PanelTarget &, KeyRange panels = {});
  /// Rows of queries that a walk says, times the scale, `stride` floats apart in the target.
  void packQueryRows(const Walk &, int64_t depth, double scale, const RowBlock &, mlir::Value target, int64_t stride,
                     int64_t offset = 0);
  /// target[to + v] = scale × source[from + v × stride] for the width of the values, zeros behind it; or added to it.
  void copyWidth(mlir::Value source, mlir::Value from, int64_t stride, double scale, mlir::Value target, mlir::Value to,
                 bool accumulate = false);
  /// What a row's scores lack, the same for all keys: the weights do not see it, the lse does.
  void noteShift(mlir::Value row, mlir::Value shift);
  /// What stands for a key that no query sees, in place of its score or direct weight: -inf, or -0, which no seen key
  /// has.
  mlir::Value hidden();
  /// The weight of a key that is hidden or not there, for which `isSeen` is false: 0, or the direct weight -0. A sum of
  /// weights begins with it: it stays where none of them is seen.
  float noWeight() const { return shape.direct ? -0.0f : 0.0f; }
  /// Whether a weight is that of a key that is seen, as far as it counts.
  mlir::Value isSeen(mlir::Value weight);
  std::function<mlir::Value(mlir::Value)> seenIf(bool tested) {
    return tested ? [this](mlir::Value weight) { return isSeen(weight); } : std::function<mlir::Value(mlir::Value)>();
  }
  /// Whether a number may be taken from all scores of a row.
  bool mayShift() const { return shape.isPlainSoftmax(); }
  /// Whether a line of biases says of keys that they are hidden.
  bool linesHide() const { return lineMask; }
  /// The lines of biases of a sum that has some.
  mlir::Value lineOf(uint64_t sum);
  /// Calls `body` for each group of rows of a block that may see some of its keys; `high`: behind the last such key.
  void forLiveGroups(const KeyBlock &, const std::function<void(mlir::Value group, mlir::Value high)> &body);
  /// Whether a masked key's value may be multiplied by 0; null without such masks.
  mlir::Value valuesFinite;
  /// How many queries and keys there are: known by now, or told by the caller.
  mlir::Value queries();
  mlir::Value keys();

private:
  using Body = std::function<void(CpuStrategy &)>;
  void forEach(const Body &);

  // Planning (PlanWorkspace.cpp).
  void planGeometry();
  void planContent();
  void planDots();
  void planBuffers();
  Summation summationOfContent() const;
  bool isContentRepeated(unsigned term) const; // its queries stand there already

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
    mlir::Value chunk;           // which of a head's rows: a run of them, or a phase
    mlir::Value packs, prepares; // keys and values; the other things that are made once for a head's rows
    mlir::Value firstOfRun;      // of a worker; null: it has nothing to do for others
    mlir::Value changes;         // whether the phase is another than that of the item before; null: it always is
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
  ProductsOfSteps contentProducts(const ScoreTile &);
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
  struct KeyTurn { // keys that follow each other from `key` on, and where their weights of a group's first row stand
    mlir::Value key;
    int64_t count;
    mlir::Value weights;
    bool tested; // whether each row sees them
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
  using VectorRuns = llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>>; // first vector of keys, and behind the last
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
  /// What a row's sum, its weights and its weighted values are multiplied by, where they are smaller ones: `isSecond`.
  mlir::Value factorToWhole(mlir::Value sum);
  void writeLogSum(mlir::Value row, mlir::Value firstRow, mlir::Value sum);

  // The next head, fetched while this one's values are added up (UpcomingHead.cpp).
  struct UpcomingRows { // rows of an operand that follow each other in memory, `depth` floats each, from `base` on
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
  bool lineMask = false;     // the first sum's hides keys
  double scoreDeviation = 0; // of unit-normal operands
  int64_t dotKeys = 0;       // keys of the last vector, where they are so few that their products are dots; else 0
  std::vector<std::unique_ptr<CpuStrategy>> strategies;
  mlir::Value leadingIndex;           // flat, of the head that is computed
  mlir::Value queryLength, keyLength; // null where they are known at compile time
  mlir::Value part;                   // of its keys
  mlir::Value divided;                // whether they are divided; null: as `parts` says
  mlir::Value streamsResult;          // whether it is stored past the caches; null: it is not
  mlir::Value valueBase;              // element offset of (key 0, width 0)
  int64_t valueStride = 0;
  std::vector<UpcomingRows> upcoming;
};

} // namespace skewer
