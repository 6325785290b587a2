// The functions of the pass `attn-to-linalg`: each converts an operation of the dialect to linalg on tensors.
#pragma once
#include "passes/Linalg/Structured.h"

namespace skewer {
namespace attn {
class ExtremumOp;
}

/// The tensors that replace an operation's results; empty if the operation has no form in linalg: `Structured::failure`
/// says why.
using Converted = llvm::SmallVector<mlir::Value>;

Converted convertEinsum(attn::EinsumOp, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertExtremum(attn::ExtremumOp, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertIndexMap(attn::IndexMapOpInterface, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertConcat(attn::ConcatOp, mlir::ImplicitLocOpBuilder &);
Converted convertPosition(attn::PositionOp, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertApply(attn::ApplyOp, mlir::ImplicitLocOpBuilder &, Structured &);
/// Converts a softmax or a logsumexp.
Converted convertRows(mlir::Operation *, mlir::ImplicitLocOpBuilder &, Structured &);
Converted convertAttention(attn::AttentionOp, mlir::ImplicitLocOpBuilder &, Structured &);

/// Adds the run-time sizes of axes, as `tensor.dim` of an operand whose dimension is the axis alone.
void addExtents(mlir::ImplicitLocOpBuilder &, const subscript::Dimensions &, mlir::Value operand,
                std::map<std::string, mlir::Value> &extents);

/// The rows of a tensor of scores: one for each index of all dimensions but `over`.
struct ScoreRows {
  mlir::Value scores;               // f32 or f64, over `dimensions`
  subscript::Dimensions dimensions; // of the scores
  size_t over = 0;                  // the dimension that is summed over
  subscript::AxisSizes sizes;
  std::map<std::string, mlir::Value> extents;
  std::optional<subscript::Expr> mask;
};
/// The exponentials of the scores, in the scores' element type. `powers`: exp(score - largest of the row), 0 where the
/// mask hides the key. `sum`: their sum in each row. `largest`: the row's largest score, 0 if it has none.
struct Exponentials {
  mlir::Value powers, sum, largest;
};
Exponentials exponentialsOf(const ScoreRows &, mlir::ImplicitLocOpBuilder &, Structured &);
/// Returns the dimensions of a tensor with one value for each row.
subscript::Dimensions rowDimensions(const ScoreRows &);
/// Returns the natural logarithm of the rows' sums of exponentials, in f32.
mlir::Value logSumOf(const ScoreRows &, const Exponentials &, mlir::ImplicitLocOpBuilder &, Structured &);
/// Returns the subscripts of a tensor with these dimensions, over the axes.
std::vector<subscript::Expr> subscriptsOf(const subscript::Dimensions &, const subscript::AxisSizes &);

} // namespace skewer
