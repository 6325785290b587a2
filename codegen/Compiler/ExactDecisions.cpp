// Fits trees of numbers, leaf by leaf, as functions of the lengths, and proves statements about these functions.
#include "codegen/Compiler/ExactDecisions.h"
#include "passes/Lengths/ExpressionFit.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace skewer {
using language::Decision;
using language::Decisions;
using language::RealFunction;
using language::RealKind;
using language::RealPtr;
using subscript::Expr;
using subscript::Kind;

/// Largest number of combinations of lengths and positions that are checked one by one.
static constexpr int64_t kMostPoints = int64_t(1) << 24;

/// Returns the symbol of a length; it differs from the length's name, because an axis may have that name.
static std::string symbolOf(const std::string &length) { return length + "'"; }

static Expr expressionOf(const LengthPolynomial &polynomial, const Lengths &bounds) {
  subscript::Substitution symbols;
  for (const auto &[name, bound] : bounds)
    symbols[name] = Expr::symbol(symbolOf(name));
  return polynomial.expression(symbols);
}

/// Returns the expression with symbols in place of lengths.
static Expr overSymbols(const Expr &e, const Lengths &bounds) {
  if (e.kind() == Kind::Read && bounds.count(e.name()))
    return Expr::symbol(symbolOf(e.name()));
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands())
    operands.push_back(overSymbols(operand, bounds));
  return operands.empty() ? e : e.withOperands(std::move(operands));
}

namespace {
/// Fits trees of the same form, each subtree once.
class TreeFit {
public:
  explicit TreeFit(const Lengths &bounds) : bounds(bounds) {}

  RealPtr fit(llvm::ArrayRef<RealPtr> trees) { // null if the trees do not fit
    auto known = fitted.find(trees[0].get());
    return known != fitted.end() ? known->second : fitted[trees[0].get()] = fitNew(trees);
  }

private:
  RealPtr fitNew(llvm::ArrayRef<RealPtr> trees) {
    const RealFunction &first = *trees[0];
    for (const RealPtr &tree : trees)
      if (tree->kind != first.kind || tree->operands.size() != first.operands.size() || !tree->made != !first.made)
        return nullptr;
    if (first.kind == RealKind::Number && first.made)
      return fit(llvm::map_to_vector(trees, [](const RealPtr &tree) { return tree->made; }));
    if (first.kind == RealKind::Number)
      return fitNumbers(trees);
    if (first.kind == RealKind::Index) {
      auto index = fitExpressions(llvm::map_to_vector(trees, [](const RealPtr &tree) { return tree->index; }), bounds);
      return index ? language::makeReal(overSymbols(*index, bounds), first.node) : nullptr;
    }
    std::vector<RealPtr> operands;
    for (size_t k = 0; k < first.operands.size(); ++k) {
      operands.push_back(fit(llvm::map_to_vector(trees, [&](const RealPtr &tree) { return tree->operands[k]; })));
      if (!operands.back())
        return nullptr;
    }
    return language::makeReal(first.kind, std::move(operands), first.node);
  }

  RealPtr fitNumbers(llvm::ArrayRef<RealPtr> trees) {
    const RealFunction &first = *trees[0];
    if (llvm::all_of(trees, [&](const RealPtr &tree) { return tree->number == first.number; }))
      return trees[0];
    std::vector<int64_t> values;
    for (const RealPtr &tree : trees) {
      if (!tree->whole)
        return nullptr;
      values.push_back(static_cast<int64_t>(tree->number));
    }
    auto polynomial = LengthPolynomial::through(values, bounds);
    return polynomial ? language::makeReal(expressionOf(*polynomial, bounds), first.node) : nullptr;
  }

  const Lengths &bounds;
  std::map<const RealFunction *, RealPtr> fitted;
};

void collectSymbols(const RealFunction &f, std::set<std::string> &symbols, std::set<const RealFunction *> &seen) {
  if (!seen.insert(&f).second)
    return;
  if (f.kind == RealKind::Index)
    symbols.merge(subscript::symbolsOf(f.index));
  for (const RealPtr &operand : f.operands)
    collectSymbols(*operand, symbols, seen);
}

std::optional<Expr> asExpression(const RealFunction &f, std::map<const RealFunction *, std::optional<Expr>> &known) {
  if (auto found = known.find(&f); found != known.end())
    return found->second;
  std::vector<Expr> e;
  for (const RealPtr &operand : f.operands) {
    auto one = asExpression(*operand, known);
    if (!one)
      return known[&f] = std::nullopt;
    e.push_back(*one);
  }
  auto made = [&]() -> std::optional<Expr> {
    switch (f.kind) {
    case RealKind::Number:
      return f.whole ? std::optional<Expr>(static_cast<int64_t>(f.number)) : std::nullopt;
    case RealKind::Index:
      return f.index;
    case RealKind::Negate:
      return -e[0];
    case RealKind::Add:
      return e[0] + e[1];
    case RealKind::Subtract:
      return e[0] - e[1];
    case RealKind::Multiply:
      return e[0] * e[1];
    case RealKind::FloorDivide:
      return floorDiv(e[0], e[1]);
    case RealKind::Modulo:
      return mod(e[0], e[1]);
    case RealKind::Less:
      return less(e[0], e[1]);
    case RealKind::LessEqual:
      return lessEqual(e[0], e[1]);
    case RealKind::Equal:
      return equal(e[0], e[1]);
    case RealKind::NotEqual:
      return notEqual(e[0], e[1]);
    case RealKind::And:
      return logicalAnd(notEqual(e[0], 0), notEqual(e[1], 0));
    case RealKind::Or:
      return logicalOr(notEqual(e[0], 0), notEqual(e[1], 0));
    case RealKind::Not:
      return equal(e[0], 0);
    case RealKind::Minimum:
      return min(e[0], e[1]);
    case RealKind::Maximum:
      return max(e[0], e[1]);
    case RealKind::Abs:
      return abs(e[0]);
    case RealKind::Select:
      return select(notEqual(e[0], 0), e[1], e[2]);
    default:
      return std::nullopt;
    }
  };
  return known[&f] = made();
}

/// Calls `visit` at every combination of lengths from 1 to their bounds, the longest first, until it returns false.
bool forEachLength(const Lengths &bounds, llvm::function_ref<bool(const Lengths &)> visit) {
  Lengths at = bounds;
  while (visit(at)) {
    auto next = at.begin();
    while (next != at.end() && next->second == 1)
      next->second = bounds.at(next->first), ++next;
    if (next == at.end())
      return true;
    --next->second;
  }
  return false;
}

int64_t countOf(const Lengths &bounds) {
  int64_t count = 1;
  for (const auto &[name, bound] : bounds)
    if (__builtin_mul_overflow(count, bound, &count))
      return INT64_MAX;
  return count;
}

subscript::Domain rangesOf(const Lengths &bounds) {
  subscript::Domain domain;
  for (const auto &[name, bound] : bounds)
    domain[symbolOf(name)] = {1, bound};
  return domain;
}
} // namespace

std::optional<NumberOfLengths> NumberOfLengths::through(llvm::ArrayRef<RealPtr> atFittingPoints,
                                                        const Lengths &bounds) {
  if (llvm::any_of(atFittingPoints, [](const RealPtr &tree) { return !tree; }))
    return std::nullopt;
  NumberOfLengths result;
  result.fitted = TreeFit(bounds).fit(atFittingPoints);
  if (!result.fitted)
    return std::nullopt;
  std::set<std::string> symbols;
  std::set<const RealFunction *> seen;
  collectSymbols(*result.fitted, symbols, seen);
  for (const auto &[name, bound] : bounds)
    if (symbols.count(symbolOf(name)))
      result.used[name] = bound;
  return result;
}

std::optional<Expr> NumberOfLengths::expression() const {
  std::map<const RealFunction *, std::optional<Expr>> known;
  return asExpression(*fitted, known);
}

std::optional<Lengths>
NumberOfLengths::firstUnlike(llvm::function_ref<bool(double value, const Lengths &)> holds, bool &isUnknown) const {
  if (countOf(used) > kMostPoints) {
    isUnknown = true;
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const auto &[name, bound] : used)
    names.push_back(symbolOf(name));
  language::RealProgram program(*fitted, names, /*single=*/false);
  std::optional<Lengths> found;
  std::vector<int64_t> point(names.size());
  forEachLength(used, [&](const Lengths &lengths) {
    size_t k = 0;
    for (const auto &[name, length] : lengths)
      point[k++] = length;
    if (holds(program.run(point), lengths))
      return true;
    found = lengths;
    return false;
  });
  return found;
}

bool NumberOfLengths::isConstant() const {
  if (used.empty())
    return true;
  if (auto e = expression(); e && subscript::simplify(*e, rangesOf(used)).isConstant())
    return true;
  std::optional<double> first;
  bool isUnknown = false;
  auto unlike = firstUnlike(
      [&](double value, const Lengths &) {
        if (!first)
          first = value;
        return value == *first || (std::isnan(value) && std::isnan(*first));
      },
      isUnknown);
  return !unlike && !isUnknown;
}

namespace {
/// Proves the decisions one by one.
class Prover {
public:
  Prover(llvm::ArrayRef<Decisions> all, const Lengths &bounds) : all(all), bounds(bounds) {}

  std::optional<UnlikeDecision> find() {
    for (size_t k = 0; k < all[0].size(); ++k) {
      if (llvm::any_of(all, [&](const Decisions &own) { return k >= own.size() || own[k].kind != all[0][k].kind; }))
        return std::nullopt; // the layers differ in form: the later comparison reports it
      if (auto unlike = look(k))
        return unlike;
    }
    return std::nullopt;
  }

private:
  std::optional<UnlikeDecision> look(size_t k) {
    const Decision &first = all[0][k];
    switch (first.kind) {
    case Decision::Choice:
      return isAlways(k, [&](double value, const Lengths &) { return (value != 0) == (first.number != 0); });
    case Decision::Whole:
      return first.number ? isAlways(k, [](double rest, const Lengths &) { return rest == 0; }) : std::nullopt;
    case Decision::Quantity:
      return lookAtQuantity(k);
    case Decision::Rewritten:
      return lookAtExpression(k);
    case Decision::Table:
      return lookAtTable(k);
    case Decision::Factor:
      return std::nullopt; // the kernel computes such a number, so it may depend on the length
    }
    return std::nullopt;
  }

  std::optional<NumberOfLengths> numberOf(size_t k) const {
    return NumberOfLengths::through(llvm::map_to_vector(all, [&](const Decisions &own) { return own[k].made; }), bounds);
  }

  /// Returns values for all lengths: the given ones, the others at their bounds.
  Lengths whole(const Lengths &some) const {
    Lengths lengths = bounds;
    for (const auto &[name, length] : some)
      lengths[name] = length;
    return lengths;
  }

  UnlikeDecision unknown(size_t k) const {
    return {all[0][k].place, "it is not proven to be the same at every length"};
  }

  std::optional<UnlikeDecision> isAlways(size_t k, llvm::function_ref<bool(double, const Lengths &)> holds) {
    const Decision &first = all[0][k];
    if (!first.made)
      return std::nullopt; // it consists of constants
    auto number = numberOf(k);
    if (!number)
      return unknown(k);
    if (auto e = number->expression())
      if (Expr simple = subscript::simplify(*e, rangesOf(number->lengths())); simple.isConstant())
        if (holds(static_cast<double>(simple.value()), bounds))
          return std::nullopt;
    bool isUnknown = false;
    auto unlike = number->firstUnlike(holds, isUnknown);
    if (!unlike)
      return isUnknown ? std::optional(unknown(k)) : std::nullopt;
    return UnlikeDecision{first.place, sayUnlike(first, whole(*unlike), bounds)};
  }

  std::optional<UnlikeDecision> lookAtQuantity(size_t k) {
    std::vector<int64_t> values;
    for (const Decisions &own : all)
      values.push_back(own[k].number);
    auto polynomial = LengthPolynomial::through(values, bounds);
    if (!polynomial || !all[0][k].made)
      return std::nullopt; // a number that no fit uses
    Expr expected = expressionOf(*polynomial, bounds);
    auto number = numberOf(k);
    auto e = number ? number->expression() : std::nullopt;
    if (e && subscript::simplify(*e - expected, rangesOf(bounds)).isConstant(0))
      return std::nullopt;
    return isAlways(k, [&](double value, const Lengths &lengths) {
      auto there = subscript::evaluate(polynomial->expression(), subscript::Assignment(whole(lengths)));
      return there && static_cast<double>(*there) == value;
    });
  }

  std::optional<UnlikeDecision> lookAtExpression(size_t k);
  std::optional<UnlikeDecision> lookAtTable(size_t k);

  llvm::ArrayRef<Decisions> all;
  const Lengths &bounds;
};
} // namespace

/// Proves that what simplification leaves of a condition or an index equals the written one, at every position of every
/// length.
std::optional<UnlikeDecision> Prover::lookAtExpression(size_t k) {
  const Decision &first = all[0][k];
  auto kept = fitExpressions(llvm::map_to_vector(all, [&](const Decisions &own) { return own[k].kept; }), bounds);
  if (!kept)
    return std::nullopt; // not used: the later comparison of layers reports it
  auto written = fitExpressions(llvm::map_to_vector(all, [&](const Decisions &own) { return own[k].written; }), bounds);
  if (!written)
    return llvm::all_equal(llvm::map_range(all, [&](const Decisions &own) { return own[k].kept; })) &&
                   subscript::symbolsOf(*kept).empty()
               ? std::optional(unknown(k))
               : std::nullopt;
  if (*written == *kept)
    return std::nullopt;
  Expr a = overSymbols(*written, bounds), b = overSymbols(*kept, bounds);
  subscript::Domain domain = rangesOf(bounds);
  std::optional<Expr> guard;
  for (const auto &[symbol, range] : first.domain) {
    std::vector<int64_t> highs, lows;
    for (const Decisions &own : all) {
      auto there = own[k].domain.find(symbol);
      if (there == own[k].domain.end())
        return std::nullopt;
      lows.push_back(there->second.low), highs.push_back(there->second.high);
    }
    domain[symbol] = range;
    auto low = LengthPolynomial::through(lows, bounds), high = LengthPolynomial::through(highs, bounds);
    if (!low || !high)
      return unknown(k);
    if (low->isConstant() && high->isConstant())
      continue;
    Expr at = Expr::symbol(symbol);
    Expr lowest = expressionOf(*low, bounds), highest = expressionOf(*high, bounds);
    auto least = subscript::bound(lowest, rangesOf(bounds)), most = subscript::bound(highest, rangesOf(bounds));
    if (!least || !most)
      return unknown(k);
    domain[symbol] = {least->range.low, most->range.high};
    if (symbol.find('[') != std::string::npos)
      continue; // an element of an operand has any value of the wider range
    Expr inside = logicalAnd(lessEqual(lowest, at), lessEqual(at, highest));
    guard = guard ? logicalAnd(*guard, inside) : inside;
  }
  if (subscript::simplify(a - b, domain, guard).isConstant(0) ||
      subscript::proveWithin(equal(a, b), {1, 1}, domain, guard).outcome == subscript::Proof::Proven)
    return std::nullopt;
  return unknown(k);
}

/// Proves that a table of a function of positions has the same values at the same places at every length.
std::optional<UnlikeDecision> Prover::lookAtTable(size_t k) {
  const Decision &first = all[0][k];
  auto number = numberOf(k);
  if (!number)
    return first.made ? std::optional(unknown(k)) : std::nullopt;
  if (number->lengths().empty())
    return std::nullopt;
  std::vector<std::string> names;
  for (const auto &[name, bound] : number->lengths())
    names.push_back(symbolOf(name));
  size_t positions = names.size();
  std::vector<std::pair<LengthPolynomial, LengthPolynomial>> ends;
  for (size_t d = 0; d < first.ranges.size(); ++d) {
    std::vector<int64_t> lows, highs;
    for (const Decisions &own : all) {
      if (own[k].ranges.size() != first.ranges.size())
        return unknown(k);
      lows.push_back(own[k].ranges[d].low), highs.push_back(own[k].ranges[d].high);
    }
    auto low = LengthPolynomial::through(lows, bounds), high = LengthPolynomial::through(highs, bounds);
    if (!low || !high)
      return unknown(k);
    ends.push_back({*low, *high});
    names.push_back(language::formSymbol(d));
  }
  int64_t points = countOf(number->lengths());
  if (__builtin_mul_overflow(points, static_cast<int64_t>(first.values.size()), &points) || points > kMostPoints)
    return unknown(k);
  bool isTensor = first.number != 0;
  language::RealProgram program(*number->function(), names, /*single=*/!isTensor);
  std::vector<int64_t> point(names.size());
  bool isSame = forEachLength(number->lengths(), [&](const Lengths &lengths) {
    subscript::Assignment there(whole(lengths));
    size_t place = 0;
    for (const auto &[name, length] : lengths)
      point[place++] = length;
    for (size_t row = 0; row < first.values.size(); ++row) {
      size_t rest = row;
      bool isThere = true;
      for (size_t d = first.ranges.size(); d-- > 0;) {
        size_t size = first.ranges[d].high - first.ranges[d].low + 1;
        int64_t at = first.ranges[d].low + static_cast<int64_t>(rest % size);
        rest /= size;
        point[positions + d] = at;
        auto low = subscript::evaluate(ends[d].first.expression(), there),
             high = subscript::evaluate(ends[d].second.expression(), there);
        isThere &= low && high && *low <= at && at <= *high;
      }
      double value = isThere ? program.run(point) : first.values[row];
      value = isTensor && isThere ? static_cast<float>(value) : value;
      if (value != first.values[row] && !(std::isnan(value) && std::isnan(first.values[row])))
        return false;
    }
    return true;
  });
  return isSame ? std::nullopt : std::optional(unknown(k));
}

std::optional<UnlikeDecision> findUnproven(llvm::ArrayRef<Decisions> atFittingPoints, const Lengths &bounds) {
  return Prover(atFittingPoints, bounds).find();
}

} // namespace skewer
