// The numbers that the sums of an engine are multiplied with where these are integers: one for each query, which has
// the scale of the scores, and one for each key. Rows as they are in memory have none.
#pragma once
#include "passes/Cpu/KernelContext.h"
#include "passes/Cpu/Layout.h"

namespace skewer {

class RowScales : KernelPart {
public:
  /// `exist`: the engine of the content sums integers, so that it has a single term.
  RowScales(KernelContext &, bool exist);
  bool exist() const { return term; }
  void plan(Layout &);
  void open();
  /// Stores the numbers of the keys of these panels, and those of the queries of a block.
  void packKeys(const KeyRange &panels);
  void packQueries(const RowBlock &);
  /// Multiplies the sums of a tile with the numbers of its queries and keys.
  void apply(const ScoreTile &, llvm::MutableArrayRef<mlir::Value> sums);

private:
  bool hasAny(const Walk &walk) const { return term && context.stage.isScaled(walk.argument); }

  const ContentTerm *term = nullptr;
  Buffer keys, queries;
  mlir::Value keyMemory, queryMemory;
};

} // namespace skewer
