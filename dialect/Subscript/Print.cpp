// Prints index expressions with no more parentheses than the parser needs.
#include "dialect/Subscript/Expr.h"
#include <algorithm>

namespace skewer::subscript {

namespace {
enum Precedence { kLowest, kOr, kAnd, kNot, kComparison, kSum, kProduct, kUnary, kPrimary };

/// Recognises c*x with a negative constant c (except the lowest integer, which has no opposite): `a + -3*x` is printed
/// as `a - 3*x`.
bool isNegated(const Expr &e) {
  const Expr *c = e.isConstant() ? &e : e.kind() == Kind::Mul ? &e.operands()[0] : nullptr;
  return c && c->isConstant() && c->value() < 0 && c->value() != INT64_MIN;
}

class Printer {
public:
  std::string text;

  /// Prints `e`, in parentheses if it binds more weakly than `context`.
  void print(const Expr &e, int context) {
    const auto &o = e.operands();
    switch (e.kind()) {
    case Kind::Constant:
      return wrap(e.value() < 0 && context > kSum, [&] { text += std::to_string(e.value()); });
    case Kind::Symbol:
      text += e.name();
      return;
    case Kind::Add:
      return wrap(context > kSum, [&] {
        print(o[0], kSum);
        if (isNegated(o[1])) {
          text += " - ";
          print(-o[1], kProduct);
        } else {
          text += " + ";
          print(o[1], kSum); // a + (b + c) needs no parentheses
        }
      });
    case Kind::Mul:
      if (o[0].isConstant(-1))
        return wrap(context > kProduct, [&] {
          text += "-";
          print(o[1], kUnary);
        });
      return wrap(context > kProduct, [&] {
        if (o[0].isConstant())
          text += std::to_string(o[0].value());
        else
          print(o[0], kProduct);
        text += "*";
        print(o[1], kUnary);
      });
    case Kind::FloorDiv:
    case Kind::Mod: {
      // Few readers know how `i floordiv 14 mod 14` associates.
      bool nested = o[0].kind() == Kind::FloorDiv || o[0].kind() == Kind::Mod;
      return binary(e, e.kind() == Kind::Mod ? " mod " : " floordiv ", kProduct, nested ? kUnary : kProduct, kUnary,
                    context);
    }
    case Kind::Less:
      return binary(e, " < ", kComparison, kSum, kSum, context);
    case Kind::LessEqual:
      return binary(e, " <= ", kComparison, kSum, kSum, context);
    case Kind::Equal:
      return binary(e, " == ", kComparison, kSum, kSum, context);
    case Kind::NotEqual:
      return binary(e, " != ", kComparison, kSum, kSum, context);
    case Kind::And:
      return binary(e, " and ", kAnd, kAnd, kAnd, context);
    case Kind::Or:
      return binary(e, " or ", kOr, kOr, kOr, context);
    case Kind::Not:
      return wrap(context > kNot, [&] {
        text += "not ";
        print(o[0], o[0].kind() == Kind::Not ? kNot : kPrimary); // parentheses would count as nesting
      });
    case Kind::Min:
      if (o[0].kind() == Kind::Max && o[0].operands()[1].isConstant() && o[1].isConstant())
        return list("clamp(", {o[0].operands()[0], o[0].operands()[1], o[1]}, ")");
      return list("min(", o, ")");
    case Kind::Max:
      return list("max(", o, ")");
    case Kind::Abs:
      return list("abs(", o, ")");
    case Kind::Select:
      return list("select(", o, ")");
    case Kind::Table:
      return list(runs(e.table()) + "[", o, "]");
    case Kind::Read:
      return list(e.name() + "[", o, "]");
    }
  }

private:
  /// Prints repeated values and values that count up or down by one as runs, [5 x 64, 4, 3..0], so that the text of a
  /// long table is short.
  static std::string runs(const std::vector<int64_t> &values) {
    std::string text;
    for (size_t k = 0; k < values.size();) {
      size_t same = k + 1, counting = k + 1;
      while (same < values.size() && values[same] == values[k])
        ++same;
      auto step = [&](size_t at) { return values[at] == values[at - 1] + (values[k + 1] > values[k] ? 1 : -1); };
      while (same == k + 1 && counting < values.size() && values[counting - 1] != INT64_MAX &&
             values[counting - 1] != INT64_MIN && step(counting))
        ++counting;
      text += (text.empty() ? "" : ", ") + std::to_string(values[k]);
      if (same > k + 1)
        text += " x " + std::to_string(same - k);
      else if (counting > k + 2)
        text += ".." + std::to_string(values[counting - 1]);
      k = same > k + 1 ? same : counting > k + 2 ? counting : k + 1;
    }
    return "[" + text + "]";
  }
  template <typename Body> void wrap(bool parentheses, Body body) {
    if (parentheses)
      text += "(";
    body();
    if (parentheses)
      text += ")";
  }
  void binary(const Expr &e, const char *spelling, int own, int left, int right, int context) {
    wrap(context > own, [&] {
      print(e.operands()[0], left);
      text += spelling;
      print(e.operands()[1], right);
    });
  }
  void list(const std::string &open, const std::vector<Expr> &operands, const char *close) {
    text += open;
    for (size_t k = 0; k < operands.size(); ++k) {
      text += k ? ", " : "";
      print(operands[k], kLowest);
    }
    text += close;
  }
};
} // namespace

std::string print(const Expr &e) {
  Printer printer;
  printer.print(e, kLowest);
  return std::move(printer.text);
}

std::string abbreviateTables(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t close = text[at] == '[' ? text.find_first_not_of("0123456789-., x", at + 1) : std::string_view::npos;
    bool isTable = close != std::string_view::npos && close > at + 1 && text.substr(close, 2) == "][";
    std::string_view runs = isTable ? text.substr(at + 1, close - at - 1) : std::string_view();
    if (std::count(runs.begin(), runs.end(), ',') < 4) {
      result += text[at++];
      continue;
    }
    result +=
        "[" + std::string(runs.substr(0, runs.find(','))) + ", …" + std::string(runs.substr(runs.rfind(','))) + "]";
    at = close + 1;
  }
  return result;
}

} // namespace skewer::subscript
