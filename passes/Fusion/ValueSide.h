// How weights reach its results: the sum of products that becomes one attention.
#pragma once
#include "mlir/IR/Builders.h"
#include "passes/Fusion/Summands.h"
#include "passes/Fusion/WeightSource.h"

namespace skewer {

/// scale × tensor, where the tensor is made from the weights by an einsum and index maps.
struct WeightedSummand {
  mlir::Value tensor;
  double scale = 1;
  /// The number as a tensor of the sum's type, where one multiplication of the program is all that `scale` stands for.
  mlir::Value factor;
};

/// All that the weights are used for: `root` = Σ products + Σ others.
struct WeightUses {
  mlir::Value root;
  std::vector<WeightedSummand> products;
  std::vector<WeightedSummand> others; // made without the weights; their scale is 1 or -1
};
/// Nothing where something but a sum of products is made from the weights: `why` says what.
std::optional<WeightUses> findWeightUses(const WeightSource &, std::string &why);

/// The einsums that multiply the weights themselves, those first that sum over plainly read keys, and of these what has
/// the most dimensions: the values are in the first that has the form of a product with values.
std::vector<attn::EinsumOp> productsWithValues(const WeightUses &, mlir::Value weights);
/// Puts `output`, times `factor` if it is there, in place of the products in their sum.
void replaceSum(mlir::OpBuilder &, const WeightUses &, mlir::Value output, mlir::Value factor);

/// The score's indices, over leading axes and the symbols i and j, as a product of the weights reads them.
struct WeightIndices {
  std::vector<subscript::Expr> at;
  size_t keyDimension = 0;
  subscript::AxisSizes sizes; // of leading axes, i, j, and the axes of the values
  std::optional<subscript::Expr> mask;
};
/// What a product of the weights adds to the value of each query and key. `product` is a summand with the weights among
/// its factors, read anyhow by axes that are summed over: absolute-to-relative code reads them at j = r + i - (N - 1),
/// so that each r stands for one key. The summand that comes back is over i and j and lacks the weights. Nothing where
/// the sum is not proven to be one over keys: `why` says so.
std::optional<Summand> asValueTerm(Summand product, mlir::Value weights, const WeightIndices &, std::string &why);

/// The same predicate, in one form where it is an interval of key - query: `abs(j - i) <= 4`, `j <= i`.
subscript::Expr canonicalGuard(const subscript::Expr &, const std::vector<std::string> &query,
                               const std::vector<std::string> &key, const subscript::Domain &);

} // namespace skewer
