// The sizes of tiles and blocks and the strides of a scheduled attention on a processor. KernelContext derives them
// from the schedule, CpuKernel completes them, and strategies copy them.
#pragma once
#include <cstdint>

namespace skewer {

/// The size of a cache line, which one prefetch brings, in bytes and in floats.
constexpr int64_t kLineBytes = 64, kLineFloats = 16;
/// The distance in bytes at which keys and values are prefetched ahead of the current product, if each of them is read
/// once. Measured on a Zen 4 core, with 8 rows, 512 to 4096 keys and depth 128, in f32 and in bf16: 9.7 and 5.4 ms at 4
/// KiB, 9.0 and 4.4 ms at 8 KiB, 9.2 and 4.9 ms at 16 KiB; 13.2 and 6.1 ms with prefetches into L1 instead of L2. Since
/// bf16 is multiplied in pairs, the speed as a share of a plain read of the same memory, in f32 and in bf16: 0.63 and
/// 0.51 at 4 KiB, 0.66 and 0.64 at 8 KiB, 0.66 and 0.68 at 16 KiB, 0.65 and 0.66 at 24 KiB, 0.66 and 0.64 at 32 KiB.
constexpr int64_t kFetchedAhead = 16384;

/// How scores become weights.
struct Weighing {
  bool areRounded = false;      // to bf16 or fewer digits, so that exponentials of few digits serve
  bool arePowers = false;       // an engine makes packed weights of scores, without weights in f32
  bool looseReferences = false; // exponentials subtract the maxima of the first keys while sums stay in range
  bool maximaByRows = false;    // found row by row where weights are made, and not where scores are stored
  bool termsByRows = false;     // added where weights are made: stored scores are sums of products alone
  double scoreScale = 1;        // what multiplies the scores where exponentials are made of them; positive
};

struct Geometry {
  // From the schedule (#attn.cpu_schedule).
  int64_t lanes, tileRows, tileVectors; // a register tile has tileRows queries × tileVectors·lanes keys
  int64_t rowBlock, keyBlock;           // queries and keys whose scores are held at once
  int64_t rowsPerItem;                  // queries of one work item
  int64_t keysPerItem;                  // keys of one work item
  // Derived.
  int64_t keyVectors, widthVectors; // vectors of all keys, vectors of a row of the values
  int64_t rowStep = 1;              // positions from a row of a block to the next one
  int64_t chunks;                   // work items of one head, divided by its queries
  int64_t parts;                    // work items of one head, divided by its keys; `chunks` or `parts` is 1
  int64_t headsTogether = 1;        // heads that take turns at each phase of their rows
  int64_t depth = 0;                // steps of the content, with all its terms side by side
  int64_t panelStride;              // floats from a panel of keys to the next one
  int64_t groupsTogether = 1;       // groups of rows that an engine multiplies at once, if sums go through memory
  int64_t scoreStride;              // floats from a row of scores to the next one
  int64_t lineStride, lineMargin;   // floats from a line of biases to the next one, and before its first key
  bool manyKeyBlocks;
  Weighing weighing;
  bool streaming = false; // one block of rows has all queries of a head, so each key and value is read once
};

} // namespace skewer
