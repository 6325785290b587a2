// Collects the axes that a body names. They are in scope in the whole body, before and after, so that no meaning
// depends on the order of statements.
#include "dialect/Language/Resolver.h"

using namespace llvm;

namespace skewer::language {

void Resolver::nameAxesOf(const std::vector<Statement> &body) {
  for (const Statement &statement : body) {
    if (statement.isPart && !statement.targets.empty())
      nameAxis(statement.targets[0]);
    if (statement.value)
      nameAxesOf(*statement.value);
  }
}

void Resolver::nameAxesOf(const Node &node) {
  for (const NodePtr &operand : node.operands)
    if (operand)
      nameAxesOf(*operand);
  for (const Keyword &k : node.keywords)
    nameAxesOf(*k.value);
  if (node.kind == NodeKind::Call)
    nameAxesOfCall(node);
}

/// Adds the axes of an einsum's or a rearrangement's text: letters by themselves or in a product.
void Resolver::nameAxesOfText(const Node &node) {
  const ParsedText &parsed = textOf(node.name);
  if (!parsed.spec)
    return;
  auto nameAll = [&](const subscript::Dimensions &list) {
    for (const std::string &axis : subscript::axesOf(list))
      if (!parsed.numbers.count(axis))
        names->axes.insert({axis, node.name});
  };
  for (const subscript::Dimensions &operand : parsed.spec->operands)
    nameAll(operand);
  if (parsed.spec->result)
    nameAll(*parsed.spec->result);
}

void Resolver::nameAxesOfCall(const Node &call) {
  if (const Scheme *scheme = schemeOf(call)) {
    // The axes of the scheme's signature, except the axes of its operands, which belong to the caller.
    for (StringRef axis : scheme->resultAxes) {
      bool isScore = axis == "i" || axis == "j";
      bool isOperands = any_of(scheme->operands, [&](const SchemeOperand &operand) {
        return is_contained(operand.axes, axis);
      });
      bool isGiven = any_of(call.keywords, [&](const Keyword &k) { return isScore && k.name == axis; });
      if ((isScore || !isOperands) && !isGiven)
        names->axes.insert({axis.str(), call.name});
    }
    return;
  }
  size_t text = call.name == "einsum" ? 0 : 1;
  if (text == 0 || call.name == "rearrange" || call.name == "broadcast") {
    if (call.operands.size() > text && call.operands[text]->kind == NodeKind::String)
      nameAxesOfText(*call.operands[text]);
    for (const Keyword &k : call.keywords) // an axis that only index expressions have
      if (k.name != "where" && k.name != "sum")
        nameAxis(k.name);
  } else if (call.name == "gather" || call.name == "tabulate") {
    for (const Keyword &k : call.keywords)
      if (call.name == "tabulate" || k.name != "dim")
        nameAxis(k.name);
  }
}

} // namespace skewer::language
