// The texts of operations that name axes. A pass that gives axes other names, or reads them at other positions, need
// not know which texts an operation has.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer::attn {

/// A change of the texts of an operation: a function for each kind of text.
struct TextRewrite {
  /// Rewrites a list of dimensions: an operand or the result of an einsum, a softmax's axes, an attention's space.
  llvm::function_ref<subscript::Dimensions(subscript::Dimensions)> dimensions;
  /// Rewrites a function of positions: a mask, a guard, a factor, an argument of a function.
  llvm::function_ref<subscript::Expr(const subscript::Expr &)> expression;
};
/// Rewrites every text of an operation of the dialect. The texts of a verified operation parse; a text that does not
/// parse stays.
void rewriteTexts(mlir::Operation *, const TextRewrite &);

/// New names of axes, by the old ones. An axis without a new name keeps its own.
using AxisRenaming = std::map<std::string, std::string>;
subscript::Expr renamed(const subscript::Expr &, const AxisRenaming &);
subscript::Dimensions renamed(subscript::Dimensions, const AxisRenaming &);
/// Renames the axes in every text and in the sizes of an operation of the dialect.
void renameAxes(mlir::Operation *, const AxisRenaming &);

} // namespace skewer::attn
