// Moves factors of weights to the values, the keys or the result, for attn-split-products.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"
#include <optional>

namespace skewer {

/// Weights split into one factor and the rest.
struct WeightsApart {
  mlir::Value factor;
  bool divides = false; // the weights are divided by it
  mlir::Value partner;  // what it multiplies or divides
  /// The operations from the weights down to that product or quotient, and the operand of each that leads to it.
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>> above;
};

/// Returns whether a tensor is a product, a quotient, or a part of one that a condition selects.
bool mayHaveFactors(mlir::Value weights);

/// Returns whether no element of a tensor exceeds `most`, whatever the operands hold, judged by the operands' types and
/// the operations on them.
bool isWithin(mlir::Value tensor, double most);

/// Finds the outermost factor of the weights that `moves` accepts. Nothing else reads the operations between it and the
/// weights.
std::optional<WeightsApart> takeFactor(mlir::Value weights, llvm::function_ref<bool(mlir::Value factor)> moves);
/// Writes the weights without that factor at the insertion point.
mlir::Value restOf(mlir::OpBuilder &, const WeightsApart &);

/// Returns the same weights with such a factor multiplied with the product of queries and keys first, so that it
/// becomes a factor of the keys or of the queries. Returns null if there is no such factor, or it is already there.
mlir::Value factorsAtContent(mlir::OpBuilder &, mlir::Value weights,
                             llvm::function_ref<bool(mlir::Value factor)> moves);

/// Rewrites (p × a) · v as (p · v) × a for a number a. Returns whether there was one.
bool moveNumber(mlir::RewriterBase &, attn::EinsumOp product, unsigned operand);

/// The place to which the factors of an operand of a product belong.
enum class FactorPlace { stays, outside, content };

/// Returns the place for factors of weights without a softmax. They stay in sums of terms. If the weights are also
/// summed up beside the product, the factors stay in a function that the attention has anyway, since those sums then
/// cost nothing; if it has none, they go to the content. If the weights are not summed up, they go outside.
FactorPlace placeOfFactors(attn::EinsumOp product, unsigned operand);

} // namespace skewer
