// Changes the axes of an attention. A pass that divides, merges or renames axes says which axes change and how;
// `reindex` rewrites every text, operand and result of the attention.
#pragma once
#include "dialect/IR/Term.h"
#include "mlir/IR/Builders.h"

namespace skewer {

/// A change of the axes of an attention.
struct Reindexing {
  attn::ScoreSpace space;             // after the change
  subscript::Expr mask = 1;           // after the change
  subscript::Substitution moved = {}; // the old axes that change, as functions of the new axes
  /// The new axes that replace an old axis in a dimension of the result.
  std::map<std::string, std::vector<std::string>> names = {};

  /// Set if a key of the new space may lie outside the old one: where it lies inside. Operands are read as 0 outside.
  std::optional<subscript::Expr> keyExists = std::nullopt;
  /// An old query axis with more queries than before. The additional queries are read as 0, and their results are cut
  /// off.
  struct Longer {
    subscript::Expr exists; // where a new query is one of the old ones
    int64_t size;           // with the additional queries
  };
  std::map<std::string, Longer> longer = {};

  /// The old axes that become one axis, by its name. If this has entries, operands are read by single axes and by index
  /// expressions, without products of axes.
  std::map<std::string, std::vector<std::string>> merged = {};

  /// Adds a leading axis and returns its name, which no axis of the attention has.
  std::string addLeading(const attn::AttentionView &, int64_t size);
};

/// Changes the axes of the attention. Returns false, and changes nothing, if an operand cannot be read by the new axes
/// or if the mask hides everything.
bool reindex(attn::AttentionOp, const Reindexing &);

/// The dimensions of a view: the leading axes that the operand's subscripts use, the product of `positions`, then each
/// axis of `rest`.
struct ViewAxes {
  const std::vector<std::string> &leading, &positions, &rest;
  const subscript::AxisSizes &sizes; // of these axes
};
/// Creates a view of the operand, which it reads at `subscripts`; it is 0 where `guard` does not hold. Sets `result` to
/// the view's dimensions. Returns null if the operand is not provably read inside its bounds.
mlir::Value createView(mlir::OpBuilder &, mlir::Location, mlir::Value operand,
                       llvm::ArrayRef<subscript::Expr> subscripts, const ViewAxes &,
                       const std::optional<subscript::Expr> &guard, subscript::Dimensions &result);

/// Creates a copy of the tensor, with one of its dimensions, if one is given, behind all others.
mlir::Value moveToEnd(mlir::OpBuilder &, mlir::Location, mlir::Value tensor,
                      std::optional<size_t> dimension = std::nullopt);

/// Replaces axes in products. An axis without an entry stays.
subscript::Dimensions replaceAxes(subscript::Dimensions,
                                  const std::map<std::string, std::vector<std::string>> &replacements);

} // namespace skewer
