// The pipeline by cp.async: each thread copies 16 bytes at a time. It counts its groups of copies and synchronises the
// block by barriers. It converts rows of 8 bits by 16 bytes of the tile at a time, and copies rows that do not consist
// of whole chunks of 16 bytes element by element.
#pragma once
#include "passes/Gpu/Memory.h"
#include "passes/Gpu/Pipeline.h"

namespace skewer::gpu {

/// The threads that fill tiles and wait for each other.
struct TileUsers {
  int64_t threads = 0;
  int64_t barrier = 0;             // its number in the block; 0: all threads of the block wait
  bool readAsynchronously = false; // by wgmma, past the order of the threads' own accesses
};

class AsyncCopies : public Pipeline {
public:
  /// `at`: the place of a thread among these threads. `element`: element type of the tiles.
  AsyncCopies(GpuBuilder &b, const BlockMemory &shared, const ThreadPlace &at, Type element, TileUsers users,
              int64_t stages)
      : Pipeline(b, stages), shared(shared), at(at), element(element), users(users) {}

  void fill(const SharedTile &, const RowSource &, RowMap, Value copy = {}) override;
  void fillRun(const SharedTile &, const RowSource &from, const RowSource &run, Value first, Value isRun, RowMap,
               Value copy = {}) override;
  void commit() override;
  void full() override;
  void allFull() override;
  void empty() override;
  void drain() override;
  void holdConverted() override;
  void settle() override;
  void meet() override;

protected:
  const BlockMemory &shared;

private:
  /// 16 bytes of a tile that a thread makes of numbers of 8 bits.
  struct Conversion {
    Value bytes, scale, target; // `scale` may be null
    Value isOwn;                // whether the thread has it (i1); null: every thread has
    Type from;
    bool byInstruction;
  };
  void convert(const Conversion &);
  using RowPlace = llvm::function_ref<std::pair<Value, Value>(Value row)>;
  void publish();
  int64_t rowsApart(const SharedTile &) const;
  void fillWhole(const SharedTile &, const RowSource &, Value first, Value copy);
  void fillByChunks(const SharedTile &, const RowSource &, RowPlace, Value copy);
  void fillByWidening(const SharedTile &, const RowSource &, RowPlace, Value copy);
  void fillByElements(const SharedTile &, const RowSource &, RowPlace, Value copy);

  const ThreadPlace &at;
  Type element;
  TileUsers users;
  mlir::Block *holding = nullptr; // where conversions may wait for `settle`
  std::vector<Conversion> held;
};

} // namespace skewer::gpu
