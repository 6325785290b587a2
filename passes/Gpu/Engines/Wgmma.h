// The engine of wgmma (sm_90a): four warps together multiply 64 rows with a tile of keys or values, which the tensor
// cores read from shared memory themselves. Queries stand there too; weights are in registers, where the softmax leaves
// them. Products of one warp with rows of its own, as bands have, go through mma.sync, from the same tiles.
//
// Warp w of a block has the rows 16 × w … 16 × w + 15 of a tile of queries, and a warp's sums have the layout of
// mma.sync (PTX ISA, "Register Fragments for wgmma.mma_async").
#pragma once
#include "passes/Gpu/Engines/MmaSync.h"
#include "passes/Gpu/Engines/WgmmaInstructions.h"

namespace skewer::gpu {

class Wgmma : public Engine {
public:
  /// See MmaSync. `element` is f16 or bf16.
  Wgmma(GpuBuilder &b, const BlockMemory &shared, const ThreadPlace &at, Type element, int64_t products,
        bool signedWeights);

  bool addsOutside() const override { return warps.addsOutside(); }
  /// Numbers would have to be moved to the registers of the sums first.
  bool beginsWithSums() const override { return false; }
  bool hidesOddValues() const override { return false; }
  std::vector<RowFragment> hold(const TileRows &rows, int64_t rowTiles) override { return warps.hold(rows, rowTiles); }
  Tiles issueProducts(const Tiles &before, const OperandRows &rows, const TileRows &columns,
                      int64_t together = INT64_MAX) override;
  std::vector<RowFragment> rounded(const Tiles &weights) override { return warps.rounded(weights); }
  void issueRounded(llvm::ArrayRef<RowFragment> weights, const TileRows &rows, bool checked,
                    WeightedSums &sums) override;
  Tiles wait(const Tiles &issued, int64_t pending = 0) override { return waitForProducts(b, issued, pending); }
  Tiles products(const Tiles &before, const OperandRows &rows, const TileRows &columns,
                 int64_t together = INT64_MAX) override {
    return warps.products(before, rows, columns, together);
  }
  void addWeighted(const Tiles &weights, const TileRows &rows, bool checked, WeightedSums &sums) override {
    warps.addWeighted(weights, rows, checked, sums);
  }

private:
  GpuBuilder &b;
  const BlockMemory &shared;
  Type element;
  MmaSync warps;  // products of one warp
  Value firstRow; // of the warpgroup, in a block; i32, known to be the same in all lanes
};

} // namespace skewer::gpu
