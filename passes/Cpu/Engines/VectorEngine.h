// The base class of engines whose sums stay in vector registers: steps of rows are broadcast from memory and multiplied
// with vectors of columns. The engines differ in what a step holds.
#pragma once
#include "passes/Cpu/Engine.h"

namespace skewer {

class VectorEngine : public CpuEngine {
public:
  using CpuEngine::CpuEngine;
  void packPanel(VectorBuilder &, const PanelSource &, const PanelTarget &, mlir::Value panel) const override;
  void packRow(VectorBuilder &, const RowSource &, mlir::Value target, mlir::Value to) const override;
  llvm::SmallVector<mlir::Value> multiply(VectorBuilder &, const TileProduct &, const HeldSums &) const override;

  /// Returns a vector of steps: the first `count` elements of memory from `at` on, times the factor, and 0 behind them.
  virtual mlir::Value loadSteps(VectorBuilder &, mlir::Value memory, mlir::Value at, int64_t count,
                                double factor) const = 0;
  /// Returns `sum` + the products of the steps of two vectors.
  virtual mlir::Value addProducts(VectorBuilder &, mlir::Value x, mlir::Value y, mlir::Value sum) const = 0;

protected:
  /// Returns one step of a row.
  virtual mlir::Value loadStep(VectorBuilder &, const RowSource &, mlir::Value step) const = 0;
  /// Returns steps, a vector of them or one, in the form that they have in a packed row.
  virtual mlir::Value stepsOfRow(VectorBuilder &, mlir::Value steps) const { return steps; }
  /// Returns `sums` + the products of the next `steps` steps of the operands, for a part of a tile. The operands begin
  /// at the part's first row and panel, and at the first of these steps.
  llvm::SmallVector<mlir::Value> addTurn(VectorBuilder &, const TilePart &, const ProductOperand &rows,
                                         const ProductOperand &panels, int64_t steps,
                                         llvm::SmallVector<mlir::Value> sums) const;
  /// Returns `sums` + the products of `steps` steps from `first` on, for a part of a tile.
  llvm::SmallVector<mlir::Value> addSteps(VectorBuilder &, const TileProduct &, const TilePart &, mlir::Value first,
                                          int64_t steps, llvm::SmallVector<mlir::Value> sums) const;
};

/// Returns the engine of widestVectorsFor.
const VectorEngine &widestEngineFor(ElementType element, const Target &);

/// Returns the first `count` elements of a vector in memory as a vector of steps; the others are 0 and are not read.
mlir::Value loadAsSteps(VectorBuilder &, mlir::VectorType, mlir::Value memory, mlir::Value at, int64_t count);

} // namespace skewer
