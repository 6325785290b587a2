// What the elements of a computed tensor depend on: whether a table over offsets can stand for it.
#pragma once
#include "dialect/IR/Attn.h"
#include <vector>

namespace skewer {

/// Everything that an element of a tensor depends on: the indices at which tensors in memory are read, positions and
/// guards. False where it is not computed on the way from such reads, or reads so many that a table would cost more.
class Dependences {
public:
  explicit Dependences(const subscript::Domain &domain) : domain(domain) {}
  bool collect(mlir::Value tensor, const std::vector<subscript::Expr> &at);
  std::vector<subscript::Expr> expressions;
  std::vector<mlir::Operation *> computed; // whose result is not needed once all is tabulated

private:
  bool collectMoved(mlir::ValueRange operands, llvm::ArrayRef<std::vector<subscript::Expr>> subscripts,
                    const subscript::Substitution &);
  // A sum that is read several times is looked at as often; a bucket function of published code is 30 operations.
  static constexpr unsigned kMostVisits = 1024;
  unsigned visits = 0;
  const subscript::Domain &domain;
};

} // namespace skewer
