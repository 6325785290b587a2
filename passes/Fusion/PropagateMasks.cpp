// attn-propagate-masks: a softmax's mask guards the einsums that only that softmax reads.
//
// The elements outside the mask do not matter, and 0 is as good as any number. So the mask becomes an ordinary guard,
// which the verifier and the algebra know, and the program keeps its meaning.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/VaryingMasks.h"
#include "passes/Fusion/Views.h"
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
    llvm::DenseSet<Value> done;
    getOperation().walk([&](Operation *op) {
      auto rows = rowReductionOf(op);
      // A softmax and the logsumexp of the same scores ignore the same elements.
      bool alike = rows && llvm::all_of(rows->input.getUsers(), [&](Operation *other) {
                     auto others = rowReductionOf(other);
                     return others && *others == *rows;
                   });
      if (!alike || !done.insert(rows->input).second)
        return;
      if (auto mask = maskByDimension(*rows))
        propagate(rows->input, *mask);
    });
  }

  /// Returns the mask over d0, d1, …, the dimensions of the score.
  static std::optional<Expr> maskByDimension(const RowReduction &rows) {
    if (!rows.mask)
      return std::nullopt;
    auto mask = parse(std::string_view(*rows.mask));
    auto axes = parseDimensions(std::string_view(rows.axes));
    if (!mask || !axes)
      return std::nullopt;
    Einsum spec;
    spec.operands = {*axes};
    auto sizes = resolveSizes(spec, {shapeOf(rows.input)}, sizesFrom(rows.sizes));
    auto dimensions = sizes ? axesAt(*axes, mapIndices(axes->size()), *sizes) : std::nullopt;
    return dimensions ? std::optional(substitute(*mask, *dimensions)) : std::nullopt;
  }

  /// Returns whether the einsum reads its operands inside their bounds at all positions at which its guard holds.
  static bool readsInside(EinsumOp einsum, const ResolvedEinsum &resolved, const Domain &domain) {
    for (auto [operand, subscripts] : llvm::zip(einsum.getInputs(), resolved.subscripts))
      for (auto [size, subscript] : llvm::zip(shapeOf(operand), subscripts)) {
        auto bounds = bound(subscript, domain, resolved.guard);
        if (size != kRuntime && (!bounds || bounds->range.low < 0 || bounds->range.high >= size))
          return false;
      }
    return true;
  }

  /// Adds the mask to the einsums below `value`, whose only use is under the mask.
  static void propagate(Value value, const Expr &mask) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return;
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp>(op)) {
      for (Value operand : op->getOperands())
        if (operand.hasOneUse())
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
    bool varies = op->getParentOfType<func::FuncOp>()->hasAttr(kVaryingMasks);
    if (varies && readsInside(einsum, resolved, domain))
      return;
    Expr guard = simplify(substitute(mask, axes), domain);
    if (guard.isConstant())
      return;
    // A product without a contraction is computed where it is read. A guard that is known at run time only would make
    // it a tensor of its own.
    if (resolved.contracted.empty() && einsum.getIndices().empty() && !readsOf(guard).empty())
      return;
    if (resolved.guard)
      guard = varies ? logicalAnd(guard, *resolved.guard) : simplify(logicalAnd(guard, *resolved.guard), domain);
    einsum.setGuardAttr(StringAttr::get(einsum.getContext(), print(guard)));
    bindIndices(einsum);
  }
};
} // namespace
