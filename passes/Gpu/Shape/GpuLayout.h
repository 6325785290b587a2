// The places of a fused attention's tiles in a block's shared memory. The kernel reads and writes these tiles; the cost
// model counts them.
//
//   resident   queries and looked-up logits, kept from the first step to the last
//   operands   of a step: `stages` copies side by side; with single buffers, all operands share one place in turn
//   numbers    that each step computes: lines, and weights that pass through shared memory
//   signals    barriers between the threads that fill tiles and those that compute, if a block has both
//
// The rows of a looked-up table use the place of the operands, before the first step loads these.
#pragma once
#include "passes/Gpu/Shape/TensorBoxes.h"

namespace skewer::gpu {

/// A tile of rows in shared memory.
struct SharedTile {
  int64_t offset = 0;          // bytes
  int64_t rows = 0, width = 0; // elements of a row, a multiple of 32 bytes; zeros beyond `depth`
  int64_t depth = 0;
  int64_t copies = 1;       // the kernel fills one copy while it reads another
  int64_t elementBytes = 2; // 4: f32
  /// 0, or the bytes of a row in a swizzled panel: 32, 64 or 128. Panels stand one behind the other, each with all
  /// rows. Of row r, the 16-byte chunk c of a panel is at the place of chunk c ^ (r % 8) (128 bytes), c ^ (r / 2 % 4)
  /// (64) or c ^ (r / 4 % 2) (32). That is a function of the address, so a panel begins at a multiple of eight rows.
  int64_t panel = 0;
  /// Returns the distance of two rows. Without panels it is an odd number of 16-byte chunks, so that the eight rows of
  /// an ldmatrix fall into different banks.
  int64_t rowBytes() const { return panel ? panel : width * elementBytes + 16; }
  int64_t steps() const { return width * elementBytes / 32; } // products of 16 (f32: 8) elements of depth
  int64_t bytes() const { return rows * (panel ? width * elementBytes : rowBytes()); } // size of one copy
};

/// Assigns consecutive places in shared memory.
class SharedPlaces {
public:
  explicit SharedPlaces(int64_t elementBytes, bool swizzles = false) : elementBytes(elementBytes), swizzles(swizzles) {}
  /// Places a tile whose width is the depth, aligned to `multiple` elements and to 32 bytes.
  SharedTile place(int64_t rows, int64_t depth, int64_t copies, int64_t multiple = 1);
  /// Places `stride` f32 numbers for each of `rows` rows; returns the byte offset.
  int64_t placeNumbers(int64_t rows, int64_t stride);

  int64_t end = 0; // bytes

private:
  int64_t elementBytes;
  bool swizzles;
};

/// f32 numbers in shared memory, some for each row of a tile.
struct SharedNumbers {
  int64_t offset = 0, stride = 0; // `offset` in bytes; `stride` in numbers, from row to row
};

struct GpuLayout {
  /// Queries of a block. Terms with the same queries share them.
  struct Queries {
    Walk walk;
    int64_t depth = 1;
    SharedTile tile;
  };
  /// Logits of the rows of a looked-up table: a row of logits for each query.
  struct Lookup {
    LookupUse use = LookupUse::EachScore;
    int64_t columns = 0;  // OncePerTile: keys of a part; EveryTile: keys after which rows repeat, at most all
    int64_t reached = 0;  // table rows that a block reaches
    SharedNumbers logits; // logits of `tableRows` rows at a time, if they move on to registers
    SharedTile staging;   // that many rows of the table
  };
  /// Rows of a table that a tile of queries and keys reaches, by key - query.
  struct Band {
    SharedTile window;
    // For bands of keys:
    SharedTile keys; // the tile of content term number `sharedWith`, if that term has the same keys
    std::optional<size_t> sharedWith;
    SharedNumbers logits; // columns of 16 keys, a row for each key
  };

  /// The tiles that producers hand over together: how they are filled, and what reads them.
  struct Filling {
    bool ofScores = true, ofValues = true;
    bool threads = true;           // threads copy rows, or compute numbers
    bool threadsMultiplied = true; // some of these rows are multiplied by all warps together
    bool boxes = false;            // TMA copies some rows
    bool warpsReadBoxes = false;   // mma.sync reads some of these rows
  };

  std::vector<Queries> queries;
  std::vector<SharedTile> content; // keys of each content term
  SharedTile values;
  std::vector<SharedTile> valueRows, valueBands;
  std::vector<Band> bands;
  std::vector<Lookup> lookups;
  std::vector<int64_t> lines;   // byte offsets: one for all terms without a gate, then one for each gated term
  bool hasWholeLines = false;   // lines have the numbers of all steps; else those of one step, in each copy
  int64_t rowColumns = 0;       // keys of a tile that have the same numbers of OncePerTile lookups: all, or a part
  SharedNumbers weights;        // for the value terms that are evaluated for each pair: a row for each query
  int64_t signals = 0;          // byte offset of the barriers of tiles (Ring.h); only if a block has producers
  std::vector<TensorBox> boxes; // tiles that TMA fills, if the schedule says so
  // One entry, for all tiles of a step; or two, for the tiles of its scores and for those of its values.
  std::vector<Filling> fillings;
  int64_t bytes = 0; // total size

  /// Returns the place in `queries` of the queries with this walk and depth.
  size_t numberOf(const Walk &, int64_t depth) const;
};
GpuLayout layoutOf(const GpuShape &, const GpuTile &);
/// Returns the bytes of the barriers of tiles; a number of each warp is behind them.
int64_t barrierBytes(const GpuTile &);

/// Returns the tile by which the computing threads of a block with producers compute their rows again, by mma.sync, and
/// its layout, which leaves the signals of `tile` alone and is within the bytes of the layout of `tile`.
GpuTile carefulTileOf(const GpuTile &tile);
GpuLayout carefulLayoutOf(const GpuShape &, const GpuTile &tile);

} // namespace skewer::gpu
