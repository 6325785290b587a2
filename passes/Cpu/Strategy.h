// How one term of an attention, or a group of terms, is computed on a processor. The kernel (CpuKernel.h) goes through
// heads, blocks of rows, blocks of keys and tiles, and calls every strategy at each of these points; it does not know
// which there are.
//
// A strategy asks for its buffers in `plan`. What it emits at one point finds what it emitted at an earlier one in
// those buffers: values of SSA form are not kept from one call to the next, but for the views of the buffers, which
// `open` makes.
#pragma once
#include "passes/Cpu/CpuKernel.h"
#include "passes/Cpu/Layout.h"

namespace skewer {

/// Rows of queries that are computed together: `rows` of them from position `firstRow` on, in `groups` of as many as a
/// register tile has.
struct RowBlock {
  mlir::Value firstRow, rows, groups;
  mlir::Value isSecond = {}; // i1: its keys are gone through once more, with smaller weights; null: they never are
};
/// The keys [lowKey, highKey) that meet them.
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
  bool last;                                // behind the last vector's keys there may be none
  llvm::SmallVectorImpl<mlir::Value> &sums; // [tileRows][vectors]
};
/// A row of a block and the line of biases that belongs to it: floats for the keys [lowKey, highKey) from `line` on in
/// `memory`.
struct BiasRow {
  mlir::Value memory, firstRow, row, position, line, lowKey, highKey;
};
/// A group of rows whose weights stand where their scores stood, for the keys [low, high) of a block.
struct WeightedRows {
  mlir::Value group, firstRow, lowKey, low, high;
};
/// What a term adds to a row's line where keys are a map: a number for each index of the outer axes, which is added to
/// `base`, and vectors along the innermost axis. `outer` counts the map's innermost rows.
using AlongInner = std::function<mlir::Value(mlir::Value x, mlir::Value sum)>;
using AlongOuter = std::function<AlongInner(mlir::Value outer, mlir::Value firstKey, mlir::Value &base)>;

class CpuStrategy : protected Geometry {
public:
  /// The geometry is copied: what strategies may know of it is settled before the first of them is made.
  explicit CpuStrategy(CpuKernel &kernel)
      : Geometry(kernel), kernel(kernel), b(kernel.b), shape(kernel.shape), memory(kernel.memory) {}
  virtual ~CpuStrategy() = default;

  /// Which of the sums that the score is a function of it adds to.
  uint64_t sum() const { return ownSum; }
  void inSum(uint64_t sum) { ownSum = sum; }

  //===- Before anything is emitted ---------------------------------------------------===//
  /// Variance that it gives each score where operands are unit-normal; 0 where it is centred.
  virtual double variance() const { return 0; }
  virtual void plan(Layout &) {}
  /// Lines of biases, which the kernel keeps for each row of a block where somebody uses them; -inf hides a key.
  enum class LineUse { None, Adds, Hides };
  virtual LineUse lineUse() const { return LineUse::None; }
  /// Keys that it packs besides the content's; none where `walk` is null.
  struct PackedKeys {
    const Walk *walk = nullptr;
    int64_t depth = 0;
  };
  virtual PackedKeys packedKeys() const { return {}; }
  /// Whether it reads the content's packed keys, so that all of them stand in panels.
  virtual bool readsKeyPanels() const { return false; }
  /// Whether it adds to the values where they are packed, so that they cannot be read in place.
  virtual bool changesValues() const { return false; }
  /// Positions from a row of a block to the next one, where a tile's rows do not follow each other.
  virtual int64_t rowsApart() const { return 1; }

  //===- Once a call --------------------------------------------------------------------===//
  /// Parallel work before any attention: so many items, of which a worker does [low, high), counted from `first` on.
  virtual int64_t packItems() const { return 0; }
  virtual void pack(mlir::Value low, mlir::Value high, int64_t first) {}
  /// Operands, by number, that alone say what `pack` leaves; nothing where something else may have a say in it.
  virtual std::optional<llvm::SmallVector<unsigned>> packedArguments() const { return std::nullopt; }

  //===- Once a head ----------------------------------------------------------------------===//
  virtual void open() {}
  virtual void packKeys() {}    // where keys are others than those of the head before
  virtual void packValues() {}  // in buffers of its own, or added to the packed values
  virtual void prepareHead() {} // what does not depend on queries' vectors
  /// The first and the last key that any query sees, where it knows masks that say so.
  virtual KeyRange visibleKeys() { return {}; }
  virtual void enterHead() {}
  /// Heads that take their turns at what it makes for a phase, which depends on none of them; whoever says more than 1
  /// keeps nothing of a head itself.
  virtual int64_t headsOfPhase() const { return 1; }
  /// Rows that stand `rowsApart` from each other, from `phase` on; `changes` (null: true): they are others than those
  /// of the item before.
  virtual void enterPhase(mlir::Value phase, mlir::Value changes) {}
  /// `sum` + 0 × every row that is multiplied with weights: a number, or NaN.
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
  /// The keys that some row of the block sees, where it knows better than the kernel; after the lines are made.
  virtual KeyRange liveKeys(const KeyBlock &) { return {}; }
  virtual mlir::Value isLive(mlir::Value vector, int64_t vectors) { return {}; }
  /// Whether it has something to add for each tile of keys of a block of rows: `meetKeys`.
  virtual bool meetsKeys() const { return false; }
  virtual void meetKeys(const KeyBlock &, mlir::Value vector, int64_t vectors) {}

  //===- Once a tile ------------------------------------------------------------------------===//
  /// How the content is multiplied, if not as usual; see sumInChunks.
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
  const AttentionShape &shape;
  const KernelMemory &memory;

private:
  uint64_t ownSum = 0;
};

/// sums += buffer[origin + r·rowStride + v·lanes]; -inf there hides a key where `mayHide`.
void addToTile(VectorBuilder &, int64_t tileRows, mlir::Value buffer, mlir::Value origin, int64_t rowStride,
               bool mayHide, ScoreTile &);

/// The strategies of an attention's terms and masks, as its schedule says, in the order in which they add to scores.
std::vector<std::unique_ptr<CpuStrategy>> makeStrategies(CpuKernel &);

} // namespace skewer
