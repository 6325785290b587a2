// Packs weights and values as pairs of bf16, those of two adjacent keys, for engines that multiply pairs.
#pragma once
#include "passes/Cpu/Engine.h"

namespace skewer {

class Bf16Weights : public WeightEngine {
public:
  mlir::Value packWeights(VectorBuilder &, llvm::ArrayRef<mlir::Value> weights) const override;
  mlir::Value packValues(VectorBuilder &, mlir::Value memory, llvm::ArrayRef<mlir::Value> places,
                         int64_t count) const override;
  mlir::Value keepExisting(VectorBuilder &, mlir::Value step, llvm::ArrayRef<mlir::Value> exists) const override;
  bool makesPowers(const VectorBuilder &, const Target &) const override;
  mlir::Value elementOfStep(VectorBuilder &, mlir::Value step, bool ofPowers) const override;
  PowerScale powerScale() const override;
  mlir::Value maskOfPowers(VectorBuilder &) const override;
  PackedPowers packPowers(VectorBuilder &, mlir::Value mask, llvm::ArrayRef<mlir::Value> numbers,
                          mlir::Value total) const override;

protected:
  /// Returns `total` with the weights of a vector of steps, by integers and additions.
  virtual mlir::Value addWeights(VectorBuilder &, mlir::Value total, mlir::Value steps) const;
};

} // namespace skewer
