// Decides whether a mask may be assumed when the rest of the layer is simplified.
#pragma once
#include "dialect/Subscript/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace skewer {

/// An attribute of a function: lengths decide its masks, or what its masks may simplify. It is set on a layer that is
/// compared with itself at other lengths. At one pair of lengths `j <= i + M - N` may imply that keys stand before
/// queries, but not at all lengths.
constexpr llvm::StringLiteral kVaryingMasks = "attn.varying_masks";

/// Returns the mask if it may simplify the rest of the layer; nothing if the mask varies.
inline std::optional<subscript::Expr> assumable(const std::optional<subscript::Expr> &mask, mlir::Operation *within) {
  return within->getParentOfType<mlir::func::FuncOp>()->hasAttr(kVaryingMasks) ? std::nullopt : mask;
}

/// Returns whether a layer, given at several lengths before fusion, needs that attribute: whether a mask, a guard, or a
/// minimum, comparison or quotient in another text is not the same at all of them. Sums of positions and lengths do not
/// matter, because no mask simplifies them.
bool decideByLengths(llvm::ArrayRef<mlir::func::FuncOp> layers);

} // namespace skewer
