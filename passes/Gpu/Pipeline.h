// The interface of a pipeline, which brings rows of tensors into shared memory: it fills a tile, waits until the tile
// is full, and says when it is empty again. AsyncCopies.h implements it, and TensorCopies.h copies some tiles in
// another way.
#pragma once
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/ScoreLayout.h"
#include "passes/Gpu/Shape/GpuLayout.h"

namespace skewer::gpu {

/// The source of a tile's rows: element base + row × rowStride + k × depthStride of an argument.
struct RowSource {
  Value pointer, base; // base: i64 elements
  Type element;
  int64_t rowStride = 0, depthStride = 1, depth = 0;
  bool aligned = false; // rows begin at multiples of 16 bytes, and have such lengths
  /// Rows of 8 bits that become rows of the tile's type, by parts that fill 16 bytes of it (Widening.h).
  bool widened = false, byInstruction = false;
  /// Returns the scale (f32) of the element at a place (i64); null: there is none. Elements of one part have one scale.
  std::function<Value(Value place)> scaleAt = nullptr;
  /// For rows that keys pick. `picking` describes the pick until a tile is known (BlockPlace::inTile); then `placeOf`,
  /// if it is set, returns where (i64) the row with that number (i32) begins, in place of the stride.
  const Walk *picking = nullptr;
  std::function<Value(Value row)> placeOf = nullptr;
};

/// Returns the byte offset of a chunk of 16 bytes of a row in shared memory.
Value offsetIn(GpuBuilder &, const SharedTile &, Value copy, Value row, Value chunk);

class Pipeline {
public:
  /// Each tile of a step has `stages` copies.
  Pipeline(GpuBuilder &b, int64_t stages) : b(b), stages(stages) {}
  virtual ~Pipeline() = default;

  /// Returns the row of the source (i32) for a row of the tile (i32), and whether it exists; if not, the tile's row is
  /// zeros.
  using RowMap = llvm::function_ref<std::pair<Value, Value>(Value row)>;
  /// Starts to fill one of the tile's copies (null: the first).
  virtual void fill(const SharedTile &, const RowSource &, RowMap, Value copy = {}) = 0;
  /// Ends a step: the copies that have been started since the last call belong to it.
  virtual void commit() = 0;
  /// Waits until the next step's tiles are full, for all threads; the tiles of the step before are empty then.
  virtual void full() = 0;
  /// Waits until all tiles whose copies have been started are full, for all threads.
  virtual void allFull() = 0;
  /// Waits until no thread reads the tiles of this step any more.
  virtual void empty() = 0;
  /// After the first function, threads may keep rows that they convert in registers, while the tiles of a step are
  /// multiplied; `settle` stores them. Both are called in one block of code, before and behind the products of the
  /// step.
  virtual void holdConverted() {}
  virtual void settle() {}
  /// Waits for the thread's own copies that no thread reads.
  virtual void drain() = 0;
  /// Waits for all threads that compute.
  virtual void meet() = 0;

  /// Fills a tile with the rows of the source from `first` on; rows from `end` (i32) on are zeros.
  void fillRows(const SharedTile &, const RowSource &, Value first, Value end, Value copy = {});
  /// Fills a tile as the map says. Where `isRun` (i1, the same in all threads) holds, that is with the rows of `run`
  /// from `first` on, which all exist.
  virtual void fillRun(const SharedTile &to, const RowSource &from, const RowSource & /*run*/, Value /*first*/,
                       Value /*isRun*/, RowMap map, Value copy = {}) {
    fill(to, from, map, copy);
  }
  /// Fills a tile that operands share one after another, right before its product. Does nothing if tiles have copies:
  /// then the tile came with the step.
  void bring(llvm::function_ref<void()> fill);
  bool isSingleBuffered() const { return stages == 1; }
  /// Returns the copy in which a step's tiles stand; `nextOf` returns the step that is filled while this step is
  /// computed.
  Value copyOf(Value step) { return b.remainder(step, stages); }
  Value nextOf(Value step) { return b.add(step, stages - 1); }
  int64_t stepsAhead() const { return stages - 1; }

protected:
  GpuBuilder &b;
  int64_t stages;
};

} // namespace skewer::gpu
