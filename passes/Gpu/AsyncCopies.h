// The pipeline by cp.async: each thread copies 16 bytes at a time. It counts its groups of copies and synchronises the
// block by barriers. It copies rows that do not consist of whole chunks of 16 bytes element by element.
#pragma once
#include "passes/Gpu/Memory.h"
#include "passes/Gpu/Pipeline.h"

namespace skewer::gpu {

class AsyncCopies : public Pipeline {
public:
  /// `threads`: threads of a block that fill tiles. `element`: element type of the tiles.
  AsyncCopies(GpuBuilder &b, const BlockMemory &shared, const ThreadPlace &at, Type element, int64_t threads,
              int64_t stages)
      : Pipeline(b, stages), shared(shared), at(at), element(element), threads(threads) {}

  void fill(const SharedTile &, const RowSource &, RowMap, Value copy = {}) override;
  void commit() override;
  void full() override;
  void allFull() override;
  void empty() override;
  void drain() override;

private:
  using RowPlace = llvm::function_ref<std::pair<Value, Value>(Value row)>;
  void fillByChunks(const SharedTile &, const RowSource &, RowPlace, Value copy);
  void fillByElements(const SharedTile &, const RowSource &, RowPlace, Value copy);

  const BlockMemory &shared;
  const ThreadPlace &at;
  Type element;
  int64_t threads;
};

} // namespace skewer::gpu
