// Which scores of a tile count: keys that the mask leaves, and keys there are.
#pragma once
#include "passes/Gpu/BlockPlace.h"

namespace skewer::gpu {

class Masks {
public:
  Masks(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place);

  /// The first tile of keys of which the block's queries see any, and the end of those.
  std::pair<Value, Value> liveTiles();
  /// Whether a mask may hide some pair of the tile (i1, the same for all of the block); null without masks.
  Value crosses(Value firstKey);
  /// A bit (of i32) for each of the thread's scores that the masks leave; empty without masks but intervals.
  llvm::SmallVector<Value> seenBits(Value firstKey);
  /// Scores of keys that are not seen become -infinity. `crossed` and `bits`: what the two before say.
  void hide(Tiles &scores, Value firstKey, Value crossed, llvm::ArrayRef<Value> bits);

private:
  /// Whether the query of one of the thread's scores sees its key (i1).
  Value isSeen(const HeldNumber &, Value firstKey);

  GpuBuilder &b;
  const GpuAttention &shape;
  Operands &operands;
  const BlockPlace &place;
  Value low, high; // key - query of what a mask leaves, i32; null where it ends nowhere
};

} // namespace skewer::gpu
