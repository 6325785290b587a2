// The scores of a block of rows and keys, a register tile at a time: the matmul of the content, the terms that are
// added to it, the function of the scores, then the mask.
#pragma once
#include "passes/Cpu/BiasLines.h"
#include "passes/Cpu/ContentProducts.h"
#include "passes/Cpu/HiddenKeys.h"
#include "passes/Cpu/RowSoftmax.h"

namespace skewer {

class ScoreTiles : KernelPart {
public:
  ScoreTiles(KernelContext &context, ContentProducts &content, BiasLines &lines, HiddenKeys &hidden,
             RowSoftmax &softmax, const CpuStrategies &strategies)
      : KernelPart(context), content(content), lines(lines), hidden(hidden), softmax(softmax), strategies(strategies) {}
  void plan(Layout &layout) { layout.reserve(scores, g.rowBlock * g.scoreStride, Layout::Zone::Block); }
  void open() { memory.scores = context.view(scores); }
  /// Computes the scores of a block, whose vectors of keys are those from `firstVector` on, before `endVector`.
  void compute(const KeyBlock &, mlir::Value firstVector, mlir::Value endVector);
  /// Returns the scores of a row for some vectors of keys, from those that are stored; with the terms that are added by
  /// rows (Weighing::termsByRows).
  llvm::SmallVector<mlir::Value> scoresOfRow(const KeyBlock &, mlir::Value row, mlir::Value vector, int64_t count);
  /// Adds these terms to the stored scores of a group of rows.
  void addTermsByRows(const KeyBlock &, mlir::Value group, VectorRuns);

private:
  /// A place for tiles: some vectors of keys, for each group of rows.
  struct Column {
    mlir::Value vector;
    int64_t vectors;
    bool last; // the last vector may have lanes behind the last key
  };
  void forLiveGroups(const KeyBlock &, const Column &, llvm::function_ref<void(mlir::Value group)> tile);
  void computeColumn(const KeyBlock &, mlir::Value firstVector, const Column &);
  void computeLiveColumn(const KeyBlock &, const Column &);
  mlir::Value isLive(mlir::Value vector, int64_t vectors);
  void computeKnownTile(const KeyBlock &, const Column &, mlir::Value group);
  void computeTile(const KeyBlock &, const Column &, mlir::Value group, mlir::Value state);
  void leaveChunk(const KeyBlock &, const Column &, mlir::Value group, int64_t first);
  void multiplyColumn(const KeyBlock &, const Column &);
  void multiplyAhead(const KeyBlock &, mlir::Value firstVector, mlir::Value endVector);
  ScoreTile tileAt(const KeyBlock &, const Column &, mlir::Value group, llvm::SmallVectorImpl<mlir::Value> &sums,
                   llvm::SmallVectorImpl<mlir::Value> &places);
  ProductsOfSteps ownProducts(const ScoreTile &);
  bool mayHide() const;
  void addTerms(ScoreTile &, uint64_t sum);
  void applyFunction(ScoreTile &, llvm::ArrayRef<mlir::Value> places);
  void applyInPlace(ScoreTile &, llvm::ArrayRef<mlir::Value> places);
  mlir::Value through(llvm::ArrayRef<mlir::Value> sums);

  ContentProducts &content;
  BiasLines &lines;
  HiddenKeys &hidden;
  RowSoftmax &softmax;
  const CpuStrategies &strategies;
  Buffer scores;
};

} // namespace skewer
