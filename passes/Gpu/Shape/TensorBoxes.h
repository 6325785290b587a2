// The tiles of a step that TMA can fill: their rows lie at fixed distances, so that a tile is a few boxes of a tensor,
// which one thread asks for and the hardware copies (PTX ISA, "cp.async.bulk.tensor"). The schedule says whether they
// are filled in this way. The threads that fill tiles copy all other rows: rows that keys pick, rows of tables that go
// down or are clamped, rows of another type.
#pragma once
#include "passes/Gpu/Shape/GpuShape.h"

namespace skewer::gpu {
struct GpuLayout;
struct SharedTile;

/// The tensor of a tile that is copied as boxes. Element (column, row, place) of the tensor lies at place ×
/// `placeStride` + row × `rowStride` + column in the operand. The rows of a leading index begin at a multiple of
/// `placeStride`. Distances are in elements.
struct TensorBox {
  int64_t tile = 0;      // byte offset of the tile in shared memory; no other tile begins there
  unsigned argument = 0; // number in operandsOf(attention)
  int64_t rowStride = 0, placeStride = 0;
  int64_t columns = 0, rows = 0;       // of the tensor; 0 rows: as many as keys
  int64_t boxColumns = 0, boxRows = 0; // of a box: a part of the rows of a panel of the tile
  int64_t boxesOfPanel = 1, panels = 1;
  int64_t tileBytes = 0;    // of the tile: its boxes together
  bool isMultiplied = true; // all warps multiply the tile together; else a warp has rows of its own, by mma.sync
  bool isOfValues = false;  // else of the scores
};

/// The most tiles of a step that are copied as boxes; threads copy further ones. The launcher has room for so many maps
/// of a launch (codegen/Runtime/skewer_cuda.c).
constexpr size_t kMostTensorBoxes = 8;

/// Returns the boxed tiles of a step, for an engine whose tiles are swizzled, whatever the schedule says.
std::vector<TensorBox> tensorBoxesOf(const GpuShape &, const GpuTile &, const GpuLayout &);

/// Refuses a tile whose schedule asks for boxes if nothing can be copied in that way.
std::optional<Refusal> refuseBoxes(const GpuShape &, const GpuTile &);

} // namespace skewer::gpu
