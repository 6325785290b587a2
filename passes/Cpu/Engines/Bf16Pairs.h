// The base class of engines for bf16: a step is a pair of elements as they are in memory, or rounded from f32.
// vdpbf16ps adds the products of the pairs of each lane. The products are exact in f32; each addition rounds to
// nearest, and denormal numbers count as 0.
#pragma once
#include "passes/Cpu/Engines/VectorEngine.h"

namespace skewer {

/// Returns pairs of bf16, rounded to nearest, ties to even: a vector of steps with the numbers of `first`, then those
/// of `second`. Denormal numbers become 0, as they do in the products.
mlir::Value roundedPairs(VectorBuilder &, mlir::Value first, mlir::Value second);

class Bf16Pairs : public VectorEngine {
public:
  using VectorEngine::VectorEngine;
  bool packsFloats() const override { return false; }
  mlir::Value loadSteps(VectorBuilder &, mlir::Value memory, mlir::Value at, int64_t count, double) const override;
  mlir::Value addProducts(VectorBuilder &, mlir::Value x, mlir::Value y, mlir::Value sum) const override;

protected:
  /// Returns the elements 2·step and 2·step + 1; behind the last element of a row is 0.
  mlir::Value loadStep(VectorBuilder &, const RowSource &, mlir::Value step) const override;
};

} // namespace skewer
