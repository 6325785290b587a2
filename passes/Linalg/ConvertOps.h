// What each operation of the dialect is as linalg on tensors: the functions of the pass `attn-to-linalg`.
#pragma once
#include "passes/Linalg/Structured.h"

namespace skewer {
namespace attn {
class ExtremumOp;
}

/// The tensors that take the place of an operation's results; empty where there is no form, and `Structured::failure`
/// says why.
using Converted = llvm::SmallVector<mlir::Value>;

Converted convertEinsum(attn::EinsumOp, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertExtremum(attn::ExtremumOp, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertIndexMap(attn::IndexMapOpInterface, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertConcat(attn::ConcatOp, mlir::ImplicitLocOpBuilder &);
Converted convertPosition(attn::PositionOp, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertApply(attn::ApplyOp, mlir::ImplicitLocOpBuilder &, Structured &);
/// A softmax or a logsumexp.
Converted convertRows(mlir::Operation *, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertAttention(attn::AttentionOp, mlir::ImplicitLocOpBuilder &, Structured &);

/// The run-time sizes of axes, as `tensor.dim` of the operands that have them alone as a dimension.
void addExtents(mlir::ImplicitLocOpBuilder &, const subscript::Dimensions &, mlir::Value operand,
                std::map<std::string, mlir::Value> &extents);

/// The rows of a tensor of scores: one for each index of its dimensions but `over`.
struct ScoreRows {
  mlir::Value scores;               // f32 or f64, over `dimensions`
  subscript::Dimensions dimensions; // of the scores
  size_t over = 0;                  // the dimension that is summed over
  subscript::AxisSizes sizes;
  std::map<std::string, mlir::Value> extents;
  std::optional<subscript::Expr> mask;
};
/// exp(score - largest of the row), 0 where the mask hides; the row's sum of them; the row's largest score, 0 where it
/// has none. Each of the scores' element type.
struct Exponentials {
  mlir::Value powers, sum, largest;
};
Exponentials exponentialsOf(const ScoreRows &, mlir::ImplicitLocOpBuilder &, Structured &);
/// The dimensions of one value a row.
subscript::Dimensions rowDimensions(const ScoreRows &);
/// The natural logarithm of the rows' sums of exponentials: f32.
mlir::Value logSumOf(const ScoreRows &, const Exponentials &, mlir::ImplicitLocOpBuilder &, Structured &);
/// The subscripts of a tensor with these dimensions, over the axes.
std::vector<subscript::Expr> subscriptsOf(const subscript::Dimensions &, const subscript::AxisSizes &);

} // namespace skewer
