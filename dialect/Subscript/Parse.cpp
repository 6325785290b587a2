// Parses text into index expressions by precedence climbing.
#include "dialect/Subscript/Arithmetic.h"
#include "dialect/Subscript/Bits.h"
#include "dialect/Subscript/Characters.h"
#include <cctype>

namespace skewer::subscript {

namespace {
constexpr int kMaximumNesting = 200;
// A chain a + b + c + … nests nodes without nested parentheses. Deeper trees would exhaust the stack of recursive
// visitors.
constexpr size_t kMaximumDepth = 1000;

enum Precedence { kOr = 1, kAnd, kNot, kComparison, kBits, kShift, kSum, kProduct };

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Parsed<Expr> run() {
    auto e = expression(kOr);
    skipSpace();
    if (e && at < text.size())
      e = unexpected("unexpected ", " after the expression");
    return e ? Parsed<Expr>(std::move(*e)) : error;
  }

private:
  std::nullopt_t fail(size_t position, std::string message) {
    if (error.message.empty())
      error = {position, std::move(message)};
    return std::nullopt;
  }

  /// Reports the character at the cursor.
  std::nullopt_t unexpected(const std::string &before, const std::string &after) {
    Character found = characterAt(text, at);
    return fail(at, before + found.shown + after + adviceOn(found));
  }

  void skipSpace() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  static bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '\''; }
  static bool isWord(char c) { return isWordStart(c) || std::isdigit(static_cast<unsigned char>(c)); }

  std::string_view peekWord() {
    size_t end = at;
    if (end < text.size() && isWordStart(text[end]))
      while (end < text.size() && isWord(text[end]))
        ++end;
    return text.substr(at, end - at);
  }
  bool take(std::string_view token) {
    skipSpace();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }

  struct Operator {
    const char *spelling;
    Precedence precedence;
    Kind kind; // for the shifts and the mask, the kind of their expansion
    bool negate = false, swap = false;
  };
  /// Returns the operator at the cursor (longest spelling first) without consuming it.
  const Operator *peekOperator() {
    static const Operator symbols[] = {
        {"&&", kAnd, Kind::And},
        {"||", kOr, Kind::Or},
        {"<<", kShift, Kind::Mul},
        {">>", kShift, Kind::FloorDiv},
        {"&", kBits, Kind::Mod},
        {"<=", kComparison, Kind::LessEqual},
        {">=", kComparison, Kind::LessEqual, false, true},
        {"==", kComparison, Kind::Equal},
        {"!=", kComparison, Kind::NotEqual},
        {"<", kComparison, Kind::Less},
        {">", kComparison, Kind::Less, false, true},
        {"//", kProduct, Kind::FloorDiv},
        {"+", kSum, Kind::Add},
        {"-", kSum, Kind::Add, true},
        {"*", kProduct, Kind::Mul},
        {"%", kProduct, Kind::Mod},
    };
    static const Operator words[] = {{"and", kAnd, Kind::And},
                                     {"or", kOr, Kind::Or},
                                     {"floordiv", kProduct, Kind::FloorDiv},
                                     {"mod", kProduct, Kind::Mod}};
    skipSpace();
    std::string_view word = peekWord(), rest = text.substr(at, 2);
    for (const Operator &o : words)
      if (word == o.spelling)
        return &o;
    for (const Operator &o : symbols)
      if (rest.substr(0, std::string_view(o.spelling).size()) == o.spelling)
        return &o;
    return nullptr;
  }

  std::optional<Expr> checked(Expr e) {
    if (e.depth() > kMaximumDepth)
      return fail(at, "the expression has more than " + std::to_string(kMaximumDepth) + " operators in one chain");
    return e;
  }

  /// Parses operators of at least `lowest` precedence; all associate to the left.
  std::optional<Expr> expression(int lowest) {
    auto left = unary();
    if (!left)
      return std::nullopt;
    std::optional<Expr> middle; // the last operand of a comparison: 0 <= i < n means 0 <= i and i < n
    while (const Operator *o = peekOperator()) {
      if (o->precedence < lowest)
        break;
      size_t begin = at;
      at += std::string_view(o->spelling).size();
      auto right = expression(o->precedence + 1);
      if (!right)
        return std::nullopt;
      if (o->precedence == kComparison) {
        const Expr &first = middle ? *middle : *left;
        Expr comparison = o->swap ? Expr::make(o->kind, {*right, first}) : Expr::make(o->kind, {first, *right});
        left = checked(middle ? logicalAnd(*left, comparison) : comparison);
        middle = right;
      } else if (o->precedence == kShift) {
        left = checked(o->kind == Kind::Mul ? shiftLeft(*left, *right) : shiftRight(*left, *right));
        middle.reset();
      } else if (o->precedence == kBits) {
        auto masked = right->isConstant() ? bitAnd(*left, right->value()) : std::nullopt;
        if (!masked)
          return fail(begin, "'&' takes a mask that is a whole number from 0 to 2^62 - 1, found " + print(*right));
        left = checked(*masked);
        middle.reset();
      } else {
        left = checked(Expr::make(o->kind, {*left, o->negate ? -*right : *right}));
        middle.reset();
      }
      if (!left)
        return std::nullopt;
    }
    return left;
  }

  std::optional<Expr> unary() {
    skipSpace();
    size_t begin = at;
    if (++nesting > kMaximumNesting)
      return fail(begin, "the expression is nested deeper than " + std::to_string(kMaximumNesting) + " levels");
    std::optional<Expr> result;
    if (peekWord() == "not" || (text.substr(at, 1) == "!" && text.substr(at, 2) != "!=")) {
      at += text[at] == '!' ? 1 : 3;
      if (auto operand = expression(kComparison))
        result = logicalNot(*operand);
    } else if (take("-")) {
      skipSpace();
      if (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
        result = integer(true);
      else if (auto operand = unary())
        result = -*operand;
    } else if (take("+")) {
      result = unary();
    } else {
      result = primary();
    }
    --nesting;
    return result;
  }

  std::optional<Expr> integer(bool negative) {
    size_t begin = at;
    int64_t value = 0;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at) {
      int64_t digit = text[at] - '0';
      auto scaled = checkedMultiply(value, 10);
      auto next = !scaled ? std::nullopt : negative ? checkedSubtract(*scaled, digit) : checkedAdd(*scaled, digit);
      if (!next)
        return fail(begin, "this integer does not fit 64 bits");
      value = *next;
    }
    if (at < text.size() && (isWordStart(text[at]) || text[at] == '.'))
      return fail(at, "expected an operator after an integer");
    return Expr(value);
  }

  /// Parses `expression, expression …` up to `close`.
  std::optional<std::vector<Expr>> arguments(char close, size_t open) {
    std::vector<Expr> list;
    while (true) {
      auto argument = expression(kOr);
      if (!argument)
        return std::nullopt;
      list.push_back(*argument);
      if (take(std::string_view(&close, 1)))
        return list;
      if (!take(","))
        return fail(at < text.size() ? at : open, std::string("expected ',' or '") + close + "'");
    }
  }

  std::optional<Expr> call(std::string_view name, size_t begin) {
    bool variadic = name == "min" || name == "max";
    size_t wanted = name == "abs" ? 1 : variadic ? 2 : name == "clamp" || name == "select" ? 3 : 0;
    if (!wanted)
      return fail(begin, "unknown function '" + std::string(name) +
                             "'; index expressions have abs, min, max, clamp and select");
    auto a = arguments(')', at - 1);
    if (!a)
      return std::nullopt;
    if (variadic ? a->size() < wanted : a->size() != wanted)
      return fail(begin, "'" + std::string(name) + "' takes " + std::to_string(wanted) + (variadic ? " or more" : "") +
                             " arguments, got " + std::to_string(a->size()));
    if (name == "abs")
      return abs((*a)[0]);
    if (name == "clamp")
      return clamp((*a)[0], (*a)[1], (*a)[2]);
    if (name == "select")
      return select((*a)[0], (*a)[1], (*a)[2]);
    std::optional<Expr> result = (*a)[0];
    for (size_t k = 1; k < a->size() && result; ++k)
      result = checked(Expr::make(name == "min" ? Kind::Min : Kind::Max, {*result, (*a)[k]}));
    return result;
  }

  std::optional<int64_t> whole() {
    skipSpace();
    bool negative = take("-");
    skipSpace();
    size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))
      ++end;
    int64_t value = 0;
    if (end == at)
      return fail(at, "expected an integer in a table");
    for (; at < end; ++at) {
      auto scaled = checkedMultiply(value, 10);
      auto next = !scaled    ? std::nullopt
                  : negative ? checkedSubtract(*scaled, text[at] - '0')
                             : checkedAdd(*scaled, text[at] - '0');
      if (!next)
        return fail(at, "this integer does not fit 64 bits");
      value = *next;
    }
    return value;
  }

  /// Parses a constant table and its row, after the bracket: 5 x 64, 4, 3..0][row].
  std::optional<Expr> table(size_t begin) {
    constexpr int64_t kMaximumRows = 1 << 24;
    auto values = std::make_shared<std::vector<int64_t>>();
    do {
      auto first = whole();
      if (!first)
        return std::nullopt;
      int64_t count = 1, last = *first;
      if (take("x")) {
        auto times = whole();
        if (!times)
          return std::nullopt;
        count = *times;
      } else if (take("..")) {
        auto end = whole();
        if (!end)
          return std::nullopt;
        last = *end;
        auto length = last < *first ? checkedSubtract(*first, last) : checkedSubtract(last, *first);
        count = length && *length < kMaximumRows ? *length + 1 : kMaximumRows + 1;
      }
      if (count < 1 || count > kMaximumRows - static_cast<int64_t>(values->size()))
        return fail(begin, "a table has 1 to " + std::to_string(kMaximumRows) + " rows");
      for (int64_t k = 0; k < count; ++k)
        values->push_back(last < *first ? *first - k : last > *first ? *first + k : *first);
    } while (take(","));
    if (!take("]"))
      return fail(at < text.size() ? at : begin, "expected ',' or ']' in a table");
    if (!take("["))
      return fail(at < text.size() ? at : begin, "expected '[' and the row after a table");
    auto row = arguments(']', at - 1);
    if (!row)
      return std::nullopt;
    if (row->size() != 1)
      return fail(begin, "a table has one row at a time, got " + std::to_string(row->size()) + " subscripts");
    return Expr::table(std::move(values), (*row)[0]);
  }

  std::optional<Expr> primary() {
    skipSpace();
    size_t begin = at;
    if (at == text.size())
      return fail(at, "expected an operand, found the end of the expression");
    if (std::isdigit(static_cast<unsigned char>(text[at])))
      return integer(false);
    if (take("(")) {
      auto inner = expression(kOr);
      if (!inner)
        return std::nullopt;
      if (!take(")"))
        return fail(at < text.size() ? at : begin, at < text.size() ? "expected ')'" : "this '(' is never closed");
      return inner;
    }
    if (take("["))
      return table(begin);
    std::string_view word = peekWord();
    if (word.empty())
      return unexpected("expected an operand, found ", "");
    if (word == "and" || word == "or" || word == "floordiv" || word == "mod")
      return fail(at, "expected an operand, found '" + std::string(word) + "'");
    at += word.size();
    if (take("("))
      return call(word, begin);
    if (take("[")) {
      auto subscripts = arguments(']', at - 1);
      return subscripts ? std::optional<Expr>(Expr::read(std::string(word), std::move(*subscripts))) : std::nullopt;
    }
    return Expr::symbol(std::string(word));
  }

  std::string_view text;
  ParseError error;
  size_t at = 0;
  int nesting = 0;
};
} // namespace

Parsed<Expr> parse(std::string_view text) { return Parser(text).run(); }

} // namespace skewer::subscript
