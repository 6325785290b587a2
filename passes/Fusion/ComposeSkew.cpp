// attn-compose-skew: an index map after an einsum, or before it, becomes an index expression inside the einsum.
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Views.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNCOMPOSESKEW
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
struct ComposeSkew : skewer::impl::AttnComposeSkewBase<ComposeSkew> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    for (Operation *op : scoreOperations(function))
      compose(op);
    eraseDead(function);
  }

  static void compose(Operation *op) {
    auto einsum = dyn_cast<EinsumOp>(op);
    if (!einsum && !isa<IndexMapOpInterface>(op))
      return;
    // The product with the weights stays whole: attn-form-attention builds the attention around it.
    if (einsum && llvm::any_of(einsum.getInputs(), [](Value v) { return v.getDefiningOp<SoftmaxOp>(); }))
      return;
    // A map before an einsum stays: the einsum looks through it, and the operand of the map is not computed again.
    auto contracts = [](Operation *user) {
      auto consumer = dyn_cast<EinsumOp>(user);
      return consumer && !isView(consumer);
    };
    if ((!einsum || isView(einsum)) && !op->use_empty() && llvm::all_of(op->getUsers(), contracts))
      return;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    std::vector<std::string> names = dimensionNames(type.getRank());
    AxisSizes sizes;
    std::vector<Expr> at;
    ExpansionOptions options;
    options.arithmetic = options.scaledOperands = false;
    for (auto [name, size] : llvm::zip(names, shapeOf(type))) {
      sizes[name] = size;
      at.push_back(Expr::symbol(name));
      if (size == kRuntime)
        options.plain.insert(name);
    }
    Expansion expansion(domainOf(sizes), std::nullopt, options);
    std::vector<Summand> summands = expansion.expand(op->getResult(0), at);
    if (summands.size() != 1)
      return;
    // Nothing was looked through: keep the program's own text.
    Summand &summand = summands[0];
    ValueRange inputs = einsum ? ValueRange(einsum.getInputs()) : ValueRange(op->getOperands());
    if (summand.factors.size() == inputs.size()) {
      bool same = true;
      for (auto [factor, operand] : llvm::zip(summand.factors, inputs))
        same &= factor.operand == operand;
      if (same)
        return;
    }
    for (const Factor &factor : summand.factors)
      if (factor.operand == op->getResult(0) || factor.operand.getDefiningOp<SoftmaxOp>())
        return;
    OpBuilder builder(op);
    if (Value composed = buildEinsum(builder, summand, names, type)) {
      op->getResult(0).replaceAllUsesWith(composed);
      op->erase();
    }
  }
};
} // namespace
