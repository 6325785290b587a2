// Resolution of calls: the kinds of names that each argument may contain, and the axes that calls name.
#include "dialect/Language/Resolver.h"

using namespace llvm;

namespace skewer::language {

void Resolver::visitKeywords(const Node &node, ArrayRef<StringRef> others) {
  for (const Keyword &k : node.keywords)
    if (!is_contained(others, k.name))
      visit(*k.value, Place::Number);
}

static const Node *keywordOf(const Node &call, StringRef name) {
  for (const Keyword &k : call.keywords)
    if (k.name == name)
      return k.value.get();
  return nullptr;
}

static bool hasText(const Node &call, size_t operand) {
  return call.operands.size() > operand && call.operands[operand]->kind == NodeKind::String;
}

void Resolver::visitCall(const Node &node, Place place) {
  if (const Scheme *scheme = schemeOf(node)) {
    record(node, {isBuiltin(*scheme) ? SymbolKind::Builtin : SymbolKind::Scheme, scheme->name});
    return visitSchemeCall(node, *scheme, place);
  }
  record(node, {SymbolKind::Function});
  StringRef name = node.name;
  if (name == "einsum")
    return visitEinsum(node);
  if (name == "rearrange" || name == "broadcast")
    return visitRearrangement(node);
  if (name == "gather")
    return visitAmongKeywords(node, 1, "dim");
  if (name == "tabulate")
    return visitAmongKeywords(node, 0, "");
  bool isAlong = keywordOf(node, "axis") || keywordOf(node, "dim") || node.operands.size() == 1;
  if (name == "sum" || name == "mean" || name == "cumsum" || ((name == "max" || name == "min") && isAlong))
    return visitAlong(node);
  if (name == "len" || name == "position")
    return visitNext(node.operands, 0, Place::AxisName);
  if (name == "highest" || name == "lowest")
    return visitNext(node.operands, 0, Place::Tensor);
  if (name == "concat") {
    visitNext(node.operands, 0, Place::Tensor);
    return visitKeywords(node);
  }
  if (name == "softmax" || name == "logsumexp") {
    visitNext(node.operands, 0, Place::Tensor);
    for (const Keyword &k : node.keywords)
      visit(*k.value, k.name == "where" ? Place::Expression : Place::Axis);
    return;
  }
  if (name == "pad" || name == "reshape" || name == "skew") {
    if (!node.operands.empty())
      visit(*node.operands[0], Place::Tensor);
    visitNext(node.operands, 1, Place::Number);
    return visitKeywords(node);
  }
  bool isDivisor = place == Place::Divisor || place == Place::PositionDivisor;
  bool isRoot = name == "rsqrt" || (name == "sqrt" && isDivisor); // 1 / sqrt(d)
  visitNext(node.operands, 0, isRoot ? divisorAt(place) : within(place));
  for (const Keyword &k : node.keywords)
    visit(*k.value, within(place));
}

void Resolver::visitEinsum(const Node &node) {
  visitNext(node.operands, 1, Place::Tensor);
  if (!hasText(node, 0))
    return;
  StringRef text = node.operands[0]->name;
  const ParsedText &parsed = textOf(text);
  bool isChecked = checkText(text), hasAxisSum = parsed.spec && is_contained(parsed.spec->axes(), "sum");
  for (const Keyword &k : node.keywords) {
    if (k.name == "where" || (k.name == "sum" && !hasAxisSum)) {
      visit(*k.value, k.name == "where" ? Place::Expression : Place::AxisName);
      continue;
    }
    checkWord(k.name);
    visit(*k.value, Place::Number);
  }
  if (isChecked)
    resolveCalls(parsed), checkIndices(text);
}

void Resolver::visitRearrangement(const Node &node) {
  if (!node.operands.empty())
    visit(*node.operands[0], Place::Tensor);
  visitKeywords(node);
  for (const Keyword &k : node.keywords)
    checkWord(k.name);
  if (hasText(node, 1))
    checkText(node.operands[1]->name);
}

/// Resolves gather and tabulate: a function only of the positions along the axes that the call names.
void Resolver::visitAmongKeywords(const Node &node, size_t function, StringRef notAnAxis) {
  if (function > 0 && !node.operands.empty())
    visit(*node.operands[0], Place::Tensor);
  visitKeywords(node);
  std::map<std::string, StringRef> outer = std::move(names->axes);
  names->axes.clear();
  for (const Keyword &k : node.keywords)
    if (k.name != notAnAxis) {
      checkWord(k.name);
      nameAxis(k.name);
    }
  visitNext(node.operands, function, Place::Position);
  names->axes = std::move(outer);
}

/// Resolves sum(x, j) and max(x, axis = j).
void Resolver::visitAlong(const Node &node) {
  if (!node.operands.empty())
    visit(*node.operands[0], Place::Tensor);
  visitNext(node.operands, 1, Place::Axis);
  for (const Keyword &k : node.keywords)
    visit(*k.value, Place::Axis);
}

void Resolver::visitSchemeCall(const Node &node, const Scheme &scheme, Place place) {
  for (const char *axis : {"i", "j"})
    if (names->axes.count(axis))
      scoreAxes.insert({&node, axis});
  auto operandOf = [&](StringRef name) {
    return find_if(scheme.operands, [&](const SchemeOperand &operand) { return operand.name == name; });
  };
  for (auto [k, argument] : enumerate(node.operands))
    visit(*argument, k < scheme.operands.size() && scheme.operands[k].isTensor ? Place::Tensor : within(place));
  for (const Keyword &k : node.keywords) {
    auto operand = operandOf(k.name);
    bool isScoreAxis = operand == scheme.operands.end() && (k.name == "i" || k.name == "j");
    visit(*k.value, isScoreAxis ? Place::AxisOrSize
                    : operand != scheme.operands.end() && operand->isTensor ? Place::Tensor
                                                                            : within(place));
  }
}

} // namespace skewer::language
