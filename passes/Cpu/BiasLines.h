// Lines of biases: a line over the keys of a block for each row, and for each sum of terms that a score is a function
// of. Strategies add the terms there that score tiles cannot load by themselves; -inf in a line hides a key.
#pragma once
#include "passes/Cpu/KernelContext.h"
#include "passes/Cpu/Layout.h"

namespace skewer {

/// A row of a block and its line of biases: floats for the keys [lowKey, highKey), from `line` on in `memory`.
struct BiasRow {
  mlir::Value memory, firstRow, row, position, line, lowKey, highKey;
};
/// Adds a term to the line of a row if the keys are a map: a number for each index of the outer axes, which it adds to
/// `base`, and vectors along the innermost axis, which the returned function adds to `sum` (null: none). `outer` counts
/// the innermost rows of the map.
using AlongInner = std::function<mlir::Value(mlir::Value x, mlir::Value sum)>;
using AlongOuter = std::function<AlongInner(mlir::Value outer, mlir::Value firstKey, mlir::Value &base)>;

class BiasLines : KernelPart {
public:
  BiasLines(KernelContext &context, const CpuStrategies &strategies) : KernelPart(context), strategies(strategies) {}
  /// Reserves a line for each sum for which some strategy needs one.
  void plan(Layout &);
  void open();

  /// Returns whether the lines hide keys.
  bool hide() const { return hides; }
  /// Returns the lines of a sum, which must have some.
  mlir::Value of(uint64_t sum);
  /// Makes the lines of a block: first the terms over maps (a number for each index of the outer axes, vectors along
  /// the innermost axis), then the rest.
  void make(const KeyBlock &);
  /// Adds the lines of a sum to a tile. The lines of a plain softmax hide keys at once, others after the function of
  /// the scores, when `hideKeys` is called.
  void addTo(ScoreTile &, uint64_t sum);
  void hideKeys(ScoreTile &, mlir::Value mark);

private:
  bool tilesFitMap() const;
  llvm::SmallVector<AlongOuter> partsOf(const BiasRow &, uint64_t sum);
  void makeOf(const KeyBlock &, uint64_t sum);
  void addDirectly(ScoreTile &);
  mlir::Value originOf(const ScoreTile &);

  const CpuStrategies &strategies;
  std::vector<Buffer> buffers; // of each sum; empty: it has no lines
  bool hides = false;          // the lines of the first sum
  bool areDirect = false;      // no line is made: what it would hold is added to single rows
  mlir::Value only;            // the lines, in layers with one sum
};

/// Adds buffer[origin + r·rowStride + v·lanes] to the sums of a tile; with `mayHide`, -inf there hides a key.
void addToTile(VectorBuilder &, mlir::Value buffer, mlir::Value origin, int64_t rowStride, bool mayHide, ScoreTile &);

} // namespace skewer
