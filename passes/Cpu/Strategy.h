// A strategy computes one term of an attention, or a group of terms, on a processor. The kernel (CpuKernel.h) goes
// through heads, blocks of rows, blocks of keys and tiles, and calls every strategy at each of these points; it does
// not know which strategies exist.
//
// A strategy reserves its buffers in `plan`. The code that it emits at one point passes its results to later points in
// those buffers. It keeps no SSA values from one call to the next, except the views of its buffers, which `open` makes.
#pragma once
#include "passes/Cpu/CpuKernel.h"
#include "passes/Cpu/Layout.h"

namespace skewer {

/// A block of query rows that are computed together: `rows` of them from position `firstRow` on, in `groups` groups. A
/// group has as many rows as a register tile.
struct RowBlock {
  mlir::Value firstRow, rows, groups;
  mlir::Value isSecond = {}; // i1: this is the second pass over its keys, with smaller weights; null: there is none
};
/// A block of rows and the keys [lowKey, highKey) that it meets.
struct KeyBlock : RowBlock {
  mlir::Value lowKey, highKey;
};
/// A register tile of scores: a group of rows × `vectors` vectors of keys from `key` on.
struct ScoreTile {
  mlir::Value firstRow, lowKey; // of the blocks
  mlir::Value group, row;       // the tile's first row, within the block
  mlir::Value position, key;    // its first query and key
  mlir::Value vector;           // key / lanes
  int64_t vectors;
  bool last;                                // the last vector may have lanes behind the last key
  llvm::SmallVectorImpl<mlir::Value> &sums; // [tileRows][vectors]
};
/// A row of a block and its line of biases: floats for the keys [lowKey, highKey), from `line` on in `memory`.
struct BiasRow {
  mlir::Value memory, firstRow, row, position, line, lowKey, highKey;
};
/// A group of rows whose weights have replaced their scores, for the keys [low, high) of a block.
struct WeightedRows {
  mlir::Value group, firstRow, lowKey, low, high;
};
/// Adds a term to the line of a row if the keys are a map: a number for each index of the outer axes, which it adds to
/// `base`, and vectors along the innermost axis, which the returned function adds to `sum` (null: none). `outer` counts
/// the innermost rows of the map.
using AlongInner = std::function<mlir::Value(mlir::Value x, mlir::Value sum)>;
using AlongOuter = std::function<AlongInner(mlir::Value outer, mlir::Value firstKey, mlir::Value &base)>;

class CpuStrategy : protected Geometry {
public:
  /// Copies the geometry: all of it that strategies may use is known before the first strategy is made.
  explicit CpuStrategy(CpuKernel &kernel)
      : Geometry(kernel), kernel(kernel), b(kernel.b), engine(fmaEngine()), shape(kernel.shape), memory(kernel.memory) {
  }
  virtual ~CpuStrategy() = default;

  /// Returns the number of the sum that the strategy adds to; the score is a function of all sums.
  uint64_t sum() const { return ownSum; }
  void inSum(uint64_t sum) { ownSum = sum; }

  //===- Before anything is emitted ---------------------------------------------------===//
  /// Returns the variance that the term adds to each score for unit-normal operands; 0 if the term is centred.
  virtual double variance() const { return 0; }
  virtual void plan(Layout &) {}
  /// Whether the strategy uses the line of biases that the kernel keeps for each row of a block if some strategy does;
  /// -inf in a line hides a key.
  enum class LineUse { None, Adds, Hides };
  virtual LineUse lineUse() const { return LineUse::None; }
  /// Keys that the strategy packs besides those of the content; none if `walk` is null.
  struct PackedKeys {
    const Walk *walk = nullptr;
    int64_t depth = 0;
  };
  virtual PackedKeys packedKeys() const { return {}; }
  /// Returns whether the strategy reads the packed keys of the content, so that all of them must be in panels.
  virtual bool readsKeyPanels() const { return false; }
  /// Returns whether the strategy adds to the packed values, so that values cannot be read in place.
  virtual bool changesValues() const { return false; }
  /// Returns how many positions a row of a block is from the next one; more than 1 if the rows of a tile are not
  /// consecutive.
  virtual int64_t rowsApart() const { return 1; }

  //===- Once a call --------------------------------------------------------------------===//
  /// Returns the number of items of parallel work before any attention. `pack` emits a worker's items [low, high),
  /// counted from `first` on.
  virtual int64_t packItems() const { return 0; }
  virtual void pack(mlir::Value low, mlir::Value high, int64_t first) {}
  /// Returns the numbers of the operands that alone determine what `pack` leaves; nothing if it may depend on anything
  /// else.
  virtual std::optional<llvm::SmallVector<unsigned>> packedArguments() const { return std::nullopt; }

  //===- Once a head ----------------------------------------------------------------------===//
  virtual void open() {}
  virtual void packKeys() {}    // only if the keys differ from those of the head before
  virtual void packValues() {}  // into its own buffers, or added to the packed values
  virtual void prepareHead() {} // what does not depend on the query vectors
  /// Returns the range of keys that any query sees, if the strategy has masks that limit it.
  virtual KeyRange visibleKeys() { return {}; }
  virtual void enterHead() {}
  /// Returns how many heads take turns at what the strategy makes for a phase, which must not depend on the head. A
  /// strategy that returns more than 1 keeps no data of a head.
  virtual int64_t headsOfPhase() const { return 1; }
  /// Begins the phase of the rows `phase`, `phase` + `rowsApart`, …; `changes` (null: true) says whether they differ
  /// from those of the item before.
  virtual void enterPhase(mlir::Value phase, mlir::Value changes) {}
  /// Returns `sum` + 0 × every row that the strategy multiplies with weights: a number, or NaN.
  virtual mlir::Value testRows(mlir::Value sum) { return sum; }

  //===- Once a block of rows -------------------------------------------------------------===//
  virtual void packQueries(const RowBlock &) {}
  virtual void prepareGates(const RowBlock &) {}
  virtual void computeGroup(const RowBlock &, mlir::Value group) {}
  virtual void centreRow(const RowBlock &, mlir::Value row) {}
  virtual void centre(const RowBlock &) {}
  virtual void computeRows(const RowBlock &) {}

  //===- Once a block of keys ---------------------------------------------------------------===//
  virtual void computeBlock(const KeyBlock &) {}
  virtual void beginLines() {}
  virtual std::optional<AlongOuter> mapPart(const BiasRow &) { return std::nullopt; }
  virtual void addToLine(const BiasRow &) {}
  /// Returns the range of keys that some row of the block sees, if the strategy knows a smaller one than the kernel.
  /// Called after the lines are made.
  virtual KeyRange liveKeys(const KeyBlock &) { return {}; }
  virtual mlir::Value isLive(mlir::Value vector, int64_t vectors) { return {}; }
  /// Returns whether `meetKeys` adds something for each tile of keys of a block of rows.
  virtual bool meetsKeys() const { return false; }
  virtual void meetKeys(const KeyBlock &, mlir::Value vector, int64_t vectors) {}

  //===- Once a tile ------------------------------------------------------------------------===//
  /// Returns how the content of a tile is multiplied; null: as usual. See sumInChunks.
  virtual ProductsOfSteps contentProducts(const ScoreTile &) { return {}; }
  virtual void addToScores(ScoreTile &) {}
  virtual void hide(ScoreTile &) {}

  //===- Once weights are known ---------------------------------------------------------------===//
  virtual void addToValues(const WeightedRows &) {}

protected:
  mlir::Value view(mlir::Value bytes, const Buffer &buffer) {
    return b.view(bytes, b.index(buffer.offset), buffer.floats);
  }
  mlir::Value baseOf(const subscript::Expr &e) { return kernel.positions.baseOf(e); }
  mlir::Value indexOf(const subscript::Expr &e, const Positions::Values &at) { return kernel.positions.indexOf(e, at); }
  mlir::Value predicate(const subscript::Expr &e, const Positions::Values &at) {
    return kernel.positions.predicate(e, at);
  }
  mlir::Value axisOf(const MapAxis &axis, mlir::Value position) { return kernel.positions.axisOf(axis, position); }
  Positions::Values axesAt(mlir::Value query, mlir::Value key) { return kernel.positions.axesAt(query, key); }

  CpuKernel &kernel;
  VectorBuilder &b;
  const CpuEngine &engine; // for its own products
  const AttentionShape &shape;
  const KernelMemory &memory;

private:
  uint64_t ownSum = 0;
};

/// Adds buffer[origin + r·rowStride + v·lanes] to the sums of a tile; with `mayHide`, -inf there hides a key.
void addToTile(VectorBuilder &, int64_t tileRows, mlir::Value buffer, mlir::Value origin, int64_t rowStride,
               bool mayHide, ScoreTile &);

/// Returns the strategies that the schedule names for the terms and masks of an attention, in the order in which they
/// add to scores.
std::vector<std::unique_ptr<CpuStrategy>> makeStrategies(CpuKernel &);

} // namespace skewer
