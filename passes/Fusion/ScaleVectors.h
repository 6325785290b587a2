// What multiplies or divides a contraction, moved to the vectors that it contracts.
#pragma once
#include "mlir/IR/Builders.h"
#include "passes/Fusion/Summands.h"

namespace skewer {

/// g[h]·Σ_d q[h,i,d]·k[h,j,d] / (n[h,i]·m[h,j]) is Σ_d (q·g/n)[h,i,d]·(k/m)[h,j,d]: one product for each vector instead
/// of one for each query and key. Norms of cosines, gates, a normalisation's scales of heads.
class VectorScaling {
public:
  /// Tensors are made at the builder's place. `sizes`: of `leading`, "i" and "j"; equal tensors are made once.
  VectorScaling(mlir::OpBuilder &builder, const subscript::AxisSizes &sizes, const std::vector<std::string> &leading)
      : builder(builder), sizes(sizes), leading(leading) {}
  /// After it the summand is a contraction of two operands, or has no contraction, and divides by nothing. False, and
  /// nothing is changed, where a factor depends on query and key, or on what neither vector is read by.
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
