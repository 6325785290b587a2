// Tiles, blocks and strides of a scheduled attention on a processor.
#pragma once
#include <cstdint>

namespace skewer {

/// A line of the cache: what one prefetch brings; and its f32s.
constexpr int64_t kLineBytes = 64, kLineFloats = 16;

struct Geometry {
  // From the schedule (#attn.cpu_schedule).
  int64_t lanes, tileRows, tileVectors; // a register tile has tileRows queries × tileVectors·lanes keys
  int64_t rowBlock, keyBlock;           // queries and keys whose scores are held at once
  int64_t rowsPerItem;                  // queries of one work item
  int64_t keysPerItem;                  // keys of it
  // Derived.
  int64_t keyVectors, widthVectors; // of all keys, of a row of the values
  int64_t rowStep = 1;              // positions from a row of a block to the next one
  int64_t chunks;                   // work items of one head, by its queries
  int64_t parts;                    // the same by its keys; one of the two is 1
  int64_t headsTogether = 1;        // heads that take their turns at each phase of their rows
  int64_t depth = 0;                // of the content, all its terms side by side
  int64_t panelStride;              // floats from a panel of keys to the next one
  int64_t scoreStride;              // floats from a row of scores to the next one
  int64_t lineStride, lineMargin;   // the same of lines of biases, and what stands before the first key
  bool manyKeyBlocks;
  bool streaming = false; // one block of rows has all queries of a head, and keys and values pass by it once
};

} // namespace skewer
