// A strategy computes one term of an attention, or a group of terms, on a processor. The kernel (CpuKernel.h) goes
// through heads, blocks of rows, blocks of keys and tiles, and calls every strategy at each of these points; it does
// not know which strategies exist.
//
// A strategy reserves its buffers in `plan`. The code that it emits at one point passes its results to later points in
// those buffers. It keeps no SSA values from one call to the next, except the views of its buffers, which `open` makes.
#pragma once
#include "passes/Cpu/CpuKernel.h"
#include "passes/Cpu/PackedTable.h"

namespace skewer {

class CpuStrategy : protected Geometry, protected KernelPart {
public:
  /// Copies the geometry: all of it that strategies may use is known before the first strategy is made. The engine is
  /// that of the strategy's own products.
  explicit CpuStrategy(CpuKernel &kernel, const CpuEngine &engine = fmaEngine())
      : Geometry(kernel.context.geometry), KernelPart(kernel.context), kernel(kernel), engine(engine),
        stage(context.stage) {}
  virtual ~CpuStrategy() = default;

  bool needsTiles = false; // `addToScores` takes tiles of whole groups of rows only; constructors say it

  /// Returns the number of the sum that the strategy adds to; the score is a function of all sums.
  uint64_t sum() const { return ownSum; }
  void inSum(uint64_t sum) { ownSum = sum; }

  //===- Before anything is emitted ---------------------------------------------------===//
  /// Returns the variance that the term adds to each score for unit-normal operands; 0 if the term is centred.
  virtual double variance() const { return 0; }
  virtual void plan(Layout &) {}
  const CpuEngine &multipliesBy() const { return engine; }
  /// Whether the strategy uses the line of biases that the kernel keeps for each row of a block if some strategy does:
  /// it adds to a line as a whole, or in `meetKeys`; -inf in a line hides a key.
  /// With `AddsAlongMap`, it adds by `mapPart` alone.
  enum class LineUse { None, AddsAlongMap, Adds, AddsByTile, Hides };
  virtual LineUse lineUse() const { return LineUse::None; }
  /// Keys that the strategy packs besides those of the content; none if `walk` is null.
  struct PackedKeys {
    const Walk *walk = nullptr;
    int64_t depth = 0;
  };
  virtual PackedKeys packedKeys() const { return {}; }
  /// Returns what the strategy reads of the packed content.
  virtual ContentUse contentUse() const { return ContentUse::None; }
  /// Returns whether the strategy adds to the packed values, so that values cannot be read in place.
  virtual bool changesValues() const { return false; }
  /// Returns how many positions a row of a block is from the next one; more than 1 if the rows of a tile are not
  /// consecutive.
  virtual int64_t rowsApart() const { return 1; }

  //===- Once a call --------------------------------------------------------------------===//
  /// Returns the table that is packed before any attention; null if there is none.
  virtual PackedTable *packedTable() { return nullptr; }
  /// Stores an item of a copy of that table, at the leading axes of the copy.
  virtual void packItem(mlir::Value table, mlir::Value copy, mlir::Value item) {}

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
  virtual void packQueries(const RowBlock &) {} // and numbers that multiply the term
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
  /// Adds to the lines for a tile of keys and all rows of the block.
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

  CpuKernel &kernel;
  const CpuEngine &engine; // of its own products
  const AttentionStage &stage;

private:
  uint64_t ownSum = 0;
};

/// Returns the strategies that the schedule names for the terms and masks of an attention, in the order in which they
/// add to scores.
CpuStrategies makeStrategies(CpuKernel &);

} // namespace skewer
