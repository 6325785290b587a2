// The parts of a fused attention on an NVIDIA GPU, and the state they share while one kernel is emitted.
//
// A block has `rows` queries of one leading index (batch, head), a warp 16 of them. It goes through the keys that its
// queries may see in tiles of `keys`:
//
//   loadTile       global → shared, 16 bytes a thread by cp.async; the next tile while this one is computed
//   scores         ldmatrix and mma.sync, f32 sums, scaled to base 2
//   elementTerms   terms of other classes: added to each score where it stands, in registers
//   hideMasked     scores of keys that are not seen become -inf; only in tiles that a mask's edge crosses
//   online softmax running maximum and sum, a row in four neighbouring lanes
//   accumulate     weights, rounded to the values' type, times values
//
// Nothing grows with queries × keys. Sources: Dao 2023 (arXiv:2307.08691) for the division of work; PTX ISA for the
// layouts of fragments. Rows of a shared tile stand an odd number of 16-byte chunks apart, so that eight rows of
// ldmatrix fall into different banks.
#pragma once
#include "passes/Lowering/EmitIndex.h"
#include "passes/LoweringGpu/GpuBuilder.h"
#include "passes/LoweringGpu/GpuShape.h"

namespace skewer::gpu {

/// A tile of rows in shared memory.
struct SharedTile {
  int64_t offset = 0;          // bytes
  int64_t rows = 0, width = 0; // elements of a row, a multiple of 16; zeros beyond `depth`
  int64_t depth = 0;
  int64_t copies = 1; // one is filled while another is read
  int64_t rowBytes() const { return width * 2 + 16; }
  int64_t bytes() const { return rows * rowBytes(); } // of one copy
};

/// Where the rows of a tile come from: element base + row × rowStride + k × depthStride of an argument.
struct RowSource {
  Value pointer, base; // base: i64 elements
  Type element;
  int64_t rowStride = 0, depthStride = 1, depth = 0;
  bool aligned = false; // rows begin at multiples of 16 bytes, and have such lengths
};

/// One content term: where its queries and keys stand.
struct ContentPlan {
  SharedTile queries;
  SharedTile keys;
  RowSource querySource, keySource;
  double scale = 1;
  std::vector<RowFragment> fragments; // of the warp's 16 queries, if they are kept in registers
};

/// Softmax state and result of a thread: of rows g and g + 8 of its warp.
struct RowState {
  std::array<Value, 2> maximum, sum;
  std::vector<Accumulator> output; // a tile for each 8 columns of the values
};

class GpuKernel {
public:
  GpuKernel(GpuBuilder &b, const GpuShape &shape, GpuTile tile) : b(b), shape(shape), tile(tile) {}

  /// The function, in the module at the builder's insertion point. False with a reason in `failure`.
  bool emit(mlir::gpu::GPUModuleOp);
  int64_t sharedBytes() const { return plannedBytes; }
  std::string failure;

private:
  // Planning (PlanShared.cpp).
  void plan();
  SharedTile place(int64_t rows, int64_t depth, int64_t copies);
  bool isAligned(const Walk &, bool ofQuery, int64_t depth, unsigned argument) const;

  // At the beginning of the function.
  void readPlace();
  Value baseOf(const subscript::Expr &);
  RowSource sourceOf(const Walk &, bool ofQuery, int64_t depth);
  Value emitIndex(const subscript::Expr &, const std::map<std::string, Value> &at);
  Value emitPredicate(const subscript::Expr &, const std::map<std::string, Value> &at);
  IndexEmitter::Read reads();
  subscript::Expr withoutTables(const subscript::Expr &);

  // A tile.
  /// Rows `first` … of the source to the tile; rows from `end` on are zeros.
  void loadTile(const SharedTile &, const RowSource &, Value first, int64_t end, Value buffer = {});
  void loadKeys(Value tileIndex, Value buffer);
  std::vector<Accumulator> scores(Value buffer, Value firstKey);
  void multiplyTile(const ContentPlan &, Value buffer, std::vector<Accumulator> &sums);
  RowFragment queryFragment(const ContentPlan &, int64_t step);
  void addElementTerms(std::vector<Accumulator> &scores, Value firstKey);
  void hideMasked(std::vector<Accumulator> &scores, Value firstKey);
  RowState softmax(std::vector<Accumulator> &scores, const RowState &);
  void accumulate(const std::vector<Accumulator> &weights, Value buffer, RowState &);
  RowState step(Value tileIndex, const RowState &);
  void write(const RowState &);

  std::map<std::string, Value> axesOf(Value position, const std::vector<std::string> &names,
                                      const std::vector<MapAxis> &);
  /// Values of all axes at a row (0: g, 1: g + 8) of the thread's and a key.
  std::map<std::string, Value> axesAt(unsigned row, Value key);
  Value elementTerm(const ElementTerm &, std::map<std::string, Value> at);
  llvm::SmallVector<Value> contractedTerm(const ElementTerm &, llvm::ArrayRef<std::map<std::string, Value>> at);
  Value factor(const ElementTerm &, const std::map<std::string, Value> &at);
  std::pair<Value, Value> liveTiles();
  /// Byte offset of 16 bytes of a row in shared memory.
  Value offsetIn(const SharedTile &, Value copy, Value row, Value chunk);

  GpuBuilder &b;
  const GpuShape &shape;
  GpuTile tile;
  mlir::gpu::GPUModuleOp module;
  mlir::LLVM::LLVMFuncOp function;

  int64_t plannedBytes = 0;
  bool queriesInRegisters = true;
  std::vector<ContentPlan> content;
  SharedTile values;
  RowSource valueSource;

  std::vector<Value> inputs; // pointers, of the kernel's arguments
  Value output;
  std::map<std::string, Value> sizes;       // run-time sizes, i64
  Value thread, warp, lane, group, inGroup; // i32; lane = 4 × group + inGroup
  Value blockRow;                           // first query of the block
  Value threadRow;                          // of the thread: row g of its warp
  std::map<std::string, Value> leading;     // index
  std::array<std::map<std::string, Value>, 2> queryAxes;
  std::map<std::string, std::shared_ptr<const std::vector<int64_t>>> tables;
};

} // namespace skewer::gpu
