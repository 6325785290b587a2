// The skeleton of a fused attention on a processor: its phases, heads, row blocks, key blocks and register tiles.
// CpuStages (CpuStages.h) makes one kernel for each schedule of an attention and calls `emit`. The skeleton knows no
// terms: at each of these points it calls the strategies (Strategy.h), which emit the code of the terms.
//
// One work item is a run of query rows of one leading index (batch, head). It packs the keys of that head once, then
// goes through blocks of `rowBlock` rows × `keyBlock` keys. Each step has an object that holds what it needs:
//
//   ContentProducts  the packed queries and keys, and their products, by an engine (Engine.h)
//   BiasLines        rows × keys, if some strategy needs them
//   ScoreTiles       the content, plus what strategies add, then the mask (HiddenKeys)
//   RowSoftmax       running maximum, exponentials, sums
//   ValueSums        weights × values (HeadValues), or PackedWeights, if an engine multiplies them
//   ResultRows       the rows, divided by the sums
//
// No buffer grows with queries × keys. Sources: Dao 2022 (arXiv:2205.14135) for the online softmax; Huang 2018
// (arXiv:1809.04281) section 3.4.1 for the skew that the start address of a load replaces.
#pragma once
#include "passes/Cpu/KeyParts.h"
#include "passes/Cpu/PackedWeights.h"
#include "passes/Cpu/ResultRows.h"
#include "passes/Cpu/ScoreTiles.h"
#include "passes/Cpu/ValueSums.h"
#include "passes/Cpu/WorkItems.h"

namespace skewer {

class CpuKernel {
public:
  CpuKernel(VectorBuilder &, const AttentionShape &, AttentionStage);
  ~CpuKernel();

  /// Adds the phase functions to the module and to the plan's phases: `NAME_pack` (only if some strategy packs),
  /// `NAME_attend` and `NAME_join` (only if items have parts of the keys). The `leading`, `open` and `computeRow` of
  /// the stage must be set before.
  void emit(mlir::ModuleOp, KernelPlan &);

  /// Returns the numbers of the operands that alone determine what `NAME_pack` leaves in the shared workspace; nothing
  /// if it may depend on anything else.
  std::optional<llvm::SmallVector<unsigned>> packedArguments() const;

  KernelContext context;
  Layout layout;
  PanelPacker packer;
  ContentProducts content;
  BiasLines lines;
  HiddenKeys hidden;
  RowSoftmax softmax;
  HeadValues values;
  KeyParts parts;

private:
  // Phases (CpuKernel.cpp).
  void plan();
  void open(const PhaseFunction &);
  void openBuffers(const PhaseFunction &, const KernelPlan &);
  mlir::Value endOfPhase(const PhaseFunction &);
  SizeExpression itemsOfHeads(int64_t each) const;
  void emitPack(mlir::ModuleOp, KernelPlan &);
  void emitAttend(mlir::ModuleOp, KernelPlan &);
  void emitJoin(mlir::ModuleOp, KernelPlan &);
  void beginHead(mlir::Value packs, mlir::Value prepares);
  void attend(const WorkItem &);
  void attendRows(mlir::Value chunk);
  void attendPhase(mlir::Value phase, mlir::Value changes);

  // Blocks (Blocks.cpp).
  void computeRowBlock(mlir::Value firstRow, mlir::Value rows);
  void beginRows(const RowBlock &);
  void restartRows(const RowBlock &);
  void weighInRange(RowBlock &, const std::function<void()> &weighKeys);
  void computeKeyBlock(const RowBlock &, mlir::Value firstVector, mlir::Value endVector);
  void meetKeys(const KeyBlock &);
  void weighValues(const KeyBlock &);
  void weighGroup(const KeyBlock &, mlir::Value group, const KeyRange &keys,
                  llvm::function_ref<void(const WeightedRows &, VectorRuns)> addValues);
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> runsOf(const KeyBlock &, const KeyRange &keys);
  void weighPacked(const KeyBlock &);
  void weighOrPack(const KeyBlock &, mlir::Value group, const KeyRange &keys, const KeyRange &all);
  void weighTogether(const KeyBlock &, mlir::Value firstGroup, const KeyRange &keys);

  VectorBuilder &b;
  const AttentionShape &shape;
  const Geometry &g;
  UpcomingHead upcoming;
  ValueSums sums;
  PackedWeights packedWeights;
  StoredWeights weights;
  StreamedResult stream;
  ResultRows result;
  CpuStrategies strategies;
  ScoreTiles tiles;
  WorkItems items;
};

} // namespace skewer
