// The interface of an engine, which multiplies rows of queries or weights with tiles in shared memory: it issues
// products, and waits for their sums. The kernel and its strategies call it. Engines/ has the implementations.
//
// Two kinds of products exist. All warps of a block meet the same rows of a tile: content, values. These products are
// issued, and their sums can be read after `wait`. Or each warp meets rows of its own, as in a band: then the sums are
// ready at once.
#pragma once
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/ScoreLayout.h"
#include "passes/Gpu/Shape/GpuLayout.h"

namespace skewer::gpu {

/// 16 rows in registers of i32: 16 columns of f16 or bf16, two elements in each register, or 8 of f32.
using RowFragment = std::array<Value, 4>;

/// Rows of a tile, beginning at `first` (null: 0), in one of the tile's copies (null: the first).
struct TileRows {
  const SharedTile &tile;
  Value copy, first;
};

/// An operand tile: `rowTiles` × 16 rows of a warp. `held`: the same rows in registers, if they are kept there.
struct OperandRows {
  TileRows rows;
  int64_t rowTiles = 1;
  std::vector<RowFragment> held;
};

/// Weighted sums of rows of values, for all rows of a thread.
struct WeightedSums {
  Tiles tiles;
  /// For each row, the factor to apply before the next product is added; empty: no factor.
  llvm::SmallVector<Value> shrink;
  Value shrinks; // whether some factor of the warp is not 1 (i1); null: not known
};

/// Returns the weights times `scale`; the weights themselves if it is 1. `noWeight`, the weight of hidden keys, stays as
/// it is.
Tiles scaled(GpuBuilder &, Tiles weights, double scale, float noWeight);

class Engine {
public:
  virtual ~Engine() = default;

  /// Returns whether chains of products begin at 0 and are added to the sums outside of the tensor cores.
  virtual bool addsOutside() const = 0;
  /// Returns whether sums of products may begin with other numbers than 0, at no cost.
  virtual bool beginsWithSums() const = 0;
  /// Returns whether NaN and infinities of values count only for queries that see their key, where a call asks for it
  /// (`checked`). If not, a block whose result has a NaN is computed again by mma.sync (carefulTileOf).
  virtual bool hidesOddValues() const = 0;
  /// Loads a warp's rows into registers.
  virtual std::vector<RowFragment> hold(const TileRows &, int64_t rowTiles) = 0;
  /// Returns `before` plus the products of the warp's rows with 8 rows of `columns` for each column tile of the sums.
  /// All warps call it together, with the same columns. At most `together` steps of the depth are unrolled; more steps
  /// become a loop, which assembles faster.
  virtual Tiles issueProducts(const Tiles &before, const OperandRows &rows, const TileRows &columns,
                              int64_t together = INT64_MAX) = 0;
  /// Adds weights × rows to the sums. All warps call it together, with the same rows. If `checked`, NaN and infinities
  /// in rows count only for queries that see their key.
  void issueWeighted(const Tiles &weights, const TileRows &rows, bool checked, WeightedSums &sums) {
    issueRounded(rounded(weights), rows, checked, sums);
  }
  /// Returns the weights rounded to the type that is multiplied, as operands, and adds the product of such weights.
  virtual std::vector<RowFragment> rounded(const Tiles &weights) = 0;
  virtual void issueRounded(llvm::ArrayRef<RowFragment> weights, const TileRows &rows, bool checked,
                            WeightedSums &sums) = 0;
  /// Waits for the products that have been issued, but for the last `pending` calls, and returns these sums, which can
  /// be read now.
  virtual Tiles wait(const Tiles &issued, int64_t pending = 0) = 0;

  /// Return or add the same for rows and columns of one warp. The sums are ready.
  virtual Tiles products(const Tiles &before, const OperandRows &rows, const TileRows &columns,
                         int64_t together = INT64_MAX) = 0;
  virtual void addWeighted(const Tiles &weights, const TileRows &rows, bool checked, WeightedSums &sums) = 0;
};

} // namespace skewer::gpu
