// The masks of a kernel: which tiles of keys a block goes through, and which scores of a tile count. A score counts if
// the mask shows its key and the key exists.
#pragma once
#include "passes/Gpu/BlockPlace.h"

namespace skewer::gpu {

class Masks {
public:
  Masks(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place);

  /// Returns whether a mask hides pairs of existing queries and keys.
  bool hideSome() const { return listed || low || high || !shape.attention.masks.empty(); }
  /// Returns the block's first step and the end of its steps. Steps are tiles of keys that some query of the block
  /// sees. If a mask that is known at compile time leaves tiles that are no interval, a table lists them.
  std::pair<Value, Value> steps();
  /// Returns the first key of a step's tile; behind the last step there is no key.
  Value firstKeyOf(Value step);
  /// Returns whether a mask may hide some pair of the step's tile (i1, the same in all threads of the block); null
  /// without masks.
  Value crosses(Value step, Value firstKey);
  /// Returns a bit (in words of i32) for each of the thread's scores: 1 if the masks show it. Empty if all masks are
  /// intervals.
  llvm::SmallVector<Value> seenBits(Value firstKey, Value crossed);
  /// Sets scores of hidden keys to -infinity, or direct weights to -0. `crossed` and `bits`: results of the two
  /// functions above.
  void hide(Tiles &scores, Value firstKey, Value crossed, llvm::ArrayRef<Value> bits);

private:
  /// The tiles of keys that each block of queries meets, one block after another.
  struct Listed {
    std::vector<int64_t> begins; // for each block, its first place in `tiles`; then the end of the last block
    std::vector<int64_t> tiles;  // 2 × the tile's number, plus 1 if its pairs are checked one by one
    bool saysAll = true;         // no other mask needs a check
  };
  /// Returns how many steps have the keys of one tile of which parts of the keys consist; also of a tile that is
  /// listed.
  int64_t together() const { return shape.tile.partKeys ? shape.tile.partKeys / shape.tile.keys : 1; }
  std::optional<Listed> listTiles() const;
  std::pair<Value, Value> stepsOfAll();
  std::pair<Value, Value> ofPart(Value first, Value end);
  Value entryOf(Value step);
  llvm::SmallVector<Value> askedBits(Value firstKey);
  /// Returns whether the last tile may hold keys that do not exist.
  bool isRagged() const {
    return shape.attention.bounds.keyLength || shape.attention.keys % (shape.tile.keys * together()) != 0;
  }
  /// Returns whether the query of one of the thread's scores sees its key (i1).
  Value isSeen(const HeldNumber &, Value firstKey);

  GpuBuilder &b;
  const GpuAttention &shape;
  Operands &operands;
  const BlockPlace &place;
  std::optional<Listed> listed;
  Value endOfSteps; // i32; null unless tiles are listed or blocks have parts of the keys
  Value low, high;  // bounds of the visible key - query, i32; null where the interval is open
};

} // namespace skewer::gpu
