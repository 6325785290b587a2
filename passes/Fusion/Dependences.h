// Collects what the elements of a computed tensor depend on, to decide whether a table over offsets can replace the
// tensor.
#pragma once
#include "dialect/IR/Attn.h"
#include <vector>

namespace skewer {

/// Collects all that an element of a tensor depends on: the indices at which tensors in memory are read, positions and
/// guards. `collect` returns false if the element is not computed from such reads, or visits so many operations that a
/// table would cost more.
class Dependences {
public:
  explicit Dependences(const subscript::Domain &domain) : domain(domain) {}
  bool collect(mlir::Value tensor, const std::vector<subscript::Expr> &at);
  std::vector<subscript::Expr> expressions;
  std::vector<mlir::Operation *> computed; // operations whose results are not needed once all is tabulated

private:
  bool collectMoved(mlir::ValueRange operands, llvm::ArrayRef<std::vector<subscript::Expr>> subscripts,
                    const subscript::Substitution &);
  // A sum that is read several times is visited as often. A bucket function of published code has 30 operations.
  static constexpr unsigned kMostVisits = 1024;
  unsigned visits = 0;
  const subscript::Domain &domain;
};

} // namespace skewer
