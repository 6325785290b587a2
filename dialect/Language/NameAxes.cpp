// Finds the statements, calls and texts that name axes.
#include "dialect/Language/NameAxes.h"

using namespace llvm;

namespace skewer::language {

namespace {
class AxisNamer {
public:
  AxisNamer(const KnownSchemes &schemes, TextTable &texts, BodyNames &names)
      : schemes(schemes), texts(texts), names(names) {}
  void nameAxesOf(const Node &);

private:
  void nameAxesOfCall(const Node &);
  void nameAxesOfText(const Node &text);

  const KnownSchemes &schemes;
  TextTable &texts;
  BodyNames &names;
};
} // namespace

void nameAxesOf(const std::vector<Statement> &body, const KnownSchemes &schemes, TextTable &texts, BodyNames &names) {
  for (const Statement &statement : body) {
    if (statement.isPart && !statement.targets.empty())
      names.nameAxis(statement.targets[0]);
    if (statement.value)
      AxisNamer(schemes, texts, names).nameAxesOf(*statement.value);
  }
}

void AxisNamer::nameAxesOf(const Node &node) {
  for (const NodePtr &operand : node.operands)
    if (operand)
      nameAxesOf(*operand);
  for (const Keyword &k : node.keywords)
    nameAxesOf(*k.value);
  if (node.kind == NodeKind::Call)
    nameAxesOfCall(node);
}

/// Adds the axes of an einsum's or a rearrangement's text: letters by themselves or in a product.
void AxisNamer::nameAxesOfText(const Node &node) {
  const ParsedText &parsed = texts.of(node.name, names.isBuiltin);
  if (!parsed.spec)
    return;
  auto nameAll = [&](const subscript::Dimensions &list) {
    for (const std::string &axis : subscript::axesOf(list))
      if (!parsed.numbers.count(axis))
        names.nameAxis(axis, node.name);
  };
  for (const subscript::Dimensions &operand : parsed.spec->operands)
    nameAll(operand);
  if (parsed.spec->result)
    nameAll(*parsed.spec->result);
}

void AxisNamer::nameAxesOfCall(const Node &call) {
  if (const Scheme *scheme = schemes.find(call.name, names.isBuiltin)) {
    // The axes of the scheme's signature, except the axes of its operands, which belong to the caller.
    for (StringRef axis : scheme->resultAxes) {
      bool isScore = axis == "i" || axis == "j";
      bool isOperands = any_of(scheme->operands, [&](const SchemeOperand &operand) {
        return is_contained(operand.axes, axis);
      });
      bool isGiven = any_of(call.keywords, [&](const Keyword &k) { return isScore && k.name == axis; });
      if ((isScore || !isOperands) && !isGiven)
        names.nameAxis(axis, call.name);
    }
    return;
  }
  size_t text = call.name == "einsum" ? 0 : 1;
  if (text == 0 || call.name == "rearrange" || call.name == "broadcast") {
    if (call.operands.size() > text && call.operands[text]->kind == NodeKind::String)
      nameAxesOfText(*call.operands[text]);
    for (const Keyword &k : call.keywords) // an axis that only index expressions have
      if (k.name != "where" && k.name != "sum")
        names.nameAxis(k.name);
  } else if (call.name == "gather" || call.name == "tabulate") {
    for (const Keyword &k : call.keywords)
      if (call.name == "tabulate" || k.name != "dim")
        names.nameAxis(k.name);
  }
}

bool takesFromCaller(const Scheme &scheme, StringRef axis) {
  for (const SchemeOperand &operand : scheme.operands)
    if (operand.name == axis || is_contained(operand.pattern, axis))
      return false;
  return none_of(scheme.body, [&](const Statement &one) { return is_contained(one.targets, axis); });
}

} // namespace skewer::language
