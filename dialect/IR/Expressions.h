// The index expressions that an operation's texts hold, each with the box of its positions.
#pragma once
#include "dialect/IR/Attn.h"
#include "dialect/Subscript/Checks.h"

namespace skewer::attn {

/// Calls `visit` with every subscript and guard of an einsum, the mask of a softmax or a logsumexp and the expression
/// of a position, with the domain of its positions and of run-time operands, and with what holds wherever it matters.
void visitExpressions(mlir::Operation *, llvm::function_ref<void(const subscript::Expr &, const subscript::Domain &,
                                                                 const std::optional<subscript::Expr> &where)>
                                             visit);

/// The first constant table of those expressions that an index leaves.
std::optional<subscript::TableOutside> findTableOutside(mlir::Operation *);

} // namespace skewer::attn
