// Where weights come from: the softmax of scores, or scores through a function, element by element.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer {

/// A tensor of weights that is multiplied with values, and how it is made.
struct WeightSource {
  mlir::Value weights;
  mlir::Value scores;         // what the softmax is taken of; of direct weights, they themselves
  mlir::Operation *operation; // that makes the weights
  std::string axes, over;     // of their dimensions, and the one that is summed over
  std::optional<std::string> mask;
  mlir::DictionaryAttr sizes;
  bool direct = false;
  std::vector<attn::EinsumOp> totals; // of direct weights: sums over their keys, in any order of the other axes
  /// Uses of the weights that are no products with values, beside some that are: they read what the attention stores.
  llvm::SmallVector<mlir::OpOperand *> stored;

  mlir::Location location() const { return operation->getLoc(); }
};

WeightSource sourceOf(attn::SoftmaxOp);
/// The uses of weights that lead to no sum over keys, where others do: `WeightSource::stored`.
llvm::SmallVector<mlir::OpOperand *> storedUses(const WeightSource &);
/// What an einsum sums over keys without a softmax, where it is made of scores: a product of a tensor of queries and
/// one of keys, from which arithmetic made the weights. Nothing where it is none, or where values do not differ from
/// head to head (or row to row of the batch): x · W₁ through a function times W₂ is a layer of another kind.
std::optional<WeightSource> directSourceOf(attn::EinsumOp product);
/// Whether a product with direct weights sums over the pairs that the source's mask leaves, and no others: the mask is
/// the condition of the product that the source was found from.
bool isUnderMask(attn::EinsumOp product, const WeightSource &);
/// Whether the weights are what element-wise arithmetic makes of the product: f(x · W₁) · K is a product of queries and
/// keys first, if weights are made of it, and a sum of values that are weighted by f(x · W₁) only if none are.
bool becomesWeights(attn::EinsumOp product, const WeightSource &);

} // namespace skewer
