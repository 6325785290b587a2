// The base class of engines for i8: a step is four elements as they are in memory. vpdpbusd adds the products of the
// four elements of each lane, of numbers from 0 to 255 and numbers from -128 to 127, to an integer of 32 bits. The
// first factor is a query with 128 added to each element, so that 128 times the sum of the key is subtracted. A panel
// holds that number for each of its columns in the line behind its last step. Sums wrap around, so that they are exact
// if the result fits 32 bits (contentEngineFor).
#pragma once
#include "passes/Cpu/Engines/VectorEngine.h"

namespace skewer {

class ByteQuads : public VectorEngine {
public:
  using VectorEngine::VectorEngine;
  bool packsFloats() const override { return false; }
  mlir::Value loadSteps(VectorBuilder &, mlir::Value memory, mlir::Value at, int64_t count, double) const override;
  /// Adds the products of steps with 128 added to each element of `x`.
  mlir::Value addProducts(VectorBuilder &, mlir::Value x, mlir::Value y, mlir::Value sum) const override;
  void packPanel(VectorBuilder &, const PanelSource &, const PanelTarget &, mlir::Value panel) const override;
  llvm::SmallVector<mlir::Value> multiply(VectorBuilder &, const TileProduct &, const HeldSums &) const override;
  void multiplyInto(VectorBuilder &, const TileProduct &, const ProductOperand &target) const override;
  mlir::Value numbersOf(VectorBuilder &, mlir::Value stored) const override;

protected:
  /// Returns the elements 4·step to 4·step + 3; behind the last element of a row is 0.
  mlir::Value loadStep(VectorBuilder &, const RowSource &, mlir::Value step) const override;
  /// Returns steps, a vector of them or one, with 128 added to each element.
  static mlir::Value raised(VectorBuilder &, mlir::Value steps);

private:
  llvm::SmallVector<mlir::Value> integerSums(VectorBuilder &, const TileProduct &) const;
};

} // namespace skewer
