// What a mask may be taken to say of the positions that it leaves.
#pragma once
#include "dialect/Subscript/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace skewer {

/// Of a function: its masks are others at other lengths. Of a layer that is compared with itself there: what follows
/// from `j <= i + M - N` at one pair of lengths, that keys stand before queries, is not so at all of them.
constexpr llvm::StringLiteral kVaryingMasks = "attn.varying_masks";

/// The mask, where the rest of the layer may be simplified by it; nothing where it varies.
inline std::optional<subscript::Expr> assumable(const std::optional<subscript::Expr> &mask, mlir::Operation *within) {
  return within->getParentOfType<mlir::func::FuncOp>()->hasAttr(kVaryingMasks) ? std::nullopt : mask;
}

} // namespace skewer
