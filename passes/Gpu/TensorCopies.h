// The copies of producers: regular rows as boxes of tensors (TMA), all other rows by cp.async. One lane asks for the
// boxes of a step, and their bytes count at the barrier that says when the tiles are full.
#pragma once
#include "passes/Gpu/AsyncCopies.h"

namespace skewer::gpu {

class TensorCopies : public AsyncCopies {
public:
  /// `boxes`: the tiles that are copied as boxes; `maps`: the address of a tensor map for each of them.
  TensorCopies(GpuBuilder &b, const BlockMemory &shared, const ThreadPlace &at, Type element, TileUsers users,
               int64_t stages, llvm::ArrayRef<TensorBox> boxes, ValueRange maps)
      : AsyncCopies(b, shared, at, element, users, stages), boxes(boxes), maps(maps) {}

  /// Notes the boxes of a tile, which has rows that follow each other from `first` on, and zeros where there are none;
  /// or starts to copy its rows by cp.async.
  void fillRun(const SharedTile &, const RowSource &from, const RowSource &run, Value first, Value isRun, RowMap,
               Value copy = {}) override;
  /// Asks for the boxes that have been noted. All lanes of one warp call it, and one of them asks. It says first at the
  /// mbarrier `full` how many bytes will come.
  void askForBoxes(Value full);

private:
  /// The boxes of a tile that have been noted.
  struct Noted {
    const TensorBox *of;
    Value map, row, place, copy; // i32 but the map
  };
  void ask(const Noted &, Value full);

  llvm::ArrayRef<TensorBox> boxes;
  ValueRange maps;
  std::vector<Noted> noted;
};

} // namespace skewer::gpu
