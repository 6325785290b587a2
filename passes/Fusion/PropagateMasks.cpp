// attn-propagate-masks: a softmax's mask guards the einsums that only that softmax reads.
//
// Elements off the mask are don't-care, and 0 is as good as any: so the mask is an ordinary guard, which the verifier
// and the algebra know about, and the program still means what it says.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Fusion/Summands.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNPROPAGATEMASKS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
struct PropagateMasks : skewer::impl::AttnPropagateMasksBase<PropagateMasks> {
  void runOnOperation() override {
    getOperation().walk([&](SoftmaxOp softmax) {
      if (auto mask = maskByDimension(softmax))
        propagate(softmax.getInput(), *mask);
    });
  }

  /// The mask over d0, d1, …, the dimensions of the score.
  static std::optional<Expr> maskByDimension(SoftmaxOp softmax) {
    if (!softmax.getMask())
      return std::nullopt;
    auto mask = parse(std::string_view(*softmax.getMask()));
    auto axes = parseDimensions(std::string_view(softmax.getAxes()));
    if (!mask || !axes)
      return std::nullopt;
    Einsum spec;
    spec.operands = {*axes};
    auto sizes = resolveSizes(spec, {shapeOf(softmax.getInput())}, sizesFrom(softmax.getSizesAttr()));
    if (!sizes)
      return std::nullopt;
    Substitution dimensions;
    for (size_t k = 0; k < axes->size(); ++k) {
      auto parts = splitProduct(Expr::symbol("d" + std::to_string(k)), (*axes)[k].axes, *sizes);
      if (!parts)
        return std::nullopt;
      for (size_t n = 0; n < parts->size(); ++n)
        dimensions[(*axes)[k].axes[n]] = (*parts)[n];
    }
    return substitute(*mask, dimensions);
  }

  static void propagate(Value value, const Expr &mask) {
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse())
      return;
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp>(op)) {
      for (Value operand : op->getOperands())
        propagate(operand, mask);
      return;
    }
    auto einsum = dyn_cast<EinsumOp>(op);
    if (!einsum)
      return;
    ResolvedEinsum resolved = resolve(einsum);
    if (!resolved.spec.result)
      return;
    Substitution axes;
    for (auto [k, dimension] : llvm::enumerate(*resolved.spec.result))
      axes["d" + std::to_string(k)] = flatIndex(dimension, resolved.sizes);
    Domain domain = domainOf(resolved.sizes);
    Expr guard = simplify(substitute(mask, axes), domain);
    if (guard.isConstant())
      return;
    if (resolved.guard)
      guard = simplify(logicalAnd(guard, *resolved.guard), domain);
    einsum.setGuardAttr(StringAttr::get(einsum.getContext(), print(guard)));
    bindIndices(einsum);
  }
};
} // namespace
