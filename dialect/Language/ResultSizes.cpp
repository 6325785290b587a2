// Sizes of axes that the result types of a kernel determine: some expressions must have the shape of a result.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {

/// Records that the expression has these sizes, and so do the expressions that its elements are computed from one by
/// one: operands of arithmetic, the value of a name, the argument of a softmax. An operand of fewer dimensions
/// determines nothing.
void KnownSizes::expect(const Node &node, const std::vector<Statement> &body, const Dimensions &sizes) {
  if (!expected.insert({&node, sizes}).second)
    return;
  auto follow = [&](const NodePtr &operand) {
    if (operand)
      expect(*operand, body, sizes);
  };
  switch (node.kind) {
  case NodeKind::Name:
    for (const Statement &statement : body)
      if (statement.value && statement.targets.size() == 1 && !statement.destructures && !statement.isPart &&
          statement.targets[0] == node.name)
        follow(statement.value);
    break;
  case NodeKind::Unary:
  case NodeKind::Where:
    follow(node.operands[0]);
    break;
  case NodeKind::Binary:
    follow(node.operands[0]), follow(node.operands[1]);
    break;
  case NodeKind::Conditional:
    follow(node.operands[0]), follow(node.operands[2]);
    break;
  case NodeKind::Call:
    if (node.name == "softmax" || typer.functions.isFunction(node.name))
      for (const NodePtr &operand : node.operands)
        follow(operand);
    break;
  default:
    break;
  }
}

void KnownSizes::expectResults(const Kernel &declared) {
  const std::vector<typed::Result> &results = kernel.results;
  expected.clear();
  for (const Statement &statement : declared.body) {
    if (!statement.value || !statement.targets.empty() || statement.isRequirement || statement.isPart)
      continue;
    if (results.size() == 1)
      expect(*statement.value, declared.body, results[0].dimensions);
    else if (statement.value->kind == NodeKind::Tuple && statement.value->operands.size() == results.size())
      for (auto [item, result] : llvm::zip(statement.value->operands, results))
        expect(*item, declared.body, result.dimensions);
  }
}

/// Records that the result of a scheme has the sizes expected of the call.
void KnownSizes::expectOfScheme(const Node &call, const Scheme &scheme) {
  auto sizes = expected.find(&call);
  if (sizes == expected.end())
    return;
  const Dimensions own = sizes->second;
  for (const Statement &statement : scheme.body)
    if (statement.value && statement.targets.empty() && !statement.isRequirement) {
      expected.erase(statement.value.get()); // the entry of another call
      expect(*statement.value, scheme.body, own);
    }
}

/// Returns the axis of an einsum's result if the result's shape determines its length.
std::optional<Axis> KnownSizes::expectedAxis(const Node &einsum, const subscript::Einsum &spec,
                                             const std::string &name) const {
  auto sizes = expected.find(&einsum);
  if (sizes == expected.end() || !spec.result || spec.result->size() != sizes->second.size())
    return std::nullopt;
  for (auto [dimension, own] : llvm::zip(*spec.result, sizes->second))
    if (dimension.isAxis() && dimension.axes[0] == name)
      return Axis{name, own.size, own.runtime};
  return std::nullopt;
}

} // namespace skewer::language
