// The products of queries and keys, q_i · k_j: all content terms of an attention side by side along one depth, packed
// for an engine.
#pragma once
#include "passes/Cpu/PanelPacker.h"
#include "passes/Cpu/RowScales.h"

namespace skewer {

/// The parts of the packed content that a strategy reads. A strategy that reads `Queries` needs packed rows with the
/// scale. One that reads `KeyPanels` also needs every key in a panel, without the scale.
enum class ContentUse { None, Queries, KeyPanels };

class ContentProducts : KernelPart {
public:
  /// Chooses the engine, and sets the depth and the panels of the geometry.
  ContentProducts(KernelContext &, PanelPacker &);
  /// Reserves the buffers. `use`: the most that a strategy reads of them.
  void plan(Layout &, ContentUse use);
  void open();
  /// If heads take turns at a phase: begins the head of this turn, which has packed keys of its own.
  void enterTurn(mlir::Value turn);

  const CpuEngine &engine;
  /// Returns the factor of the sums of an engine that packs queries without their scale; 0 if each query or key has a
  /// factor of its own; else 1.
  double scaleOfSums() const;
  /// Returns the offset of a term in the packed depth. Terms with the same queries share an offset.
  int64_t offsetOf(unsigned term) const { return offsets[term]; }
  /// Returns whether another term has the offset of this one.
  bool isShared(unsigned term) const { return llvm::count(offsets, offsets[term]) > 1; }
  mlir::Value queries() const { return queryMemory; }
  mlir::Value keys() const { return keyMemory; }

  void packKeys();
  void packQueries(const RowBlock &);
  /// Returns the sums of a tile, whose scores will be at `places`. `own` are the products of a strategy; null: the
  /// engine multiplies rows of queries × panels of keys.
  llvm::SmallVector<mlir::Value> sumsOf(const ScoreTile &, llvm::ArrayRef<mlir::Value> places,
                                        const ProductsOfSteps &own);
  /// Returns whether `multiplyAhead` stores the sums of several groups of rows where their scores will be, before the
  /// tiles of these groups are computed.
  bool multipliesAhead() const;
  void multiplyAhead(const KeyBlock &, mlir::Value firstGroup, mlir::Value firstVector, mlir::Value endVector);
  /// Returns the steps of a chunk if all groups of rows compute a chunk of a panel's steps before the next chunk
  /// begins; else the whole depth. All chunks but the last are left where the scores will be.
  int64_t stepsOfPass() const;
  void leaveChunk(const ScoreTile &, llvm::ArrayRef<mlir::Value> places, int64_t first, const ProductsOfSteps &own);
  /// Returns how many keys of the last vector are multiplied as dot products, because they are few; else 0.
  int64_t dotKeys() const { return dots; }

private:
  static constexpr int64_t kInPlace = -1; // the offset of a term whose keys are in no panel
  bool isRepeated(unsigned term) const;   // an earlier term has packed its queries
  bool mayReadQueries() const;
  ProductOperand rowsFrom(mlir::Value row) const;
  Summation summation() const;
  TileProduct productOf(const TilePart &, mlir::Value row, mlir::Value vector) const;
  void packDotKeys(const ContentTerm &, double factor, int64_t depthOffset, bool accumulate);
  llvm::SmallVector<mlir::Value> addChunk(const TilePart &, int64_t first, int64_t steps,
                                          llvm::ArrayRef<mlir::Value> places, const ProductsOfSteps &);
  llvm::SmallVector<mlir::Value> dotsOf(const ScoreTile &);

  PanelPacker &packer;
  RowScales scales;
  std::vector<int64_t> offsets; // of each term
  int64_t dots = 0;
  bool readsQueries = false; // rows are multiplied where they are in memory, and the packed keys have the scale
  mlir::Value firstQuery;    // then, the place of the first row of the block
  Buffer keyPanels, dotRows, queryRows;
  mlir::Value keyMemory, dotMemory, queryMemory;
};

} // namespace skewer
