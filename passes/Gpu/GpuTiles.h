// Tiles of rows in shared memory and the products of tensor cores with them: what kernels of tiles share.
#pragma once
#include "passes/Analysis/GpuLayout.h"
#include "passes/Gpu/GpuBuilder.h"
#include <optional>
#include <vector>

namespace skewer::gpu {

/// Where the rows of a tile come from: element base + row × rowStride + k × depthStride of an argument.
struct RowSource {
  Value pointer, base; // base: i64 elements
  Type element;
  int64_t rowStride = 0, depthStride = 1, depth = 0;
  bool aligned = false; // rows begin at multiples of 16 bytes, and have such lengths
};

/// Rows of a tile from `first` (null: 0) on, in one of its copies (null: the first).
struct TileRows {
  const SharedTile &tile;
  Value copy, first;
};

/// What is multiplied. Of f32 also what the tensor cores leave of each number, for three products in place of one.
struct RowOperand {
  RowFragment whole;
  std::optional<RowFragment> rest;
};
/// Whether a product of f32 is as exact as f32 itself, or one of tf32.
enum class Precision { Full, Once };

/// Steps of the depth whose products of f32 tensor cores add to each other. They cut off where f32 rounds, and what is
/// lost grows with the length of such a chain; a new one begins at 0.
constexpr int64_t kStepsOfChain = 2;
/// The longest chain of f16 or bf16, in products that one sum has: behind it, what is cut off nears 2^-12 of the sum.
constexpr int64_t kLongestChain = 1 << 15;

class GpuTiles {
public:
  /// `element`: what is multiplied. `threads`: of a block. `products`: of one sum, over all tiles.
  GpuTiles(GpuBuilder &b, Type element, int64_t threads, int64_t products)
      : addsOutside(element.isF32() || products > kLongestChain), b(b), multiplied(element), blockThreads(threads) {}

  /// Byte offset of 16 bytes of a row in shared memory.
  Value offsetIn(const SharedTile &, Value copy, Value row, Value chunk);
  /// Where the thread stands in its block and its warp.
  void readThread();

  /// Which row of the source (i32) stands in a row of the tile (i32), and whether one does: else it is zeros.
  using RowMap = llvm::function_ref<std::pair<Value, Value>(Value row)>;
  void loadTile(const SharedTile &, const RowSource &, RowMap, Value copy = {});

  // Products (GpuProducts.cpp).
  RowOperand operandOf(const RowFragment &, Precision = Precision::Full);
  Accumulator addProduct(const RowOperand &, const ColumnFragment &, const Accumulator &);
  /// Whether chains of products begin at 0 and are added outside of the tensor cores.
  const bool addsOutside;
  std::vector<Accumulator> zeros(size_t count);
  /// x + y, rounded to nearest; no addition where x is 0.
  std::vector<Accumulator> sumOf(const std::vector<Accumulator> &x, const std::vector<Accumulator> &y);
  /// `before` and the products that `add` adds to it. Products of f32 are tried in full, and made again where they are
  /// no numbers: the parts of an infinity have none.
  using AddProducts = llvm::function_ref<void(Precision, std::vector<Accumulator> &)>;
  std::vector<Accumulator> sumOfProducts(const std::vector<Accumulator> &before, AddProducts add);
  Value someAreNan(llvm::ArrayRef<Accumulator>);
  /// Fragments of a step of the depth, which begins at `chunk` (i32, of 16 bytes): of 16 rows; of 16 × pair … + 7 and
  /// of 16 × pair + 8 … + 15.
  RowFragment rowFragment(const TileRows &, Value chunk);
  std::array<ColumnFragment, 2> columnFragments(const TileRows &, int64_t pair, Value chunk);
  /// `before` and the products of the warp's 16 rows with 8 rows of `columns` for each of the sums. `held`: the rows'
  /// fragments if they are in registers. No more than `together` steps are written one after another; more of them are
  /// a loop, which assembles faster.
  std::vector<Accumulator> sumOfTileProducts(const std::vector<Accumulator> &before, const TileRows &rows,
                                             llvm::ArrayRef<RowFragment> held, const TileRows &columns,
                                             int64_t together = INT64_MAX);

  Value thread, warp, lane, group, inGroup; // i32; lane = 4 × group + inGroup

protected:
  GpuBuilder &b;
  Type multiplied;
  int64_t blockThreads;
};

} // namespace skewer::gpu
