// Calls of schemes and of real-valued functions, and divisions, inside the index expressions of an einsum's text. Each
// becomes a symbol until the sizes of the axes are known.
#include "dialect/Language/EinsumText.h"
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

namespace {
bool isWord(char c) { return isAlnum(c) || c == '_'; }
} // namespace

/// Returns the place where the bracket that opens at `at` closes; npos if it never closes.
static size_t closeOf(StringRef text, size_t at) {
  int inner = 0;
  for (; at < text.size(); ++at) {
    inner += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (inner == 0)
      return at;
  }
  return StringRef::npos;
}

std::vector<StringRef> namesInExpression(StringRef text) {
  std::vector<StringRef> names;
  for (size_t at = 0; at < text.size();) {
    if (!isWord(text[at])) {
      ++at;
      continue;
    }
    StringRef word = text.drop_front(at).take_while(isWord);
    at += word.size();
    StringRef rest = text.drop_front(at).ltrim();
    if (word == "len" && rest.starts_with("(")) { // a number, not a position
      size_t close = closeOf(text, text.size() - rest.size());
      at = close == StringRef::npos ? text.size() : close + 1;
      continue;
    }
    bool isKeyword = rest.starts_with("=") && !rest.starts_with("==");
    if (!isDigit(word[0]) && !rest.starts_with("(") && !isKeyword)
      names.push_back(word);
  }
  return names;
}

/// Returns whether the expression contains `/`, which does not say how it rounds: it divides real numbers, and whole
/// numbers without remainder.
static bool divides(StringRef expression) {
  for (size_t at = expression.find('/'); at != StringRef::npos; at = expression.find('/', at + 1)) {
    if (!expression.drop_front(at).starts_with("//"))
      return true;
    ++at;
  }
  return false;
}

/// Returns a parenthesized symbol as long as the call, so that places stay the same and a lone call is not an axis.
/// Calls with the same text get the same symbol. Nothing if no such symbol is left.
static std::optional<std::string> symbolFor(StringRef call, std::map<std::string, StringRef> &calls) {
  constexpr size_t kMaximumCalls = 1000; // each call compares itself with the earlier ones
  if (calls.size() >= kMaximumCalls || call.size() < 3)
    return std::nullopt;
  size_t number = 0;
  std::string symbol;
  do {
    std::string digits = call.size() > 3 ? std::to_string(number) : "";
    if (digits.size() + 3 > call.size() || (digits.empty() && number > 0))
      return std::nullopt;
    ++number;
    symbol = "'" + std::string(call.size() - 3 - digits.size(), '0') + digits;
  } while (calls.count(symbol) && calls[symbol] != call);
  calls[symbol] = call;
  return symbol;
}

std::string withCallSymbols(StringRef text, std::map<std::string, StringRef> &calls,
                            function_ref<bool(StringRef)> isDefined) {
  static const StringRef known[] = {"len", "abs", "min",      "max", "clamp", "select",
                                    "and", "or",  "floordiv", "mod", "not"};
  std::string result = text.str();
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    size_t begin = at, end = StringRef::npos;
    if (text[at] == '(' && depth == 1) {
      begin = at + 1, end = closeOf(text, at);
      if (end == StringRef::npos || !divides(text.slice(begin, end)))
        continue;
      depth = 0;
    } else {
      if (depth < 1 || !isWord(text[at]) || (at > 0 && isWord(text[at - 1])))
        continue;
      StringRef name = text.drop_front(at).take_while(isWord);
      size_t open = at + name.size();
      if (isDigit(name[0]) || (is_contained(known, name) && !isDefined(name)) ||
          !text.drop_front(open).starts_with("("))
        continue;
      end = closeOf(text, open);
      if (end == StringRef::npos)
        break;
      ++end;
    }
    StringRef call = text.slice(begin, end);
    auto symbol = symbolFor(call, calls);
    if (!symbol)
      return result;
    result.replace(begin, call.size(), "(" + *symbol + ")");
    at = text[at] == '(' ? end : end - 1;
  }
  return result;
}

/// Visits the names of an expression, except those that are called.
static void namesIn(const Node &node, function_ref<void(const Node &)> visit) {
  if (node.kind == NodeKind::Name)
    visit(node);
  for (const NodePtr &operand : node.operands)
    if (operand)
      namesIn(*operand, visit);
  for (const Keyword &k : node.keywords)
    namesIn(*k.value, visit);
}

/// Returns a read at the axes that the call names; it stands for the call until the sizes of the axes are known.
/// Nothing after an error.
std::optional<Expr> Einsums::standInFor(const std::string &symbol, StringRef call, const std::set<std::string> &axes) {
  const Node *node = resolver.texts.call(call);
  if (!node)
    return std::nullopt;
  std::set<std::string> named;
  bool good = true;
  namesIn(*node, [&](const Node &word) {
    std::string name = word.name.str();
    const Symbol *resolved = resolver.symbols.of(word);
    SymbolKind kind = resolved ? resolved->kind : SymbolKind::Unknown;
    good &= kind != SymbolKind::Contested; // the resolver has reported it
    const Value *value = kind == SymbolKind::Axis ? nullptr : typer.names.lookup(name);
    bool isAxis = axes.count(name) || findAxis(name);
    if (good && value && kind == SymbolKind::Either && RealFunctions::isFunctionOfPositions(*value) && isAxis) {
      typer.names.ambiguous(word.text, name, *value);
      good = false;
    }
    if (axes.count(name) && !(resolved && resolved->isNumber()))
      value = nullptr;
    if (value && (value->is(ValueKind::Index) || value->is(ValueKind::Real)))
      for (const auto &[axis, size] : value->axes)
        named.insert(axis);
    else if (!value && isAxis)
      named.insert(name);
  });
  if (!good)
    return std::nullopt;
  std::vector<Expr> symbols;
  for (const std::string &name : named)
    symbols.push_back(Expr::symbol(name));
  return Expr::read(symbol, std::move(symbols));
}

std::optional<Expr> Einsums::evaluateCallsIn(const Expr &e, const subscript::AxisSizes &all) {
  auto call = e.kind() == subscript::Kind::Read ? textCalls.find(e.name()) : textCalls.end();
  if (call == textCalls.end()) {
    std::vector<Expr> operands;
    for (const Expr &operand : e.operands()) {
      auto evaluated = evaluateCallsIn(operand, all);
      if (!evaluated)
        return std::nullopt;
      operands.push_back(*evaluated);
    }
    return operands.empty() ? e : e.withOperands(std::move(operands));
  }
  const Node *node = resolver.texts.call(call->second);
  if (!node)
    return std::nullopt;
  const Node &parsed = *node;
  std::vector<Axis> own;
  for (const auto &[axis, size] : all) {
    const Axis *outer = findAxis(axis);
    own.push_back({axis, size, size == subscript::kRuntime ? (outer ? outer->runtime : axis) : ""});
  }
  Scope inner = scope->withAxes(own);
  std::map<std::string, StringRef> calls = std::move(textCalls); // an einsum inside has calls of its own
  Scope *outer = scope;
  scope = &inner;
  Value value = evaluate(parsed);
  for (auto &[name, axis] : value.axes) // a function named earlier takes the sizes that its axes have here
    if (auto size = all.find(name); size != all.end())
      axis.size = size->second;
  auto index = typer.reals.asIndex(parsed, value,
                                   divides(parsed.text)
                                       ? "an index expression is a whole number or an expression of positions"
                                       : "what is called in an index expression gives a whole number or a position");
  scope = outer;
  textCalls = std::move(calls);
  outer->returnFrom(inner);
  return index;
}

/// Replaces the reads that stand for calls by the values of the calls, once the sizes are known.
bool Einsums::evaluateCalls(subscript::Einsum &spec, const subscript::AxisSizes &all) {
  if (textCalls.empty())
    return true;
  for (auto &operand : spec.operands)
    for (subscript::Dimension &dimension : operand)
      if (!dimension.isProduct()) {
        auto index = evaluateCallsIn(dimension.index, all);
        if (!index)
          return false;
        dimension.index = *index;
      }
  return true;
}

} // namespace skewer::language
