// Parses the reference's own index expressions by recursive descent, and evaluates them.
#include "codegen/Reference/IndexText.h"
#include <algorithm>
#include <cctype>

namespace skewer::reference {

using Operation = Expression::Operation;

namespace {
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  OrError<Expression> run() {
    out.root = disjunction();
    space();
    if (out.root >= 0 && at < text.size())
      fail("unexpected text after an index expression");
    return error.empty() ? OrError<Expression>(std::move(out)) : Error{error};
  }

private:
  int fail(const std::string &why) {
    if (error.empty())
      error = why + " in '" + std::string(text) + "'";
    return -1;
  }
  void space() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool symbol(std::string_view wanted) {
    space();
    if (text.substr(at, wanted.size()) != wanted)
      return false;
    at += wanted.size();
    return true;
  }
  static bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '\''; }
  static bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
  std::string_view peek() {
    space();
    size_t end = at;
    if (end < text.size() && letter(text[end]))
      while (end < text.size() && (letter(text[end]) || digit(text[end])))
        ++end;
    return text.substr(at, end - at);
  }
  bool word(std::string_view wanted) {
    if (peek() != wanted)
      return false;
    at += wanted.size();
    return true;
  }
  int node(Operation operation, int a, int b = -1, int c = -1, int64_t value = 0) {
    out.nodes.push_back({operation, value, {a, b, c}});
    return static_cast<int>(out.nodes.size()) - 1;
  }

  int disjunction() {
    int left = conjunction();
    while (left >= 0 && (word("or") || symbol("||"))) {
      int right = conjunction();
      left = right < 0 ? -1 : node(Operation::Or, left, right);
    }
    return left;
  }
  int conjunction() {
    int left = negation();
    while (left >= 0 && (word("and") || symbol("&&"))) {
      int right = negation();
      left = right < 0 ? -1 : node(Operation::And, left, right);
    }
    return left;
  }
  bool notSign() {
    space();
    if (text.substr(at, 1) == "!" && text.substr(at, 2) != "!=") {
      ++at;
      return true;
    }
    return false;
  }
  int negation() {
    if (word("not") || notSign()) {
      if (++nesting > 200)
        return fail("too deep a nesting");
      int inner = negation();
      --nesting;
      return inner < 0 ? -1 : node(Operation::Not, inner);
    }
    return comparison();
  }
  int comparison() {
    int left = sum(), result = -1;
    while (left >= 0) {
      Operation operation;
      bool swap = false;
      if (symbol("<="))
        operation = Operation::LessEqual;
      else if (symbol(">="))
        operation = Operation::LessEqual, swap = true;
      else if (symbol("=="))
        operation = Operation::Equal;
      else if (symbol("!="))
        operation = Operation::NotEqual;
      else if (symbol("<"))
        operation = Operation::Less;
      else if (symbol(">"))
        operation = Operation::Less, swap = true;
      else
        return result < 0 ? left : result;
      int right = sum();
      if (right < 0)
        return -1;
      int one = swap ? node(operation, right, left) : node(operation, left, right);
      result = result < 0 ? one : node(Operation::And, result, one); // 0 <= i < n
      left = right;
    }
    return -1;
  }
  int sum() {
    int left = product();
    while (left >= 0) {
      Operation operation = Operation::Add;
      if (symbol("-"))
        operation = Operation::Subtract;
      else if (!symbol("+"))
        return left;
      int right = product();
      left = right < 0 ? -1 : node(operation, left, right);
    }
    return left;
  }
  int product() {
    int left = factor();
    while (left >= 0) {
      Operation operation = Operation::Divide;
      if (symbol("*"))
        operation = Operation::Multiply;
      else if (word("mod") || symbol("%"))
        operation = Operation::Modulo;
      else if (!word("floordiv") && !symbol("//") && !symbol("/"))
        return left;
      int right = factor();
      left = right < 0 ? -1 : node(operation, left, right);
    }
    return left;
  }
  int factor() {
    if (++nesting > 200)
      return fail("too deep a nesting");
    int result;
    if (symbol("-")) {
      int inner = factor();
      result = inner < 0 ? -1 : node(Operation::Subtract, node(Operation::Constant, -1), inner);
    } else if (symbol("+")) {
      result = factor();
    } else {
      result = primary();
    }
    --nesting;
    return result;
  }
  int primary() {
    space();
    if (at == text.size())
      return fail("an operand is missing at the end");
    if (digit(text[at])) {
      int64_t value = 0;
      for (; at < text.size() && digit(text[at]); ++at)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text[at] - '0', &value))
          return fail("an integer does not fit 64 bits");
      return node(Operation::Constant, -1, -1, -1, value);
    }
    if (symbol("(")) {
      int inner = disjunction();
      return inner < 0 ? -1 : symbol(")") ? inner : fail("a ')' is missing");
    }
    if (symbol("["))
      return table();
    std::string name(peek());
    if (name.empty())
      return fail("unexpected '" + std::string(1, text[at]) + "'");
    at += name.size();
    if (symbol("["))
      return read(name);
    if (symbol("("))
      return call(name);
    size_t place = std::find(out.names.begin(), out.names.end(), name) - out.names.begin();
    if (place == out.names.size())
      out.names.push_back(name);
    return node(Operation::Axis, -1, -1, -1, static_cast<int64_t>(place));
  }
  bool whole(int64_t &value) {
    bool negative = symbol("-");
    space();
    value = 0;
    size_t begin = at;
    for (; at < text.size() && digit(text[at]); ++at)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, negative ? '0' - text[at] : text[at] - '0', &value))
        return fail("an integer does not fit 64 bits"), false;
    return at > begin || (fail("an integer is missing in a table"), false);
  }
  /// Parses a table after its bracket: [5 x 64, 4, 3..0][row].
  int table() {
    std::vector<int64_t> values;
    do {
      int64_t first, last, times = 1;
      if (!whole(first))
        return -1;
      last = first;
      if (symbol("..")) {
        if (!whole(last))
          return -1;
      } else if (symbol("x") && !whole(times)) {
        return -1;
      }
      if (times < 1 || times > (1 << 24) || std::max(first, last) - std::min(first, last) > (1 << 24))
        return fail("a table is too long");
      values.insert(values.end(), times, first);
      while (values.back() != last)
        values.push_back(values.back() + (last > first ? 1 : -1));
    } while (symbol(","));
    if (!symbol("]") || !symbol("["))
      return fail("a table is followed by its row");
    int row = disjunction();
    if (row < 0 || !symbol("]"))
      return row < 0 ? -1 : fail("a ']' is missing");
    out.tables.push_back(std::move(values));
    return node(Operation::Table, row, -1, -1, static_cast<int64_t>(out.tables.size()) - 1);
  }
  int read(const std::string &name) {
    Expression::Element element;
    element.name = name;
    do {
      element.subscripts.push_back(disjunction());
      if (element.subscripts.back() < 0)
        return -1;
    } while (symbol(","));
    if (!symbol("]"))
      return fail("a ']' is missing");
    out.elements.push_back(std::move(element));
    return node(Operation::Read, -1, -1, -1, static_cast<int64_t>(out.elements.size()) - 1);
  }
  int call(const std::string &name) {
    std::vector<int> arguments;
    do {
      arguments.push_back(disjunction());
      if (arguments.back() < 0)
        return -1;
    } while (symbol(","));
    if (!symbol(")"))
      return fail("a ')' is missing");
    if (name == "abs" && arguments.size() == 1)
      return node(Operation::Absolute, arguments[0]);
    if (name == "select" && arguments.size() == 3)
      return node(Operation::Select, arguments[0], arguments[1], arguments[2]);
    if (name == "clamp" && arguments.size() == 3)
      return node(Operation::Minimum, node(Operation::Maximum, arguments[0], arguments[1]), arguments[2]);
    if ((name == "min" || name == "max") && arguments.size() >= 2) {
      int result = arguments[0];
      for (size_t k = 1; k < arguments.size(); ++k)
        result = node(name == "min" ? Operation::Minimum : Operation::Maximum, result, arguments[k]);
      return result;
    }
    return fail("'" + name + "' with " + std::to_string(arguments.size()) + " arguments is unknown");
  }

  std::string_view text;
  Expression out;
  std::string error;
  size_t at = 0;
  int nesting = 0;
};
} // namespace

OrError<Expression> parseExpression(std::string_view text) { return Reader(text).run(); }

std::optional<Error> Expression::bind(const std::vector<std::string> &axes) {
  for (Node &node : nodes) {
    if (node.operation != Operation::Axis)
      continue;
    const std::string &name = names[node.value];
    auto found = std::find(axes.begin(), axes.end(), name);
    if (found == axes.end())
      return Error{"'" + name + "' is no axis"};
    node.value = found - axes.begin();
  }
  names = axes;
  return std::nullopt;
}

std::optional<Error> Expression::bindReads(const IndexSources &sources) {
  for (Element &element : elements) {
    auto found = sources.find(element.name);
    if (found == sources.end() || found->second->shape.size() != element.subscripts.size())
      return Error{"there is no index operand '" + element.name + "' of " + std::to_string(element.subscripts.size()) +
                   " dimensions"};
    element.source = found->second;
  }
  return std::nullopt;
}

bool Expression::evaluate(int which, const int64_t *axes, int64_t &result) const {
  const Node &node = nodes[which];
  int64_t a = 0, b = 0;
  // Most operands are axes and constants.
  auto operand = [&](int number, int64_t &value) {
    const Node &read = nodes[node.operands[number]];
    if (read.operation == Operation::Axis)
      return value = axes[read.value], true;
    if (read.operation == Operation::Constant)
      return value = read.value, true;
    return evaluate(node.operands[number], axes, value);
  };
  switch (node.operation) {
  case Operation::Constant:
    result = node.value;
    return true;
  case Operation::Axis:
    result = axes[node.value];
    return true;
  case Operation::Read: {
    const Element &element = elements[node.value];
    int64_t position = 0;
    for (size_t d = 0; d < element.subscripts.size(); ++d) {
      if (!evaluate(element.subscripts[d], axes, a) || a < 0 || a >= element.source->shape[d])
        return false;
      position = position * element.source->shape[d] + a;
    }
    result = element.source->values[position];
    return true;
  }
  case Operation::Select:
    return operand(0, a) && operand(a ? 1 : 2, result);
  case Operation::And:
  case Operation::Or: {
    bool decides = node.operation == Operation::Or;
    bool first = operand(0, a);
    if (first && (a != 0) == decides)
      return result = decides, true;
    bool second = operand(1, b);
    if (second && (b != 0) == decides)
      return result = decides, true;
    result = !decides;
    return first && second;
  }
  case Operation::Table:
    if (!operand(0, a) || a < 0 || a >= static_cast<int64_t>(tables[node.value].size()))
      return false;
    return result = tables[node.value][a], true;
  case Operation::Absolute:
  case Operation::Not:
    if (!operand(0, a))
      return false;
    if (node.operation == Operation::Not)
      return result = !a, true;
    return a >= 0 ? (result = a, true) : !__builtin_sub_overflow(int64_t(0), a, &result);
  default:
    break;
  }
  if (!operand(0, a) || !operand(1, b))
    return false;
  switch (node.operation) {
  case Operation::Add:
    return !__builtin_add_overflow(a, b, &result);
  case Operation::Subtract:
    return !__builtin_sub_overflow(a, b, &result);
  case Operation::Multiply:
    return !__builtin_mul_overflow(a, b, &result);
  case Operation::Divide: // rounds towards minus infinity
    if (b <= 0)
      return false;
    result = a >= 0 ? a / b : -((-(a + 1)) / b) - 1;
    return true;
  case Operation::Modulo: // in 0 … b-1
    if (b <= 0)
      return false;
    result = a >= 0 ? a % b : b - 1 - (-(a + 1)) % b;
    return true;
  case Operation::Minimum:
    return result = std::min(a, b), true;
  case Operation::Maximum:
    return result = std::max(a, b), true;
  case Operation::Less:
    return result = a < b, true;
  case Operation::LessEqual:
    return result = a <= b, true;
  case Operation::Equal:
    return result = a == b, true;
  case Operation::NotEqual:
    return result = a != b, true;
  default:
    return false;
  }
}

bool Expression::linear(int which, size_t axes, int64_t &constant, std::vector<int64_t> &coefficients) const {
  const Node &node = nodes[which];
  constant = 0;
  coefficients.assign(axes, 0);
  if (node.operation == Operation::Constant)
    return constant = node.value, true;
  if (node.operation == Operation::Axis)
    return coefficients[node.value] = 1, true;
  bool add = node.operation == Operation::Add, subtract = node.operation == Operation::Subtract;
  if (!add && !subtract && node.operation != Operation::Multiply)
    return false;
  int64_t otherConstant;
  std::vector<int64_t> other;
  if (!linear(node.operands[0], axes, constant, coefficients) || !linear(node.operands[1], axes, otherConstant, other))
    return false;
  if (add || subtract) {
    bool overflow = add ? __builtin_add_overflow(constant, otherConstant, &constant)
                        : __builtin_sub_overflow(constant, otherConstant, &constant);
    for (size_t k = 0; k < axes; ++k)
      overflow |= add ? __builtin_add_overflow(coefficients[k], other[k], &coefficients[k])
                      : __builtin_sub_overflow(coefficients[k], other[k], &coefficients[k]);
    return !overflow;
  }
  auto isConstant = [](const std::vector<int64_t> &c) {
    return std::all_of(c.begin(), c.end(), [](int64_t v) { return v == 0; });
  };
  if (isConstant(coefficients)) {
    std::swap(constant, otherConstant);
    std::swap(coefficients, other);
  } else if (!isConstant(other)) {
    return false;
  }
  bool overflow = __builtin_mul_overflow(constant, otherConstant, &constant);
  for (int64_t &c : coefficients)
    overflow |= __builtin_mul_overflow(c, otherConstant, &c);
  return !overflow;
}

} // namespace skewer::reference
