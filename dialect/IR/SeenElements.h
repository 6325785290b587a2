// Which elements of a tensor anybody sees: the others may be anything.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer::attn {

/// Follows tensors to the softmaxes and guards behind which their elements disappear. One object serves one function,
/// as long as nothing in it changes.
class SeenElements {
public:
  /// A predicate of the tensor's indices d0, d1, … that holds wherever some use sees the element (and perhaps
  /// elsewhere); nothing where that may be everywhere. Where a tensor is repeated, along the heads of a score or
  /// between the queries of a row, what the mask says of the repetitions is left out.
  std::optional<subscript::Expr> of(mlir::Value);

private:
  using Predicate = std::optional<subscript::Expr>;
  Predicate throughUse(mlir::OpOperand &);
  Predicate throughRows(mlir::OpOperand &, const RowReduction &);
  Predicate throughAxes(mlir::Operation *, const ResolvedEinsum &, unsigned operand);
  Predicate throughMap(mlir::OpOperand &);

  llvm::DenseMap<mlir::Value, Predicate> known;
};

/// Where the element d0, d1, … of a tensor stands after it was reshaped: its indices there, as functions of those.
std::vector<subscript::Expr> reshapedIndices(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

} // namespace skewer::attn
