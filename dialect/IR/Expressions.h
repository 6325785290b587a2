// The index expressions in an operation's texts, each with the box of its positions. The language's check of subscripts
// uses them.
#pragma once
#include "dialect/IR/Attn.h"
#include "dialect/Subscript/Checks.h"

namespace skewer::attn {

/// Calls `visit` with every subscript and guard of an einsum, the mask of a softmax or a logsumexp and the expression
/// of a position. `visit` also gets the domain (of the positions and of run-time operands) and the condition `where`
/// that holds wherever the expression matters.
void visitExpressions(mlir::Operation *, llvm::function_ref<void(const subscript::Expr &, const subscript::Domain &,
                                                                 const std::optional<subscript::Expr> &where)>
                                             visit);

/// Returns the first constant table in those expressions whose index may be outside the table.
std::optional<subscript::TableOutside> findTableOutside(mlir::Operation *);

} // namespace skewer::attn
