// attn-sum-lone-axes: a sum over an axis that a single given operand has is computed before the product.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Views.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNSUMLONEAXES
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Returns the summed axes that only this operand has, in dimensions that are products of axes. Axes of the guard, axes
/// of one element and axes whose size is known at run time only are not included.
std::set<std::string> loneAxes(const ResolvedEinsum &resolved, size_t operand) {
  std::set<std::string> lone(resolved.contracted.begin(), resolved.contracted.end());
  auto remove = [&](const std::set<std::string> &axes) {
    for (const std::string &axis : axes)
      lone.erase(axis);
  };
  if (resolved.guard)
    remove(symbolsOf(*resolved.guard));
  std::map<std::string, int> places;
  for (auto [number, dimensions] : llvm::enumerate(resolved.spec.operands)) {
    if (number != operand)
      remove(skewer::subscript::axesOf(dimensions));
    for (const Dimension &dimension : dimensions) {
      if (!dimension.isProduct())
        remove(symbolsOf(dimension.index));
      else if (number == operand)
        for (const std::string &axis : dimension.axes)
          ++places[axis];
    }
  }
  for (auto axis = lone.begin(); axis != lone.end();) // kRuntime is less than any size
    axis = places[*axis] == 1 && resolved.sizes.at(*axis) > 1 ? std::next(axis) : lone.erase(axis);
  return lone;
}

/// Returns whether a tensor is an operand of the kernel or a constant, or index maps or conversions of one. Weights
/// made of scores are not summed separately: they would have to be in memory.
bool isGiven(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return true;
    if (!mapOf(op) && !isa<arith::ExtFOp, arith::SIToFPOp>(op))
      return false;
    tensor = op->getOperand(0);
  }
  return true;
}

/// The sum of an operand over some of its axes.
struct Summed {
  Einsum sum;               // of the operand alone; a dimension without such axes is read whole
  Dimensions left;          // how the product reads the sum
  AxisSizes sizes;          // of the sum's axes
  SmallVector<int64_t> shape; // of the sum
};

Summed summed(const ResolvedEinsum &resolved, size_t operand, RankedTensorType type,
              const std::set<std::string> &lone) {
  Summed made;
  made.sum.operands.emplace_back();
  made.sum.result.emplace();
  for (auto [number, dimension] : llvm::enumerate(resolved.spec.operands[operand])) {
    auto isLone = [&](const std::string &axis) { return lone.count(axis) > 0; };
    if (!dimension.isProduct() || llvm::none_of(dimension.axes, isLone)) {
      Dimension whole{{"o" + std::to_string(number)}, {}};
      made.sum.operands[0].push_back(whole);
      made.sum.result->push_back(whole);
      made.left.push_back(dimension);
      made.shape.push_back(type.getDimSize(number));
      continue;
    }
    Dimension read, rest;
    int64_t size = 1;
    for (auto [place, axis] : llvm::enumerate(dimension.axes)) { // names that no other axis has
      std::string name = "o" + std::to_string(number) + "_" + std::to_string(place);
      read.axes.push_back(name);
      made.sizes[name] = resolved.sizes.at(axis);
      if (isLone(axis))
        continue;
      rest.axes.push_back(name);
      size *= resolved.sizes.at(axis);
    }
    made.sum.operands[0].push_back(read);
    if (rest.axes.empty())
      continue;
    made.sum.result->push_back(rest);
    Dimension left;
    llvm::copy_if(dimension.axes, std::back_inserter(left.axes), [&](auto &axis) { return !isLone(axis); });
    made.left.push_back(std::move(left));
    made.shape.push_back(size);
  }
  return made;
}

struct SumLoneAxes : skewer::impl::AttnSumLoneAxesBase<SumLoneAxes> {
  void runOnOperation() override {
    SmallVector<EinsumOp> products;
    getOperation().walk([&](EinsumOp op) { products.push_back(op); });
    for (EinsumOp op : products)
      sumOperands(op);
  }

  /// Rewrites Σ over a and c of x_a · y_ac as Σ over a of x_a · (Σ over c of y_ac).
  static void sumOperands(EinsumOp op) {
    if (op.getInputs().size() < 2 || !op.getIndices().empty())
      return;
    for (unsigned number = 0; number < op.getInputs().size(); ++number) {
      ResolvedEinsum resolved = resolve(op);
      std::set<std::string> lone = loneAxes(resolved, number);
      auto type = cast<RankedTensorType>(op.getInputs()[number].getType());
      if (lone.empty() || !isGiven(op.getInputs()[number]))
        continue;
      Summed made = summed(resolved, number, type, lone);
      if (made.left.empty()) // a single number, which the text of an einsum cannot name
        continue;
      OpBuilder builder(op);
      auto sumType = RankedTensorType::get(made.shape, builder.getF32Type());
      Value sum = EinsumOp::create(builder, op.getLoc(), sumType, builder.getStringAttr(print(made.sum)),
                                   sizesTo(op.getContext(), made.sizes), StringAttr(), op.getInputs()[number]);
      op.getInputsMutable()[number].set(sum);
      Einsum spec = resolved.spec;
      spec.operands[number] = made.left;
      op.setSpec(print(spec));
      AxisSizes sizes = untoldSizes(spec, resolved.sizes);
      op.setSizesAttr(sizesTo(op.getContext(), sizes));
    }
  }
};
} // namespace
