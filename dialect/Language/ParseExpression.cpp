// The parser of expressions. Its operators, weakest binding first: where, if else, or, and, not, comparisons, &,
// << >>, + -, * / // %, unary -, ^.
#include "dialect/Language/Habits.h"
#include "dialect/Language/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {

namespace {
constexpr int kMaximumNesting = 200;
constexpr size_t kMaximumDepth = 400;

enum Precedence { kOr = 1, kAnd, kNot, kComparison, kBits, kShift, kSum, kProduct };
int precedenceOf(const Token &token) {
  if (token.kind != TokenKind::Symbol && token.kind != TokenKind::Name)
    return 0;
  StringRef t = token.text;
  if (t == "or" || t == "||")
    return kOr;
  if (t == "and" || t == "&&")
    return kAnd;
  if (t == "<" || t == "<=" || t == ">" || t == ">=" || t == "==" || t == "!=")
    return kComparison;
  if (t == "&")
    return kBits;
  if (t == "<<" || t == ">>")
    return kShift;
  if (t == "+" || t == "-")
    return kSum;
  if (t == "*" || t == "/" || t == "//" || t == "%" || t == "floordiv" || t == "mod")
    return kProduct;
  return 0;
}
/// Returns whether an expression may begin after this token without belonging to another one: after "(", "=", or before
/// the first word of a new line.
bool isOpen(StringRef token) {
  return StringRef("([{,;=:").contains(token.take_front(1)) || token == "return" || token == "}";
}
StringRef canonicalOperator(StringRef t) {
  return t == "||" ? "or" : t == "&&" ? "and" : t == "floordiv" ? "//" : t == "mod" ? "%" : t == "**" ? "^" : t;
}
} // namespace

StringRef Parser::upToHere(StringRef from) const { return StringRef(from.data(), previous.end() - from.data()); }

NodePtr Parser::make(NodeKind kind, StringRef from, StringRef name, std::vector<NodePtr> operands) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->text = upToHere(from);
  node->name = name;
  for (const NodePtr &operand : operands)
    if (operand)
      node->depth = std::max(node->depth, operand->depth + 1);
  node->operands = std::move(operands);
  if (node->depth > kMaximumDepth) {
    diagnostics.error(node->text.take_back(1), "this expression has more than " + std::to_string(kMaximumDepth) +
                                                   " operations in one chain; name its parts");
    return nullptr;
  }
  return node;
}

NodePtr Parser::expression() {
  if (++nesting > kMaximumNesting) {
    diagnostics.error(current.text, "nested deeper than " + std::to_string(kMaximumNesting) + " levels");
    return nullptr; // `nesting` is reset when the parser skips the statement
  }
  StringRef from = current.text;
  NodePtr left = conditional();
  while (left && at("where")) {
    advance();
    NodePtr predicate = binary(kOr);
    if (!predicate)
      return nullptr;
    if (at("if"))
      return diagnostics.error(current.text, "'where … if …' can be read in two ways; use parentheses"), nullptr;
    std::vector<NodePtr> operands;
    operands.push_back(std::move(left));
    operands.push_back(std::move(predicate));
    left = make(NodeKind::Where, from, "where", std::move(operands));
  }
  --nesting;
  return left;
}

/// Parses a if P else b. Another conditional may follow `else`.
NodePtr Parser::conditional() {
  StringRef from = current.text;
  NodePtr value = binary(kOr);
  if (!value || !at("if"))
    return value;
  advance();
  std::vector<NodePtr> operands;
  operands.push_back(std::move(value));
  operands.push_back(binary(kOr));
  if (!operands[1])
    return nullptr;
  if (!at("else")) {
    fail("'else' after the condition: x if j <= i else 0");
    return nullptr;
  }
  advance();
  if (++nesting > kMaximumNesting)
    return diagnostics.error(current.text, "nested deeper than " + std::to_string(kMaximumNesting) + " levels"),
           nullptr;
  operands.push_back(conditional());
  if (!operands[2])
    return nullptr;
  --nesting;
  return make(NodeKind::Conditional, from, "if", std::move(operands));
}

NodePtr Parser::binary(int lowest) {
  StringRef from = current.text;
  NodePtr left;
  if (lowest <= kNot && (at("not") || at("!"))) {
    advance();
    if (++nesting > kMaximumNesting)
      return diagnostics.error(current.text, "nested deeper than " + std::to_string(kMaximumNesting) + " levels"),
             nullptr;
    std::vector<NodePtr> operands;
    operands.push_back(binary(kNot));
    if (!operands[0])
      return nullptr;
    --nesting;
    left = make(NodeKind::Unary, from, "not", std::move(operands));
  } else {
    left = unary();
  }
  NodePtr chain; // 0 <= i < n means 0 <= i and i < n
  StringRef middle;
  while (left) {
    if (StringRef instead = insteadOfOperator(current.text); !instead.empty() && current.kind == TokenKind::Symbol) {
      diagnostics.error(current.text, "'" + current.text.str() + "' is no operator");
      diagnostics.note(instead.str());
      return nullptr;
    }
    int precedence = precedenceOf(current);
    if (!precedence || precedence < lowest)
      break;
    StringRef name = canonicalOperator(current.text);
    if (precedence == kComparison && middle.data()) {
      diagnostics.error(current.text, "a chain of comparisons; write it with 'and'");
      return nullptr;
    }
    middle = precedence == kComparison ? current.text : StringRef();
    advance();
    NodePtr right = binary(precedence + 1);
    if (!right)
      return nullptr;
    std::vector<NodePtr> operands;
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    left = make(NodeKind::Binary, from, name, std::move(operands));
  }
  return left;
}

NodePtr Parser::product() { return binary(kProduct); }

NodePtr Parser::unary() {
  StringRef from = current.text;
  while (at("+"))
    advance();
  if (!at("-"))
    return power();
  advance();
  if (++nesting > kMaximumNesting) {
    diagnostics.error(from, "nested deeper than " + std::to_string(kMaximumNesting) + " levels");
    return nullptr;
  }
  std::vector<NodePtr> operands;
  operands.push_back(unary());
  if (!operands[0])
    return nullptr;
  --nesting;
  return make(NodeKind::Unary, from, "-", std::move(operands));
}

NodePtr Parser::power() {
  StringRef from = current.text;
  NodePtr base = postfix();
  if (!base || !(at("^") || at("**")))
    return base;
  advance();
  if (++nesting > kMaximumNesting) {
    diagnostics.error(from, "nested deeper than " + std::to_string(kMaximumNesting) + " levels");
    return nullptr;
  }
  std::vector<NodePtr> operands;
  operands.push_back(std::move(base));
  operands.push_back(unary());
  if (!operands[1])
    return nullptr;
  --nesting;
  return make(NodeKind::Binary, from, "^", std::move(operands));
}

NodePtr Parser::postfix() {
  StringRef from = current.text;
  NodePtr base = primary();
  while (base && at("[") && !current.newlineBefore) {
    advance();
    std::vector<NodePtr> operands;
    operands.push_back(std::move(base));
    NodePtr node = make(NodeKind::Subscript, from, "[]", std::move(operands));
    if (!node || !subscripts(*node))
      return nullptr;
    node->text = upToHere(from);
    base = std::move(node);
  }
  if (base && at(".") && following.kind == TokenKind::Name && !current.newlineBefore) {
    StringRef receiver = upToHere(from).take_front(40);
    advance();
    diagnostics.error(upToHere(from),
                      "'" + receiver.str() + "." + current.text.str() + "': there are no names with a '.' in them");
    diagnostics.note(insteadOfMember(receiver, current.text, following.is("(")));
    return nullptr;
  }
  return base;
}

NodePtr Parser::primary() {
  StringRef from = current.text;
  if (current.kind == TokenKind::Number)
    return number();
  if (current.kind == TokenKind::String) {
    advance();
    return make(NodeKind::String, from, from.drop_front().drop_back(), {});
  }
  if (take("..."))
    return make(NodeKind::Ellipsis, from, "...", {});
  if (at("(") || at("["))
    return list(at("(") ? ")" : "]");
  if (current.kind == TokenKind::Name && !at("return") && !at("where") && !at("and") && !at("or") && !at("if") &&
      !at("else")) {
    advance();
    if (!at("(") || current.newlineBefore)
      return make(NodeKind::Name, from, from, {});
    advance();
    NodePtr call = make(NodeKind::Call, from, from, {});
    if (!arguments(*call))
      return nullptr;
    call->text = upToHere(from);
    return call;
  }
  bool isCall = at("where") && following.is("(");
  fail("an expression" + (isOpen(previous) ? "" : " after '" + previous.str() + "'"));
  if (isCall)
    diagnostics.note("a choice is written x if P else 0, and a mask scores where j <= i");
  return nullptr;
}

NodePtr Parser::number() {
  StringRef from = current.text;
  advance();
  NodePtr node = make(NodeKind::Number, from, from, {});
  if (from.find_first_not_of("0123456789") == StringRef::npos) {
    node->isInteger = true;
    if (from.getAsInteger(10, node->integer)) {
      diagnostics.error(from, "this integer does not fit 64 bits");
      return nullptr;
    }
    node->number = static_cast<double>(node->integer);
    return node;
  }
  if (from.find_first_not_of("0123456789.eE+-") != StringRef::npos || from.getAsDouble(node->number) ||
      toLower(from.back()) == 'e') {
    diagnostics.error(from, "this is not a number");
    return nullptr;
  }
  if (std::isinf(node->number)) {
    diagnostics.error(from, "this number is beyond double precision; infinity is written inf");
    return nullptr;
  }
  return node;
}

/// Parses ( a ), ( a, b ), [ a, b ]. One element in parentheses stands for itself.
NodePtr Parser::list(StringRef close) {
  StringRef from = current.text;
  bool parenthesis = close == ")";
  advance();
  std::vector<NodePtr> items;
  bool comma = false;
  while (!at(close)) {
    NodePtr item = expression();
    if (!item)
      return nullptr;
    items.push_back(std::move(item));
    if (!take(","))
      break;
    comma = true;
  }
  if (!at(close)) {
    bool said = current.kind == TokenKind::Bad || slashes.data();
    fail("',' or '" + close.str() + "'");
    if (!said && current.newlineBefore)
      diagnostics.note(from, "to close this '" + from.str() + "'");
    return nullptr;
  }
  advance();
  if (parenthesis && items.size() == 1 && !comma)
    return std::move(items[0]);
  return make(NodeKind::Tuple, from, from, std::move(items));
}

bool Parser::arguments(Node &call) {
  while (!at(")")) {
    if (current.kind == TokenKind::Name && following.is("=")) {
      Keyword keyword{current.text, nullptr};
      advance();
      advance();
      keyword.value = expression();
      if (!keyword.value)
        return false;
      call.depth = std::max(call.depth, keyword.value->depth + 1);
      for (const Keyword &other : call.keywords)
        if (other.name == keyword.name) {
          diagnostics.error(keyword.name, "argument '" + keyword.name.str() + "' is given twice");
          return false;
        }
      call.keywords.push_back(std::move(keyword));
    } else {
      NodePtr operand = expression();
      if (!operand)
        return false;
      if (!call.keywords.empty()) {
        diagnostics.error(operand->text, "an argument without a name cannot follow one with a name");
        return false;
      }
      call.depth = std::max(call.depth, operand->depth + 1);
      call.operands.push_back(std::move(operand));
    }
    if (!take(","))
      break;
  }
  return take(")") || fail("',' or ')' in the arguments of '" + call.name.str() + "'");
}

bool Parser::subscripts(Node &subscript) {
  do {
    StringRef from = current.text;
    NodePtr low, high, step;
    if (at("]"))
      break;
    if (!at(":") && !(low = expression()))
      return false;
    if (take(":")) {
      if (!at(",") && !at("]") && !at(":") && !(high = expression()))
        return false;
      if (take(":") && !at(",") && !at("]") && !(step = expression()))
        return false;
      std::vector<NodePtr> operands;
      operands.push_back(std::move(low));
      operands.push_back(std::move(high));
      operands.push_back(std::move(step));
      low = make(NodeKind::Slice, from, ":", std::move(operands));
      if (!low)
        return false;
    }
    subscript.depth = std::max(subscript.depth, low->depth + 1);
    subscript.operands.push_back(std::move(low));
  } while (take(","));
  return expect("]", "the subscripts");
}

} // namespace skewer::language
