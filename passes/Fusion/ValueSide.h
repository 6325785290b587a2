// Finds how the results of a program use the weights: as the sum of products that becomes one attention.
#pragma once
#include "mlir/IR/Builders.h"
#include "passes/Analysis/Refusal.h"
#include "passes/Fusion/Summands.h"
#include "passes/Fusion/WeightSource.h"

namespace skewer {

/// scale × tensor; an einsum and index maps compute the tensor from the weights.
struct WeightedSummand {
  mlir::Value tensor;
  double scale = 1;
  /// `scale` as a tensor of the sum's type, if `scale` comes from a single multiplication in the program.
  mlir::Value factor;
};

/// All uses of the weights: `root` = Σ products + Σ others.
struct WeightUses {
  mlir::Value root;
  std::vector<WeightedSummand> products;
  std::vector<WeightedSummand> others; // computed without the weights; their scale is 1 or -1
};
/// Finds the uses. Refuses if the program computes anything but a sum of products from the weights.
OrRefusal<WeightUses> findWeightUses(const WeightSource &);

/// Returns the einsums that multiply the weights themselves. Those that read the keys plainly and sum over them come
/// first, and of these the one whose other operand has the most dimensions. The first that has the form of a product
/// with values has the values.
std::vector<attn::EinsumOp> productsWithValues(const WeightUses &, mlir::Value weights);
/// Replaces the products in their sum by `output`, times `factor` if there is one.
void replaceSum(mlir::OpBuilder &, const WeightUses &, mlir::Value output, mlir::Value factor);

/// The indices of the score, over leading axes and the symbols i and j, at which a product reads the weights.
struct WeightIndices {
  std::vector<subscript::Expr> at;
  size_t keyDimension = 0;
  subscript::AxisSizes sizes; // sizes of the leading axes, i, j, and the axes of the values
  std::optional<subscript::Expr> mask;
};
/// Returns what a product of the weights adds to the value of each query and key. `product` is a summand with the
/// weights among its factors; summed axes may read them in any way. Absolute-to-relative code reads them at
/// j = r + i - (N - 1), so that each r stands for one key. The result is over i and j and lacks the weights. Refuses if
/// the sum is not proven to be one over keys.
OrRefusal<Summand> asValueTerm(Summand product, mlir::Value weights, const WeightIndices &);

/// Returns an equal predicate, in one canonical form if it is an interval of key - query: `abs(j - i) <= 4`, `j <= i`.
subscript::Expr canonicalGuard(const subscript::Expr &, const std::vector<std::string> &query,
                               const std::vector<std::string> &key, const subscript::Domain &);

} // namespace skewer
