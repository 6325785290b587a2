// Rows of tensors on their way into shared memory: fill a tile, know when it is full, say when it is empty again. Here
// by cp.async, whose groups of copies are counted; a block's barriers say who is done.
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
};

/// Byte offset of 16 bytes of a row in shared memory.
Value offsetIn(GpuBuilder &, const SharedTile &, Value copy, Value row, Value chunk);

class Pipeline {
public:
  /// `threads` of a block fill; a step's tiles have `stages` copies. `element`: what the tiles hold.
  Pipeline(GpuBuilder &b, const ThreadPlace &at, Type element, int64_t threads, int64_t stages)
      : b(b), at(at), element(element), threads(threads), stages(stages) {}

  /// Which row of the source (i32) stands in a row of the tile (i32), and whether one does: else it is zeros.
  using RowMap = llvm::function_ref<std::pair<Value, Value>(Value row)>;
  /// Starts to fill one of the tile's copies (null: the first).
  void fill(const SharedTile &, const RowSource &, RowMap, Value copy = {});
  /// With rows `first` … of the source; rows from `end` on are zeros.
  void fillRows(const SharedTile &, const RowSource &, Value first, int64_t end, Value copy = {});
  /// What has been started since the last time belongs to one step.
  void commit() { b.commitCopies(); }
  /// Waits until the next step's tiles are full, for all threads; those of the step before are empty then.
  void full();
  /// The same for everything that has been started.
  void allFull();
  /// Waits until nobody reads the tiles of this step any more.
  void empty() { b.barrier(); }
  /// Waits for the thread's own copies, which nobody reads.
  void drain() { b.waitForCopies(0); }

  /// A tile that only one operand at a time has: what is multiplied next. Where tiles have copies it came with the
  /// step.
  void bring(llvm::function_ref<void()> fill);
  bool isSingleBuffered() const { return stages == 1; }
  /// Which copy a step's tiles stand in, and the step after this one that is filled while this one is computed.
  Value copyOf(Value step) { return b.remainder(step, stages); }
  Value nextOf(Value step) { return b.add(step, stages - 1); }
  int64_t stepsAhead() const { return stages - 1; }

private:
  using RowPlace = llvm::function_ref<std::pair<Value, Value>(Value row)>;
  void fillByChunks(const SharedTile &, const RowSource &, RowPlace, Value copy);
  void fillByElements(const SharedTile &, const RowSource &, RowPlace, Value copy);

  GpuBuilder &b;
  const ThreadPlace &at;
  Type element;
  int64_t threads, stages;
};

} // namespace skewer::gpu
