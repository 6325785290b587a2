// Finds which elements of a tensor are used. The other elements may have any value. The language's check of subscripts
// asks this.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer::attn {

/// Follows tensors to the softmaxes and guards that drop some of their elements. One object serves one function while
/// nothing in the function changes.
class SeenElements {
public:
  /// Returns a predicate of the tensor's indices d0, d1, … that holds wherever some use reads the element (and perhaps
  /// elsewhere); nothing if every element may be used. If a tensor is repeated, along the heads of a score or between
  /// the queries of a row, the predicate leaves out the mask's conditions on the repetitions.
  std::optional<subscript::Expr> of(mlir::Value);

private:
  using Predicate = std::optional<subscript::Expr>;
  Predicate throughUse(mlir::OpOperand &);
  Predicate throughRows(mlir::OpOperand &, const RowReduction &);
  Predicate throughAxes(mlir::Operation *, const ResolvedEinsum &, unsigned operand);
  Predicate throughMap(mlir::OpOperand &);

  llvm::DenseMap<mlir::Value, Predicate> known;
};

/// Returns the indices that the element d0, d1, … of a tensor has after a reshape, as functions of d0, d1, ….
std::vector<subscript::Expr> reshapedIndices(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

} // namespace skewer::attn
