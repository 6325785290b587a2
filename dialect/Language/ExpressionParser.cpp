// The parser of expressions. Its operators, weakest binding first: where, if else, or, and, not, comparisons, &,
// << >>, + -, * / // %, unary -, ^.
#include "dialect/Language/ExpressionParser.h"
#include "dialect/Language/Habits.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"
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

NodePtr ExpressionParser::make(NodeKind kind, StringRef from, StringRef name, std::vector<NodePtr> operands) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->text = tokens.since(from);
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

NodePtr ExpressionParser::make(NodeKind kind, StringRef from, StringRef name, NodePtr left, NodePtr right) {
  std::vector<NodePtr> operands;
  operands.push_back(std::move(left));
  if (right)
    operands.push_back(std::move(right));
  return make(kind, from, name, std::move(operands));
}

/// Reports an error at `place` if there are too many levels.
bool ExpressionParser::isTooDeep(StringRef place) {
  if (nesting <= kMaximumNesting)
    return false;
  diagnostics.error(place, "nested deeper than " + std::to_string(kMaximumNesting) + " levels");
  return true;
}

NodePtr ExpressionParser::expression() {
  SaveAndRestore level(nesting, nesting + 1);
  StringRef from = tokens.text();
  if (isTooDeep(from))
    return nullptr;
  NodePtr left = conditional();
  while (left && tokens.take("where")) {
    NodePtr predicate = binary(kOr);
    if (!predicate)
      return nullptr;
    if (tokens.at("if"))
      return diagnostics.error(tokens.text(), "'where … if …' can be read in two ways; use parentheses"), nullptr;
    left = make(NodeKind::Where, from, "where", std::move(left), std::move(predicate));
  }
  return left;
}

NodePtr ExpressionParser::tuple() {
  StringRef from = tokens.text();
  std::vector<NodePtr> values;
  do {
    values.push_back(expression());
    if (!values.back())
      return nullptr;
  } while (tokens.take(","));
  return values.size() == 1 ? std::move(values.front()) : make(NodeKind::Tuple, from, "", std::move(values));
}

/// Parses a if P else b. Another conditional may follow `else`.
NodePtr ExpressionParser::conditional() {
  StringRef from = tokens.text();
  NodePtr value = binary(kOr);
  if (!value || !tokens.take("if"))
    return value;
  std::vector<NodePtr> operands;
  operands.push_back(std::move(value));
  operands.push_back(binary(kOr));
  if (!operands.back())
    return nullptr;
  if (!tokens.take("else")) {
    tokens.fail("'else' after the condition: x if j <= i else 0");
    return nullptr;
  }
  SaveAndRestore level(nesting, nesting + 1);
  if (isTooDeep(tokens.text()))
    return nullptr;
  operands.push_back(conditional());
  return operands.back() ? make(NodeKind::Conditional, from, "if", std::move(operands)) : nullptr;
}

NodePtr ExpressionParser::binary(int lowest) {
  StringRef from = tokens.text();
  NodePtr left;
  if (lowest <= kNot && (tokens.at("not") || tokens.at("!"))) {
    tokens.advance();
    SaveAndRestore level(nesting, nesting + 1);
    if (isTooDeep(tokens.text()))
      return nullptr;
    NodePtr operand = binary(kNot);
    if (!operand)
      return nullptr;
    left = make(NodeKind::Unary, from, "not", std::move(operand));
  } else {
    left = unary();
  }
  StringRef comparison; // 0 <= i < n would mean 0 <= i and i < n
  while (left) {
    const Token &current = tokens.current();
    if (StringRef instead = insteadOfOperator(current.text); !instead.empty() && current.kind == TokenKind::Symbol) {
      diagnostics.error(current.text, "'" + current.text.str() + "' is no operator");
      diagnostics.note(instead.str());
      return nullptr;
    }
    int precedence = precedenceOf(current);
    if (!precedence || precedence < lowest)
      break;
    StringRef name = canonicalOperator(current.text);
    if (precedence == kComparison && comparison.data()) {
      diagnostics.error(current.text, "a chain of comparisons; write it with 'and'");
      return nullptr;
    }
    comparison = precedence == kComparison ? current.text : StringRef();
    tokens.advance();
    NodePtr right = binary(precedence + 1);
    if (!right)
      return nullptr;
    left = make(NodeKind::Binary, from, name, std::move(left), std::move(right));
  }
  return left;
}

NodePtr ExpressionParser::product() { return binary(kProduct); }

NodePtr ExpressionParser::unary() {
  StringRef from = tokens.text();
  while (tokens.take("+"))
    ;
  if (!tokens.take("-"))
    return power();
  SaveAndRestore level(nesting, nesting + 1);
  if (isTooDeep(from))
    return nullptr;
  NodePtr operand = unary();
  return operand ? make(NodeKind::Unary, from, "-", std::move(operand)) : nullptr;
}

NodePtr ExpressionParser::power() {
  StringRef from = tokens.text();
  NodePtr base = postfix();
  if (!base || !(tokens.take("^") || tokens.take("**")))
    return base;
  SaveAndRestore level(nesting, nesting + 1);
  if (isTooDeep(from))
    return nullptr;
  NodePtr exponent = unary();
  return exponent ? make(NodeKind::Binary, from, "^", std::move(base), std::move(exponent)) : nullptr;
}

NodePtr ExpressionParser::postfix() {
  StringRef from = tokens.text();
  NodePtr base = primary();
  while (base && !tokens.current().newlineBefore && tokens.take("[")) {
    NodePtr node = make(NodeKind::Subscript, from, "[]", std::move(base));
    if (!node || !subscripts(*node))
      return nullptr;
    node->text = tokens.since(from);
    base = std::move(node);
  }
  if (base && tokens.at(".") && tokens.following().kind == TokenKind::Name && !tokens.current().newlineBefore) {
    StringRef receiver = tokens.since(from).take_front(40);
    tokens.advance();
    diagnostics.error(tokens.since(from),
                      "'" + receiver.str() + "." + tokens.text().str() + "': there are no names with a '.' in them");
    diagnostics.note(insteadOfMember(receiver, tokens.text(), tokens.following().is("(")));
    return nullptr;
  }
  return base;
}

NodePtr ExpressionParser::primary() {
  StringRef from = tokens.text();
  if (tokens.current().kind == TokenKind::Number)
    return number();
  if (tokens.current().kind == TokenKind::String) {
    tokens.advance();
    return make(NodeKind::String, from, from.drop_front().drop_back());
  }
  if (tokens.take("..."))
    return make(NodeKind::Ellipsis, from, "...");
  if (tokens.at("(") || tokens.at("["))
    return list(tokens.at("(") ? ")" : "]");
  bool isKeyword = is_contained({"return", "where", "and", "or", "if", "else"}, from);
  if (tokens.atName() && !isKeyword) {
    tokens.advance();
    if (tokens.current().newlineBefore || !tokens.take("("))
      return make(NodeKind::Name, from, from);
    NodePtr call = make(NodeKind::Call, from, from);
    if (!arguments(*call))
      return nullptr;
    call->text = tokens.since(from);
    return call;
  }
  bool isCall = tokens.at("where") && tokens.following().is("(");
  tokens.fail("an expression" + (isOpen(tokens.previous()) ? "" : " after '" + tokens.previous().str() + "'"));
  if (isCall)
    diagnostics.note("a choice is written x if P else 0, and a mask scores where j <= i");
  return nullptr;
}

NodePtr ExpressionParser::number() {
  StringRef from = tokens.text();
  tokens.advance();
  NodePtr node = make(NodeKind::Number, from, from);
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
NodePtr ExpressionParser::list(StringRef close) {
  StringRef from = tokens.text();
  bool parenthesis = close == ")";
  tokens.advance();
  std::vector<NodePtr> items;
  bool comma = false;
  while (!tokens.at(close)) {
    NodePtr item = expression();
    if (!item)
      return nullptr;
    items.push_back(std::move(item));
    if (!tokens.take(","))
      break;
    comma = true;
  }
  if (!tokens.take(close)) {
    bool said = tokens.current().kind == TokenKind::Bad || tokens.isAfterSlashes();
    tokens.fail("',' or '" + close.str() + "'");
    if (!said && tokens.current().newlineBefore)
      diagnostics.note(from, "to close this '" + from.str() + "'");
    return nullptr;
  }
  if (parenthesis && items.size() == 1 && !comma)
    return std::move(items[0]);
  return make(NodeKind::Tuple, from, from, std::move(items));
}

bool ExpressionParser::arguments(Node &call) {
  while (!tokens.at(")")) {
    if (tokens.atName() && tokens.following().is("=")) {
      Keyword keyword{tokens.text(), nullptr};
      tokens.advance();
      tokens.advance();
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
    if (!tokens.take(","))
      break;
  }
  return tokens.take(")") || tokens.fail("',' or ')' in the arguments of '" + call.name.str() + "'");
}

bool ExpressionParser::subscripts(Node &subscript) {
  do {
    StringRef from = tokens.text();
    NodePtr low, high, step;
    if (tokens.at("]"))
      break;
    if (!tokens.at(":") && !(low = expression()))
      return false;
    if (tokens.take(":")) {
      if (!tokens.at(",") && !tokens.at("]") && !tokens.at(":") && !(high = expression()))
        return false;
      if (tokens.take(":") && !tokens.at(",") && !tokens.at("]") && !(step = expression()))
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
  } while (tokens.take(","));
  return tokens.expect("]", "the subscripts");
}

} // namespace skewer::language
