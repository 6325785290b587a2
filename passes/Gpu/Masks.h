// Which scores of a tile count: keys that the mask leaves, and keys there are.
#pragma once
#include "passes/Gpu/BlockPlace.h"

namespace skewer::gpu {

class Masks {
public:
  Masks(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place);

  /// The block's steps, from the first to the end: tiles of keys of which its queries see any. Where a mask that is
  /// known at compile time leaves others than an interval, they are listed in a table.
  std::pair<Value, Value> steps();
  /// The first key of a step's tile; behind the last step there is no key.
  Value firstKeyOf(Value step);
  /// Whether a mask may hide some pair of the step's tile (i1, the same for all of the block); null without masks.
  Value crosses(Value step, Value firstKey);
  /// A bit (of i32) for each of the thread's scores that the masks leave; empty without masks but intervals.
  llvm::SmallVector<Value> seenBits(Value firstKey, Value crossed);
  /// Scores of keys that are not seen become -infinity. `crossed` and `bits`: what the two before say.
  void hide(Tiles &scores, Value firstKey, Value crossed, llvm::ArrayRef<Value> bits);

private:
  /// Which tiles of keys each block of queries meets, one block after another.
  struct Listed {
    std::vector<int64_t> begins; // of each block, and the end of the last: places in `tiles`
    std::vector<int64_t> tiles;  // twice the tile's number, and 1 where its pairs are asked one by one
    bool saysAll = true;         // no other mask is asked
  };
  std::optional<Listed> listTiles() const;
  std::pair<Value, Value> stepsOfAll();
  std::pair<Value, Value> ofPart(Value first, Value end);
  Value entryOf(Value step);
  llvm::SmallVector<Value> askedBits(Value firstKey);
  /// Whether the last tile may hold keys that are not there.
  bool isRagged() const {
    return shape.attention.bounds.keyLength || shape.attention.keys % shape.tile.keys != 0;
  }
  /// Whether the query of one of the thread's scores sees its key (i1).
  Value isSeen(const HeldNumber &, Value firstKey);

  GpuBuilder &b;
  const GpuAttention &shape;
  Operands &operands;
  const BlockPlace &place;
  std::optional<Listed> listed;
  Value endOfSteps; // i32, where tiles are listed or blocks have parts of the keys
  Value low, high;  // key - query of what a mask leaves, i32; null where it ends nowhere
};

} // namespace skewer::gpu
