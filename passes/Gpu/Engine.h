// What multiplies a warp's rows with tiles in shared memory: operand tiles, products that are issued, and the wait for
// their sums. Engines/ has those that there are.
#pragma once
#include "passes/Analysis/GpuLayout.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/ScoreLayout.h"

namespace skewer::gpu {

/// Rows of a tile from `first` (null: 0) on, in one of its copies (null: the first).
struct TileRows {
  const SharedTile &tile;
  Value copy, first;
};

/// An operand tile: a warp's rows, `rowTiles` × 16 of them. `held`: the same in registers, if they are kept there.
struct OperandRows {
  TileRows rows;
  int64_t rowTiles = 1;
  std::vector<RowFragment> held;
};

/// Weighted sums of rows of values, of all of a thread's rows.
struct WeightedSums {
  Tiles tiles;
  /// What each row is to be multiplied with when the next product is added to it; empty: nothing.
  llvm::SmallVector<Value> shrink;
};

/// The weights times a number; of 1, the weights. `noWeight`, of keys that are hidden, stays what it is.
Tiles scaled(GpuBuilder &, Tiles weights, double scale, float noWeight);

class Engine {
public:
  virtual ~Engine() = default;

  /// Whether chains of products begin at 0 and are added outside of the tensor cores.
  virtual bool addsOutside() const = 0;
  /// Takes a warp's rows into registers.
  virtual std::vector<RowFragment> hold(const TileRows &, int64_t rowTiles) = 0;
  /// `before` and the products of the warp's rows with 8 rows of `columns` for each column tile of the sums. No more
  /// than `together` steps of the depth are written one after another; more of them are a loop, which assembles faster.
  virtual Tiles issueProducts(const Tiles &before, const OperandRows &rows, const TileRows &columns,
                              int64_t together = INT64_MAX) = 0;
  /// sums += weights × rows. Where `checked`, rows that are no numbers count only for queries that see their key.
  virtual void issueWeighted(const Tiles &weights, const TileRows &rows, bool checked, WeightedSums &sums) = 0;
  /// Until sums that have been issued can be read.
  virtual void wait() {}
};

} // namespace skewer::gpu
