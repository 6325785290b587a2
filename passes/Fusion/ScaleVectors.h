// Moves factors and divisors of a contraction to the vectors that it contracts.
#pragma once
#include "mlir/IR/Builders.h"
#include "passes/Fusion/Summands.h"

namespace skewer {

/// Rewrites g[h]·Σ_d q[h,i,d]·k[h,j,d] / (n[h,i]·m[h,j]) as Σ_d (q·g/n)[h,i,d]·(k/m)[h,j,d]: one multiplication per
/// vector instead of one per query and key. Such factors are the norms of cosines, gates, and the per-head scales of a
/// normalisation.
class VectorScaling {
public:
  /// Creates tensors at the insertion point of `builder`. `sizes` are the sizes of `leading`, "i" and "j". Equal
  /// tensors are created once.
  VectorScaling(mlir::OpBuilder &builder, const subscript::AxisSizes &sizes, const std::vector<std::string> &leading)
      : builder(builder), sizes(sizes), leading(leading) {}
  /// Moves the factors. Afterwards the summand contracts two operands, or has no contraction, and divides by nothing.
  /// Returns false, and changes nothing, if a factor depends on both query and key, or on an axis that indexes neither
  /// vector.
  bool move(Summand &);

private:
  struct Made {
    std::vector<Factor> factors;
    mlir::Value tensor;
  };
  bool moveScales(Summand &, bool offKeys);
  bool takeScaleOff(Factor &vector, const subscript::Domain &, std::vector<Factor> &scales) const;
  std::optional<Factor> scaledVector(const std::vector<Factor> &, const subscript::Domain &, const Summand &);
  mlir::Value product(const std::vector<Factor> &, const std::vector<std::string> &axes, const Summand &);

  mlir::OpBuilder &builder;
  const subscript::AxisSizes &sizes;
  const std::vector<std::string> &leading;
  std::vector<Made> made;
};

} // namespace skewer
