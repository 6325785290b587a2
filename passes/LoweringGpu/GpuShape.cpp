// Checks that a kernel is one fused attention of inputs, and sorts its terms for the GPU.
#include "passes/LoweringGpu/GpuShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;

namespace {

/// What a tensor is stored as: reshapes move nothing, and f16 or bf16 is widened where it is read.
Value storedAs(Value value) {
  for (Operation *op = value.getDefiningOp(); op && isa<attn::ReshapeOp, arith::ExtFOp>(op); op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}
/// The same of a result, which is rounded where it is written.
Value writtenFrom(Value value) {
  for (Operation *op = value.getDefiningOp(); op && isa<attn::ReshapeOp, arith::TruncFOp>(op);
       op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

/// The kernel's only operation, apart from what moves and computes nothing.
attn::AttentionOp onlyAttention(func::FuncOp function, std::string &reason) {
  attn::AttentionOp found;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (auto attention = dyn_cast<attn::AttentionOp>(op); attention && !found)
      found = attention;
    else if (!isa<attn::ReshapeOp, arith::ExtFOp, arith::TruncFOp>(op))
      return reason = "it holds '" + op.getName().getStringRef().str() +
                      "' beside one fused attention; only an attention whose operands are the kernel's own is made for "
                      "GPUs so far",
             attn::AttentionOp();
  }
  if (!found)
    return reason = "it is no fused attention", found;
  Operation *end = function.getBody().front().getTerminator();
  if (end->getNumOperands() != 1 || writtenFrom(end->getOperand(0)) != found.getResult())
    return reason = "it returns more than the attention's result", attn::AttentionOp();
  return found;
}

ElementTerm elementTermOf(attn::TermOp term, ArrayRef<Value> operands, const std::optional<Expr> &mask,
                          const subscript::Domain &scoreDomain) {
  ElementTerm result;
  attn::ResolvedEinsum einsum = attn::resolve(term);
  subscript::Domain within = subscript::domainOf(einsum.sizes);
  result.guard = einsum.guard;
  if (result.guard && mask && simplify(*mask, scoreDomain) == simplify(*result.guard, scoreDomain))
    result.guard = std::nullopt; // the mask takes those scores away anyway
  bool inside = true;
  for (auto [operand, subscripts] : llvm::zip_equal(term.getInputs(), einsum.subscripts)) {
    result.arguments.push_back(unsigned(llvm::find(operands, operand) - operands.begin()));
    auto shape = cast<RankedTensorType>(operand.getType()).getShape();
    Expr flat = 0;
    for (auto [dimension, subscript] : llvm::enumerate(subscripts)) {
      flat = dimension == 0 ? subscript : flat * Expr(shape[dimension]) + subscript;
      if (!ShapedType::isDynamic(shape[dimension]))
        inside &=
            proveWithin(subscript, {0, shape[dimension] - 1}, within, result.guard).outcome == subscript::Proof::Proven;
    }
    result.offsets.push_back(simplify(flat, within));
  }
  // Scores are computed for masked pairs too, where an operand may be read outside.
  if (!inside && mask)
    result.guard = result.guard ? logicalAnd(*result.guard, *mask) : *mask;
  if (term.getValue())
    result.factor = subscript::parse(std::string_view(*term.getValue()));
  for (const std::string &axis : einsum.contracted)
    result.contracted.push_back({axis, einsum.sizes.at(axis)});
  result.scale = term.getTermScale();
  return result;
}

/// The size of each leading axis: fixed, or the run-time size that some operand has there.
std::optional<std::vector<Extent>> leadingExtents(attn::AttentionOp attention, const attn::ScoreSpace &space,
                                                  const KernelPlan &plan, func::FuncOp function) {
  std::map<std::string, Extent> known;
  auto note = [&](const attn::ResolvedEinsum &einsum, ValueRange operands) {
    for (auto [operand, dimensions] : llvm::zip(operands, einsum.spec.operands)) {
      Value stored = operand;
      if (auto widened = operand.getDefiningOp<arith::ExtFOp>())
        stored = widened.getIn();
      auto argument = dyn_cast<BlockArgument>(stored);
      if (!argument)
        continue;
      const std::vector<Extent> &shape = plan.inputs[argument.getArgNumber()].shape;
      for (auto [dimension, extent] : llvm::zip(dimensions, shape))
        if (dimension.isAxis())
          known.insert({dimension.axes[0], extent});
    }
  };
  if (auto value = attn::resolve(attention.getValueSpec(), attention.getValue(),
                                 attn::sizesTo(attention.getContext(), space.sizes), std::nullopt))
    note(*value, attention.getValue());
  for (attn::TermOp term : attn::termsOf(attention))
    note(attn::resolve(term), term.getInputs());
  std::vector<Extent> extents;
  for (const std::string &axis : space.leading) {
    int64_t size = space.sizes.at(axis);
    if (size != subscript::kRuntime)
      extents.push_back({"", size});
    else if (known.count(axis) && !known[axis].name.empty())
      extents.push_back(known[axis]);
    else
      return std::nullopt;
  }
  return extents;
}

} // namespace

std::optional<GpuShape> skewer::gpu::gpuShapeOf(func::FuncOp function, std::string &reason) {
  GpuShape result;
  attn::AttentionOp attention = onlyAttention(function, reason);
  if (!attention)
    return std::nullopt;
  auto shape = shapeOfAttention(attention, reason);
  if (!shape)
    return std::nullopt;
  if (attention.getLse())
    return reason = "its log-sum-exp is asked for, which is not made for GPUs yet", std::nullopt;
  if (!shape->valueTerms.empty())
    return reason = "a term is added to its values, which is not made for GPUs yet", std::nullopt;
  constexpr int64_t kMost = int64_t(1) << 30;
  if (shape->queries > kMost || shape->keys > kMost)
    return reason = "it has more than 2^30 queries or keys", std::nullopt;
  result.plan = signatureOf(function);

  SmallVector<Value> operands = operandsOf(attention);
  for (Value operand : operands) {
    auto argument = dyn_cast<BlockArgument>(storedAs(operand));
    if (!argument)
      return reason = "an operand of the attention is computed before it; only the kernel's own operands are read on "
                      "GPUs so far",
             std::nullopt;
    result.inputs.push_back(argument.getArgNumber());
  }
  auto elementOf = [&](unsigned argument) {
    return cast<RankedTensorType>(storedAs(operands[argument]).getType()).getElementType();
  };
  auto isNarrow = [](Type type) { return type.isF16() || type.isBF16(); };
  SmallVector<Type> candidates;
  for (const ContentTerm &term : shape->content)
    candidates.append({elementOf(term.query.argument), elementOf(term.key.argument)});
  candidates.push_back(elementOf(shape->value.argument));
  auto narrow = llvm::find_if(candidates, isNarrow);
  if (narrow == candidates.end())
    return reason = "queries, keys and values are f32; GPUs multiply f16 or bf16, so declare them as one of these",
           std::nullopt;
  result.element = *narrow;

  std::optional<Expr> mask;
  if (attention.getMask())
    mask = subscript::parse(std::string_view(*attention.getMask()));
  subscript::Domain domain = subscript::domainOf(shape->space.sizes);
  size_t number = 0;
  for (attn::TermOp term : attention.getScore().getOps<attn::TermOp>())
    if (shape->roles[number++] != TermRole::Content)
      result.elements.push_back(elementTermOf(term, operands, mask, domain));

  auto extents = leadingExtents(attention, shape->space, result.plan, function);
  if (!extents)
    return reason = "a run-time size of the score is no operand's dimension", std::nullopt;
  result.leading = std::move(*extents);
  result.attention = std::move(*shape);
  return result;
}
