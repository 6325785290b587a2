// Factors of weights: what may be multiplied with the values, the keys or the result instead.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include <optional>

namespace skewer {

/// Weights without one of their factors.
struct WeightsApart {
  mlir::Value factor;
  bool divides = false; // the weights are divided by it
  mlir::Value rest;
};

/// Whether a tensor is a product, a quotient or a part of one that a condition leaves.
bool mayHaveFactors(mlir::Value weights);

/// Whether no element of a tensor is larger than this, whatever the operands hold; by their types and what becomes of
/// them.
bool isWithin(mlir::Value tensor, double most);

/// The first factor, from outside, that `moves` accepts; what is between it and the weights is written down anew at the
/// builder's place, where nothing else reads it.
std::optional<WeightsApart> takeFactor(mlir::OpBuilder &, mlir::Value weights,
                                       llvm::function_ref<bool(mlir::Value factor)> moves);

/// The same weights, where such a factor meets the product of queries and keys first: it is one of the keys' or of the
/// queries' then. Null where there is none, or it does already.
mlir::Value factorsAtContent(mlir::OpBuilder &, mlir::Value weights, llvm::function_ref<bool(mlir::Value factor)> moves);

/// (p × a) · v is (p · v) × a, of a number. Whether there was one.
bool moveNumber(attn::EinsumOp product, unsigned operand);

/// Where factors of an operand of a product belong.
enum class FactorPlace { stays, outside, content };

/// Of weights that no softmax made. They stay in sums of terms, and in functions that an attention has already where
/// weights are summed up beside the product, since those sums cost nothing; where it has not, they go to the content.
FactorPlace placeOfFactors(attn::EinsumOp product, unsigned operand);

} // namespace skewer
