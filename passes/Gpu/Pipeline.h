// Rows of tensors on their way into shared memory: fill a tile, know when it is full, say when it is empty again.
// AsyncCopies.h is the one there is; an engine may bring another.
#pragma once
#include "passes/Analysis/GpuLayout.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/ScoreLayout.h"

namespace skewer::gpu {

/// Where the rows of a tile come from: element base + row × rowStride + k × depthStride of an argument.
struct RowSource {
  Value pointer, base; // base: i64 elements
  Type element;
  int64_t rowStride = 0, depthStride = 1, depth = 0;
  bool aligned = false; // rows begin at multiples of 16 bytes, and have such lengths
  /// Of rows that keys pick: what says where, until a tile is known (BlockPlace::inTile), and where (i64) the row with
  /// that number (i32) begins, in place of the stride.
  const Walk *picking = nullptr;
  std::function<Value(Value row)> placeOf = nullptr;
};

/// Byte offset of 16 bytes of a row in shared memory.
Value offsetIn(GpuBuilder &, const SharedTile &, Value copy, Value row, Value chunk);

class Pipeline {
public:
  /// A step's tiles have `stages` copies.
  Pipeline(GpuBuilder &b, int64_t stages) : b(b), stages(stages) {}
  virtual ~Pipeline() = default;

  /// Which row of the source (i32) stands in a row of the tile (i32), and whether one does: else it is zeros.
  using RowMap = llvm::function_ref<std::pair<Value, Value>(Value row)>;
  /// Starts to fill one of the tile's copies (null: the first).
  virtual void fill(const SharedTile &, const RowSource &, RowMap, Value copy = {}) = 0;
  /// What has been started since the last time belongs to one step.
  virtual void commit() = 0;
  /// Waits until the next step's tiles are full, for all threads; those of the step before are empty then.
  virtual void full() = 0;
  /// The same for everything that has been started.
  virtual void allFull() = 0;
  /// Waits until nobody reads the tiles of this step any more.
  virtual void empty() = 0;
  /// Waits for the thread's own copies, which nobody reads.
  virtual void drain() = 0;

  /// With rows `first` … of the source; rows from `end` on (i32) are zeros.
  void fillRows(const SharedTile &, const RowSource &, Value first, Value end, Value copy = {});
  /// A tile that only one operand at a time has: what is multiplied next. Where tiles have copies it came with the
  /// step.
  void bring(llvm::function_ref<void()> fill);
  bool isSingleBuffered() const { return stages == 1; }
  /// Which copy a step's tiles stand in, and the step after this one that is filled while this one is computed.
  Value copyOf(Value step) { return b.remainder(step, stages); }
  Value nextOf(Value step) { return b.add(step, stages - 1); }
  int64_t stepsAhead() const { return stages - 1; }

protected:
  GpuBuilder &b;
  int64_t stages;
};

} // namespace skewer::gpu
