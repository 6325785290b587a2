// Moves factors of weights to the values, the keys or the result, for attn-split-products.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include <optional>

namespace skewer {

/// Weights split into one factor and the rest.
struct WeightsApart {
  mlir::Value factor;
  bool divides = false; // the weights are divided by it
  mlir::Value rest;
};

/// Returns whether a tensor is a product, a quotient, or a part of one that a condition selects.
bool mayHaveFactors(mlir::Value weights);

/// Returns whether no element of a tensor exceeds `most`, whatever the operands hold, judged by the operands' types and
/// the operations on them.
bool isWithin(mlir::Value tensor, double most);

/// Takes the outermost factor that `moves` accepts off the weights. Operations between the factor and the weights that
/// nothing else reads are written anew at the insertion point of `builder`.
std::optional<WeightsApart> takeFactor(mlir::OpBuilder &, mlir::Value weights,
                                       llvm::function_ref<bool(mlir::Value factor)> moves);

/// Returns the same weights with such a factor multiplied with the product of queries and keys first, so that it
/// becomes a factor of the keys or of the queries. Returns null if there is no such factor, or it is already there.
mlir::Value factorsAtContent(mlir::OpBuilder &, mlir::Value weights,
                             llvm::function_ref<bool(mlir::Value factor)> moves);

/// Rewrites (p × a) · v as (p · v) × a for a number a. Returns whether there was one.
bool moveNumber(attn::EinsumOp product, unsigned operand);

/// Where the factors of an operand of a product belong.
enum class FactorPlace { stays, outside, content };

/// Returns the place for factors of weights without a softmax. They stay in sums of terms. If the weights are also
/// summed up beside the product, the factors stay in a function that the attention has anyway, since those sums then
/// cost nothing; if it has none, they go to the content. If the weights are not summed up, they go outside.
FactorPlace placeOfFactors(attn::EinsumOp product, unsigned operand);

} // namespace skewer
