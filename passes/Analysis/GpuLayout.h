// Where a fused attention's tiles stand in a block's shared memory: what the kernel reads and writes, and what the cost
// model counts.
//
//   resident   queries, and logits that are looked up, from the first step to the last
//   operands   of a step: `stages` copies side by side, or with single buffers all of them in one place, one after
//   another numbers    that each step computes for itself: lines, weights on their way through shared memory
//
// Rows of a looked-up table stand where the operands of the steps come later.
#pragma once
#include "passes/Analysis/GpuShape.h"

namespace skewer::gpu {

/// A tile of rows in shared memory.
struct SharedTile {
  int64_t offset = 0;          // bytes
  int64_t rows = 0, width = 0; // elements of a row, a multiple of 32 bytes; zeros beyond `depth`
  int64_t depth = 0;
  int64_t copies = 1;       // one is filled while another is read
  int64_t elementBytes = 2; // 4: f32
  /// Rows stand an odd number of 16-byte chunks apart, so that eight rows of ldmatrix fall into different banks.
  int64_t rowBytes() const { return width * elementBytes + 16; }
  int64_t steps() const { return width * elementBytes / 32; } // products of 16 (f32: 8) elements of depth
  int64_t bytes() const { return rows * rowBytes(); }         // of one copy
};

/// Places in shared memory, one behind the other.
class SharedPlaces {
public:
  explicit SharedPlaces(int64_t elementBytes) : elementBytes(elementBytes) {}
  /// The width is the depth, aligned to `multiple` elements and to 32 bytes.
  SharedTile place(int64_t rows, int64_t depth, int64_t copies, int64_t multiple = 1);
  /// `stride` f32 numbers for each of `rows` rows; returns the byte offset.
  int64_t placeNumbers(int64_t rows, int64_t stride);

  int64_t end = 0; // bytes

private:
  int64_t elementBytes;
};

/// f32 numbers for each row of a tile.
struct SharedNumbers {
  int64_t offset = 0, stride = 0; // bytes; numbers from row to row
};

struct GpuLayout {
  /// Queries of a block; terms with the same ones share them.
  struct Queries {
    Walk walk;
    int64_t depth = 1;
    SharedTile tile;
  };
  /// Logits of a looked-up table's rows, a row for each query.
  struct Lookup {
    LookupUse use = LookupUse::EachScore;
    int64_t reached = 0;  // rows that a block reaches
    SharedNumbers logits; // of `tableRows` rows at a time where they move on to registers
    SharedTile staging;   // of so many rows of the table
  };
  /// Rows of a table that a tile of queries and keys reaches, by key - query.
  struct Band {
    SharedTile window;
    // Where keys meet them:
    SharedTile keys; // the content term's with this number if it has the same
    std::optional<size_t> sharedWith;
    SharedNumbers logits; // of 16 keys' columns, a row for each key
  };

  std::vector<Queries> queries;
  std::vector<SharedTile> content; // keys of each content term
  SharedTile values;
  std::vector<SharedTile> valueRows, valueBands;
  std::vector<Band> bands;
  std::vector<Lookup> lookups;
  std::vector<int64_t> lines; // byte offsets: of the terms without a gate together, then of each with one
  SharedNumbers weights;      // of the terms of the values that are evaluated for each pair: a row for each query
  int64_t bytes = 0;          // in all

  /// The queries' number.
  size_t numberOf(const Walk &, int64_t depth) const;
};
GpuLayout layoutOf(const GpuShape &, const GpuTile &);

} // namespace skewer::gpu
