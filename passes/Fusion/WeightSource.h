// Finds the source of weights: the softmax of scores, or scores that pass element by element through a function.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer {

/// A tensor of weights that is multiplied with values, and the operation and scores that compute it.
struct WeightSource {
  mlir::Value weights;
  mlir::Value scores;         // the input of the softmax; direct weights are their own scores
  mlir::Operation *operation; // computes the weights
  std::string axes, over;     // the axes of the weights' dimensions, and the axis that is summed over
  std::optional<std::string> mask;
  mlir::DictionaryAttr sizes;
  bool direct = false;
  std::vector<attn::EinsumOp> totals; // of direct weights: sums over their keys, in any order of the other axes
  /// Uses of the weights that are not products with values, next to uses that are: they read the weights that the
  /// attention stores.
  llvm::SmallVector<mlir::OpOperand *> stored;

  mlir::Location location() const { return operation->getLoc(); }
};

WeightSource sourceOf(attn::SoftmaxOp);
/// Returns the uses of weights that lead to no sum over keys, if other uses do: `WeightSource::stored`.
llvm::SmallVector<mlir::OpOperand *> storedUses(const WeightSource &);
/// Returns the direct weights that an einsum sums over keys without a softmax, if they come from scores: arithmetic
/// makes the weights from a product of a tensor of queries with one of keys. Returns nothing if there are no such
/// weights, or if the values do not differ from head to head (or row to row of the batch): x · W₁ through a function
/// times W₂ is a layer of another kind.
std::optional<WeightSource> directSourceOf(attn::EinsumOp product);
/// Returns whether a product with direct weights sums over exactly the pairs that the source's mask leaves. The mask is
/// the condition of the product that the source was found from.
bool isUnderMask(attn::EinsumOp product, const WeightSource &);
/// Returns whether element-wise arithmetic makes the weights from the product. f(x · W₁) · K is a product of queries
/// and keys if weights are made of it; only otherwise is it a sum of values with the weights f(x · W₁).
bool becomesWeights(attn::EinsumOp product, const WeightSource &);

} // namespace skewer
