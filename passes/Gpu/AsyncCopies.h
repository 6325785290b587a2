// A pipeline by cp.async, 16 bytes a thread, whose groups of copies are counted; a block's barriers say who is done.
// What does not lie in whole chunks of 16 bytes is copied element by element.
#pragma once
#include "passes/Gpu/Pipeline.h"

namespace skewer::gpu {

class AsyncCopies : public Pipeline {
public:
  /// `threads` of a block fill. `element`: what the tiles hold.
  AsyncCopies(GpuBuilder &b, const ThreadPlace &at, Type element, int64_t threads, int64_t stages)
      : Pipeline(b, stages), at(at), element(element), threads(threads) {}

  void fill(const SharedTile &, const RowSource &, RowMap, Value copy = {}) override;
  void commit() override { b.commitCopies(); }
  void full() override;
  void allFull() override;
  void empty() override { b.barrier(); }
  void drain() override { b.waitForCopies(0); }

private:
  using RowPlace = llvm::function_ref<std::pair<Value, Value>(Value row)>;
  void fillByChunks(const SharedTile &, const RowSource &, RowPlace, Value copy);
  void fillByElements(const SharedTile &, const RowSource &, RowPlace, Value copy);

  const ThreadPlace &at;
  Type element;
  int64_t threads;
};

} // namespace skewer::gpu
