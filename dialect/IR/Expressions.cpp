// Visits the index expressions of operations, and finds lookups outside constant tables in them.
#include "dialect/IR/Expressions.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

void skewer::attn::visitExpressions(
    Operation *op, llvm::function_ref<void(const Expr &, const Domain &, const std::optional<Expr> &)> visit) {
  auto with = [&](const Expr &expression, const AxisSizes &sizes, const std::optional<Expr> &where) {
    Domain domain = subscript::domainOf(sizes);
    addRanges(domain, kernelIndices(op));
    visit(expression, domain, where);
  };
  auto sizesOf = [&](StringRef axes, Value tensor, DictionaryAttr given) {
    Einsum spec;
    if (auto dimensions = parseDimensions(std::string_view(axes)))
      spec.operands = {*dimensions};
    auto sizes = resolveSizes(spec, {shapeOf(tensor)}, sizesFrom(given));
    return sizes ? *sizes : AxisSizes();
  };
  if (auto einsum = dyn_cast<EinsumOp>(op)) {
    ResolvedEinsum resolved = resolve(einsum);
    for (const auto &subscripts : resolved.subscripts)
      for (const Expr &subscript : subscripts)
        with(subscript, resolved.sizes, resolved.guard);
    if (resolved.guard)
      with(*resolved.guard, resolved.sizes, std::nullopt);
  } else if (auto rows = rowReductionOf(op)) {
    if (auto mask = rows->mask ? parse(std::string_view(*rows->mask)) : std::nullopt)
      with(*mask, sizesOf(rows->axes, rows->input, rows->sizes), std::nullopt);
  } else if (auto position = dyn_cast<PositionOp>(op)) {
    if (auto expression = parse(std::string_view(position.getExpression())))
      with(*expression, sizesOf(position.getAxes(), position.getResult(), position.getSizesAttr()), std::nullopt);
  }
}

std::optional<ReadOutside> skewer::attn::findReadOutside(const Expr &expression, const IndexOperands &operands,
                                                         const Domain &domain, const std::optional<Expr> &where) {
  std::optional<ReadOutside> bad;
  visitLookups(expression, where, [&](const Expr &node, const std::optional<Expr> &condition) {
    auto found = node.kind() == Kind::Read ? operands.find(node.name()) : operands.end();
    if (bad || found == operands.end())
      return;
    std::vector<int64_t> shape = shapeOf(found->second);
    for (size_t d = 0; d < shape.size() && d < node.operands().size() && !bad; ++d) {
      if (shape[d] == kRuntime)
        continue;
      Proof proof = proveLookup(node.operands()[d], {0, shape[d] - 1}, domain, condition);
      if (proof.outcome != Proof::Proven)
        bad = ReadOutside{node, d, shape[d],
                          proof.outcome == Proof::Refuted ? std::optional<int64_t>(proof.value) : std::nullopt};
    }
  });
  return bad;
}

std::optional<ReadOutside> skewer::attn::findReadOutside(Operation *op) {
  IndexOperands operands = indicesOf(op);
  std::optional<ReadOutside> bad;
  visitExpressions(op, [&](const Expr &expression, const Domain &domain, const std::optional<Expr> &where) {
    if (!bad)
      bad = findReadOutside(expression, operands, domain, where);
  });
  return bad;
}

std::optional<TableOutside> skewer::attn::findTableOutside(Operation *op) {
  std::optional<TableOutside> bad;
  visitExpressions(op, [&](const Expr &expression, const Domain &domain, const std::optional<Expr> &where) {
    if (!bad)
      bad = findTableOutside(expression, domain, where);
  });
  return bad;
}
