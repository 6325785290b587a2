// Resolution of calls: the kinds of names that each argument may contain, and the axes that calls name.
#include "dialect/Language/BodyResolver.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

static bool isLetter(char c) { return isAlnum(c) || c == '_'; }

void BodyResolver::visitKeywords(const Node &node) {
  for (const Keyword &k : node.keywords)
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

void BodyResolver::visitCall(const Node &node, Place place) {
  if (const Scheme *scheme = schemes.find(node.name, names.isBuiltin)) {
    symbols.record(node, {schemes.isBuiltin(*scheme) ? SymbolKind::Builtin : SymbolKind::Scheme, scheme->name});
    return visitSchemeCall(node, *scheme, place);
  }
  symbols.record(node, {SymbolKind::Function});
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

void BodyResolver::visitEinsum(const Node &node) {
  visitNext(node.operands, 1, Place::Tensor);
  if (!hasText(node, 0))
    return;
  StringRef text = node.operands[0]->name;
  ParsedText &parsed = texts.of(text, names.isBuiltin);
  bool isChecked = texts.check(text, parsed), hasAxisSum = parsed.spec && is_contained(parsed.spec->axes(), "sum");
  for (const Keyword &k : node.keywords) {
    if (k.name == "where" || (k.name == "sum" && !hasAxisSum)) {
      visit(*k.value, k.name == "where" ? Place::Expression : Place::AxisName);
      continue;
    }
    refusesReserved(k.name, diagnostics);
    visit(*k.value, Place::Number);
  }
  if (isChecked)
    resolveCalls(parsed), checkIndices(text, parsed);
}

/// Reports numbers in index expressions that have the name of an axis in scope. Tensors need no check, because they
/// cannot stand there.
void BodyResolver::checkIndices(StringRef text, ParsedText &parsed) {
  if (!parsed.spec)
    return;
  for (const subscript::Dimensions &operand : parsed.spec->operands)
    for (const subscript::Dimension &dimension : operand) {
      if (dimension.isProduct())
        continue;
      StringRef place = text.slice(dimension.begin, dimension.end);
      for (const std::string &name : subscript::symbolsOf(dimension.index)) {
        auto value = names.values.find(name);
        if (value == names.values.end() || !value->second.isNumber() || !names.axes.count(name))
          continue;
        size_t at = 0; // the place of the whole word
        while ((at = place.find(name, at)) != StringRef::npos &&
               ((at > 0 && isLetter(place[at - 1])) || isLetter((place.drop_front(at + name.size()) + " ").str()[0])))
          ++at;
        StringRef word = at == StringRef::npos ? place : place.substr(at, name.size());
        parsed.isRefused = true;
        if (names.contested.insert(name).second)
          reportContest(word, name, value->second);
      }
    }
}

/// Resolves the calls in index expressions, with the axes of the text in scope.
void BodyResolver::resolveCalls(const ParsedText &parsed) {
  for (const auto &[symbol, call] : parsed.calls) {
    bool isNew;
    const Node *node = texts.call(call, &isNew);
    if (node && isNew)
      visit(*node, Place::Position);
  }
}

void BodyResolver::visitRearrangement(const Node &node) {
  if (!node.operands.empty())
    visit(*node.operands[0], Place::Tensor);
  visitKeywords(node);
  for (const Keyword &k : node.keywords)
    refusesReserved(k.name, diagnostics);
  if (hasText(node, 1))
    texts.check(node.operands[1]->name, texts.of(node.operands[1]->name, names.isBuiltin));
}

/// Resolves gather and tabulate: a function only of the positions along the axes that the call names.
void BodyResolver::visitAmongKeywords(const Node &node, size_t function, StringRef notAnAxis) {
  if (function > 0 && !node.operands.empty())
    visit(*node.operands[0], Place::Tensor);
  visitKeywords(node);
  std::map<std::string, StringRef> outer = std::move(names.axes);
  names.axes.clear();
  for (const Keyword &k : node.keywords)
    if (k.name != notAnAxis) {
      refusesReserved(k.name, diagnostics);
      names.nameAxis(k.name);
    }
  visitNext(node.operands, function, Place::Position);
  names.axes = std::move(outer);
}

/// Resolves sum(x, j) and max(x, axis = j).
void BodyResolver::visitAlong(const Node &node) {
  if (!node.operands.empty())
    visit(*node.operands[0], Place::Tensor);
  visitNext(node.operands, 1, Place::Axis);
  for (const Keyword &k : node.keywords)
    visit(*k.value, Place::Axis);
}

void BodyResolver::visitSchemeCall(const Node &node, const Scheme &scheme, Place place) {
  for (const char *axis : {"i", "j"})
    if (names.axes.count(axis))
      symbols.recordScoreAxis(node, axis);
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
