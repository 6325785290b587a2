// Finds the steps of a function. The function rises or falls where its operations do. abs and choices change the
// direction, so the range is split there; within each piece, the next step is found by bisection.
#include "dialect/Language/Steps.h"
#include <cmath>

namespace skewer::language {
using subscript::Expr;
using subscript::Kind;
using subscript::Range;

namespace {

/// The direction of a function over a range.
enum class Trend { Constant, Rises, Falls, Unknown };

Trend reversed(Trend trend) {
  return trend == Trend::Rises ? Trend::Falls : trend == Trend::Falls ? Trend::Rises : trend;
}
/// Returns the trend of a combination that rises if either operand rises, and falls if either falls.
Trend both(Trend a, Trend b) {
  return a == Trend::Constant || a == b ? b : b == Trend::Constant ? a : Trend::Unknown;
}

/// Computes the trend of a function, and of index expressions in it, over ranges of one symbol.
class Trends {
public:
  explicit Trends(std::string symbol) : symbol(std::move(symbol)) {}

  Trend of(const RealFunction &, const Range &, bool isSingle);

  /// If the last trend is unknown because of an operation with two sides: whether a number is on one of them. The range
  /// is split where this changes.
  std::function<bool(int64_t)> side;

  double value(const RealFunction &f, bool isSingle, int64_t at) const {
    return RealProgram(f, {symbol}, isSingle).run({at});
  }

private:
  Trend of(const Expr &, const Range &);
  Trend ofAbs(Trend inner, const Range &, std::function<bool(int64_t)> isNegative);
  /// Returns the trend of the branch that the condition takes; Unknown if it takes both.
  template <typename First, typename Second>
  Trend ofSelect(Trend condition, const Range &, std::function<bool(int64_t)> holds, First first, Second second);
  std::optional<int64_t> value(const Expr &e, int64_t at) const { return subscript::evaluate(e, {{symbol, at}}); }

  std::string symbol;
};

Trend Trends::ofAbs(Trend inner, const Range &range, std::function<bool(int64_t)> isNegative) {
  if (inner == Trend::Constant || inner == Trend::Unknown)
    return inner;
  bool first = isNegative(range.low), last = isNegative(range.high);
  if (first == last)
    return first ? reversed(inner) : inner;
  side = std::move(isNegative);
  return Trend::Unknown;
}

template <typename First, typename Second>
Trend Trends::ofSelect(Trend condition, const Range &range, std::function<bool(int64_t)> holds, First first,
                       Second second) {
  if (condition == Trend::Unknown)
    return condition;
  bool isFirst = holds(range.low);
  if (isFirst == holds(range.high))
    return isFirst ? first() : second();
  side = std::move(holds);
  return Trend::Unknown;
}

Trend Trends::of(const Expr &e, const Range &range) {
  std::vector<Trend> operands;
  if (e.kind() != Kind::Select)
    for (const Expr &operand : e.operands()) {
      operands.push_back(of(operand, range));
      if (operands.back() == Trend::Unknown)
        return Trend::Unknown;
    }
  bool isConstant = true;
  for (Trend operand : operands)
    isConstant &= operand == Trend::Constant;
  switch (e.kind()) {
  case Kind::Constant:
    return Trend::Constant;
  case Kind::Symbol:
    return e.name() == symbol ? Trend::Rises : Trend::Unknown;
  case Kind::Add:
  case Kind::And:
  case Kind::Or:
  case Kind::Min:
  case Kind::Max: {
    Trend all = Trend::Constant;
    for (Trend operand : operands)
      all = all == Trend::Unknown ? all : both(all, operand);
    return all;
  }
  case Kind::Mul: {
    if (isConstant)
      return Trend::Constant;
    if (operands.size() != 2 || (operands[0] != Trend::Constant && operands[1] != Trend::Constant))
      return Trend::Unknown;
    size_t fixed = operands[0] == Trend::Constant ? 0 : 1;
    auto factor = value(e.operands()[fixed], range.low);
    return !factor ? Trend::Unknown
           : *factor == 0 ? Trend::Constant : *factor > 0 ? operands[1 - fixed] : reversed(operands[1 - fixed]);
  }
  case Kind::FloorDiv: // the divisor is positive
    return operands[1] == Trend::Constant ? operands[0] : Trend::Unknown;
  case Kind::Less:
  case Kind::LessEqual:
    return both(reversed(operands[0]), operands[1]);
  case Kind::Not:
    return reversed(operands[0]);
  case Kind::Abs:
    return ofAbs(operands[0], range, [this, inner = e.operands()[0]](int64_t at) {
      return value(inner, at).value_or(0) < 0;
    });
  case Kind::Select:
    return ofSelect(
        of(e.operands()[0], range), range,
        [this, condition = e.operands()[0]](int64_t at) { return value(condition, at).value_or(0) != 0; },
        [&] { return of(e.operands()[1], range); }, [&] { return of(e.operands()[2], range); });
  default:
    return isConstant && e.kind() != Kind::Read ? Trend::Constant : Trend::Unknown;
  }
}

Trend Trends::of(const RealFunction &f, const Range &range, bool isSingle) {
  if (f.kind == RealKind::Number)
    return Trend::Constant;
  if (f.kind == RealKind::Index)
    return of(f.index, range);
  if (f.kind == RealKind::Double)
    isSingle = false;
  auto operand = [&](size_t k) { return of(*f.operands[k], range, isSingle); };
  auto low = [&](size_t k) { return value(*f.operands[k], isSingle, range.low); };
  auto high = [&](size_t k) { return value(*f.operands[k], isSingle, range.high); };
  if (f.kind == RealKind::Select) {
    RealPtr condition = f.operands[0];
    return ofSelect(
        operand(0), range, [this, condition, isSingle](int64_t at) { return value(*condition, isSingle, at) != 0; },
        [&] { return operand(1); }, [&] { return operand(2); });
  }
  Trend first = operand(0);
  if (first == Trend::Unknown)
    return first;
  Trend second = f.operands.size() > 1 ? operand(1) : Trend::Constant;
  if (second == Trend::Unknown)
    return second;
  bool isConstant = first == Trend::Constant && second == Trend::Constant;
  switch (f.kind) {
  case RealKind::Single:
  case RealKind::Double:
  case RealKind::Floor:
  case RealKind::Ceil:
  case RealKind::Round:
  case RealKind::Exp:
  case RealKind::Log: // of a non-negative number: otherwise it has no value, which is checked
  case RealKind::Sqrt:
  case RealKind::Tanh:
  case RealKind::Erf:
  case RealKind::Relu:
  case RealKind::Sigmoid:
    return first;
  case RealKind::Negate:
  case RealKind::Not:
    return reversed(first);
  case RealKind::Rsqrt:
    return low(0) > 0 && high(0) > 0 ? reversed(first) : Trend::Unknown;
  case RealKind::Add:
  case RealKind::And:
  case RealKind::Or:
  case RealKind::Minimum:
  case RealKind::Maximum:
    return both(first, second);
  case RealKind::Subtract:
    return both(first, reversed(second));
  case RealKind::Less:
  case RealKind::LessEqual:
    return both(reversed(first), second);
  case RealKind::Multiply:
  case RealKind::Divide:
  case RealKind::FloorDivide: {
    if (isConstant)
      return Trend::Constant;
    bool isOfFirst = second == Trend::Constant;
    if (!isOfFirst && (f.kind != RealKind::Multiply || first != Trend::Constant))
      return Trend::Unknown;
    double factor = isOfFirst ? low(1) : low(0);
    Trend trend = isOfFirst ? first : second;
    return factor > 0 ? trend : factor < 0 && f.kind != RealKind::FloorDivide ? reversed(trend) : Trend::Unknown;
  }
  case RealKind::Power: // of a positive number, by a number
    return isConstant ? Trend::Constant
           : second != Trend::Constant || !(low(0) > 0 && high(0) > 0) ? Trend::Unknown
           : low(1) >= 0 ? first : reversed(first);
  case RealKind::Abs: {
    RealPtr inner = f.operands[0];
    return ofAbs(first, range, [this, inner, isSingle](int64_t at) { return value(*inner, isSingle, at) < 0; });
  }
  default:
    return isConstant ? Trend::Constant : Trend::Unknown;
  }
}

/// Returns the smallest number above `low` at which the predicate differs from its value at `low`. The predicate
/// changes once up to `high`, and differs at `high`.
template <typename Predicate> int64_t firstChange(int64_t low, int64_t high, Predicate holds) {
  bool before = holds(low);
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    (holds(middle) == before ? low : high) = middle;
  }
  return high;
}

class StepFinder {
public:
  StepFinder(const RealPtr &function, const std::string &symbol, size_t most)
      : function(function), trends(symbol), program(*function, {symbol}, /*single=*/true), most(most) {}

  bool find(Range range) {
    constexpr unsigned kMostPieces = 64;
    if (++pieces > kMostPieces)
      return false;
    trends.side = nullptr;
    if (trends.of(*function, range, /*isSingle=*/true) != Trend::Unknown)
      return findIn(range);
    auto side = std::move(trends.side);
    if (!side)
      return false;
    int64_t at = firstChange(range.low, range.high, side);
    return find({range.low, at - 1}) && find({at, range.high});
  }

  std::vector<Step> steps;

private:
  /// Finds the steps in a range where the function rises or falls.
  bool findIn(const Range &range) {
    auto last = valueAt(range.high);
    for (int64_t at = range.low; last;) {
      auto value = valueAt(at);
      if (!value)
        return false;
      if (steps.empty() || steps.back().value != *value)
        steps.push_back({at, *value});
      if (steps.size() > most)
        return false;
      if (*value == *last)
        return true;
      at = firstChange(at, range.high, [&](int64_t point) { return program.run({point}) == *value; });
    }
    return false;
  }

  std::optional<int64_t> valueAt(int64_t at) {
    double value = program.run({at});
    return std::fabs(value) < 9e15 ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
  }

  const RealPtr &function;
  Trends trends;
  RealProgram program;
  size_t most;
  unsigned pieces = 0;
};

} // namespace

std::optional<std::vector<Step>> stepsOf(const RealPtr &function, const std::string &symbol, Range range, size_t most) {
  StepFinder finder(function, symbol, most);
  return finder.find(range) ? std::optional(std::move(finder.steps)) : std::nullopt;
}

/// Returns nested selections between halves of the steps. Unlike a sum of steps up and down, they show at once between
/// which values the rest lies.
static Expr amongSteps(const std::vector<Step> &steps, size_t first, size_t end, const Expr &argument) {
  if (end - first == 1)
    return steps[first].value;
  size_t middle = first + (end - first) / 2;
  return select(less(argument, Expr(steps[middle].from)), amongSteps(steps, first, middle, argument),
                amongSteps(steps, middle, end, argument));
}

Expr bySteps(const std::vector<Step> &steps, const Expr &argument) {
  return amongSteps(steps, 0, steps.size(), argument);
}

/// Returns the index expression of the function if it has only one; nothing if it has several.
static const Expr *onlyIndex(const RealFunction &f) {
  const Expr *first = nullptr;
  const Expr *other = findIndex(f, [&](const Expr &e) {
    first = first ? first : &e;
    return e != *first;
  });
  return other ? nullptr : first;
}

std::optional<Expr> asSteps(const RealForms &forms, size_t most) {
  if (forms.forms.size() != 1)
    return std::nullopt;
  const std::string &symbol = forms.symbols[0];
  const Expr *index = onlyIndex(*forms.function);
  auto byIndex = [](const Expr &) { return std::optional(Expr::symbol("index")); };
  auto bounds = index ? subscript::bound(*index, {{symbol, forms.ranges[0]}}) : std::nullopt;
  if (bounds && !index->isConstant()) // max(abs(x), 1) has half as many steps in abs(x) as in x
    if (auto steps = stepsOf(withIndices(forms.function, byIndex), "index", bounds->range, most))
      return bySteps(*steps, subscript::substitute(*index, {{symbol, forms.forms[0]}}));
  auto steps = stepsOf(forms.function, symbol, forms.ranges[0], most);
  return steps ? std::optional(bySteps(*steps, forms.forms[0])) : std::nullopt;
}

} // namespace skewer::language
