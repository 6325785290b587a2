// The rewrites of attn-split-products, as patterns of one einsum. SplitProducts.cpp runs them.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"
#include <optional>
#include <utility>
#include <vector>

namespace skewer {

/// A tensor, and its dimensions by the axes of a product.
using NamedTensor = std::pair<mlir::Value, subscript::Dimensions>;

/// An einsum that sums over some axis, with its parts resolved, so that others can be written like it.
struct Product {
  Product(attn::EinsumOp op, mlir::PatternRewriter &rewriter)
      : op(op), resolved(attn::resolve(op)), rewriter(rewriter) {}

  /// Returns whether `einsum` can be written with these operands and result: each axis that no operand has alone in a
  /// dimension has a size that is known at compile time.
  bool canWrite(llvm::ArrayRef<NamedTensor> operands, const subscript::Dimensions &result) const;
  /// Creates the einsum of other operands, which `canWrite` accepts. `guarded`: with this one's guard.
  mlir::Value einsum(llvm::ArrayRef<NamedTensor> operands, const subscript::Dimensions &result, mlir::Type type,
                     bool guarded) const;
  /// Creates this einsum with another tensor as its operand `number`.
  attn::EinsumOp with(unsigned number, mlir::Value tensor) const;
  const subscript::Dimensions &result() const { return *resolved.spec.result; }
  const subscript::Dimensions &dimensions(unsigned operand) const { return resolved.spec.operands[operand]; }

  attn::EinsumOp op;
  attn::ResolvedEinsum resolved;
  mlir::PatternRewriter &rewriter;
};

/// A rewrite of a product. Each one leaves fewer operands of a product, or fewer operations between a softmax and its
/// product: so the rewriting ends.
struct ProductPattern : mlir::OpRewritePattern<attn::EinsumOp> {
  /// `readsIndices`: the rewrite also applies to a product whose operands are read through index operands.
  ProductPattern(mlir::MLIRContext *context, mlir::PatternBenefit benefit, bool readsIndices = false)
      : OpRewritePattern(context, benefit), readsIndices(readsIndices) {}
  mlir::LogicalResult matchAndRewrite(attn::EinsumOp, mlir::PatternRewriter &) const final;

protected:
  virtual mlir::LogicalResult rewrite(Product &) const = 0;

private:
  bool readsIndices;
};

/// Returns the number of softmaxes that a sum of scaled weights is made of; 0 if the tensor is no such sum.
size_t softmaxesIn(mlir::Value tensor);
/// Returns whether arithmetic and maps alone make the tensor from row sums of `of`: such a tensor divides weights.
bool isMadeOfSums(mlir::Value tensor, mlir::Value of);
/// Returns whether only einsums read what the operation gives.
bool feedsProductsOnly(mlir::Operation *);
bool isWide(mlir::Value tensor);
/// Returns the type of a tensor computed from values: it is f32, not rounded to the type in which the values are
/// stored.
mlir::RankedTensorType widened(mlir::Value tensor);
bool arePlain(const subscript::Dimensions &);

/// The dimensions at which an operand is read, and the operand's shape.
using TensorRead = std::pair<subscript::Dimensions, std::vector<int64_t>>;

/// Returns the dimensions of both with names of their own, the same name where both are read at the same index.
/// Returns nothing if the part is read at another index, or has another number of rows there: a table may be longer
/// than what is read of it.
std::optional<std::pair<subscript::Dimensions, subscript::Dimensions>> readAlike(const TensorRead &whole,
                                                                                 const TensorRead &part);

/// Adds the patterns that move a factor or a divisor of the weights to the values, the content or the result.
void populateMoveFactorPatterns(mlir::RewritePatternSet &);

} // namespace skewer
