// Compares decisions one by one: numbers as functions of the lengths, conditions and tables point by point.
#include "codegen/Compiler/EveryLength.h"
#include "passes/Lengths/ExpressionFit.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <random>

namespace skewer {
using language::Decision;
using language::Decisions;
using subscript::Expr;
using subscript::Kind;

std::vector<Lengths> sampledLengths(const Lengths &bounds) {
  std::set<Lengths> all;
  int64_t longest = 0;
  for (const auto &[name, bound] : bounds)
    longest = std::max(longest, bound);
  for (int64_t power = 1; power <= longest; power *= 2)
    for (int64_t length : {power, power + power / 2}) {
      Lengths together;
      for (const auto &[name, bound] : bounds) {
        together[name] = std::min(length, bound);
        Lengths alone = bounds;
        alone[name] = std::min(length, bound);
        all.insert(std::move(alone));
      }
      all.insert(std::move(together));
    }
  return {all.rbegin(), all.rend()}; // the longest first: it is nearest to the fitted lengths
}

EveryLength::EveryLength(std::vector<Decisions> atFittingPoints, const Lengths &bounds)
    : fitted(std::move(atFittingPoints)), bounds(bounds) {}

std::string sayLengths(const Lengths &lengths) {
  std::string text;
  for (const auto &[name, length] : lengths)
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(length);
  return text;
}

/// Returns the expression with numbers in place of lengths.
static Expr withLengths(const Expr &e, const Lengths &lengths) {
  if (e.kind() == Kind::Read)
    if (auto length = lengths.find(e.name()); length != lengths.end())
      return length->second;
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands())
    operands.push_back(withLengths(operand, lengths));
  return operands.empty() ? e : e.withOperands(std::move(operands));
}

/// Returns whether two expressions are equal at the points of a domain at which the first has a value: at all points if
/// they are few, else at some.
static bool areSame(const Expr &written, const Expr &kept, const subscript::Domain &domain) {
  constexpr int64_t kMostPoints = 512;
  if (written == kept || subscript::simplify(written - kept, domain).isConstant(0))
    return true;
  std::vector<std::pair<std::string, subscript::Range>> axes;
  std::set<std::string> symbols = subscript::symbolsOf(written - kept);
  int64_t points = 1;
  for (const std::string &symbol : symbols) {
    auto range = domain.find(symbol);
    axes.emplace_back(symbol, range == domain.end() ? subscript::Range{0, 63} : range->second);
    points = llvm::SaturatingMultiply<uint64_t>(points, axes.back().second.high - axes.back().second.low + 1);
  }
  bool hasReads = !subscript::readsOf(written).empty() || !subscript::readsOf(kept).empty();
  bool isWhole = points <= kMostPoints && !hasReads;
  std::mt19937_64 random(points);
  auto within = [&](const subscript::Range &range, uint64_t choice) {
    return range.low + static_cast<int64_t>(choice % static_cast<uint64_t>(range.high - range.low + 1));
  };
  for (int64_t k = 0, end = isWhole ? points : kMostPoints; k < end; ++k) {
    subscript::Assignment point;
    int64_t rest = k;
    for (const auto &[symbol, range] : axes) {
      int64_t size = range.high - range.low + 1;
      point[symbol] = isWhole ? range.low + rest % size : within(range, random());
      rest /= size;
    }
    uint64_t seed = random();
    auto read = [&](const std::string &operand, const std::vector<int64_t> &subscripts) -> std::optional<int64_t> {
      size_t hash = seed ^ std::hash<std::string>()(operand);
      for (int64_t subscript : subscripts)
        hash = (hash ^ static_cast<size_t>(subscript)) * 0x9e3779b97f4a7c15u;
      auto range = domain.find(subscript::elementsOf(operand));
      return within(range == domain.end() ? subscript::Range{0, 63} : range->second, hash >> 17);
    };
    auto value = subscript::evaluate(written, point, read);
    if (value && value != subscript::evaluate(kept, point, read))
      return false;
  }
  return true;
}

bool isPartOf(const Decision &part, const Decision &whole) {
  if (part.ranges.size() != whole.ranges.size())
    return true; // the forms differ: the table's uses are compared later
  // The position on an axis of one element is the number 0: `j - i` is then a function of `i` alone, and the forms
  // differ.
  for (auto [own, other] : llvm::zip(part.forms, whole.forms))
    if (subscript::symbolsOf(own) != subscript::symbolsOf(other))
      return true;
  for (size_t d = 0; d < part.ranges.size(); ++d)
    if (part.ranges[d].low < whole.ranges[d].low || part.ranges[d].high > whole.ranges[d].high)
      return true;
  for (size_t k = 0; k < part.values.size(); ++k) {
    size_t rest = k, at = 0, stride = 1;
    for (size_t d = part.ranges.size(); d-- > 0;) {
      size_t size = part.ranges[d].high - part.ranges[d].low + 1;
      at += (rest % size + (part.ranges[d].low - whole.ranges[d].low)) * stride;
      rest /= size, stride *= whole.ranges[d].high - whole.ranges[d].low + 1;
    }
    double a = part.values[k], b = whole.values[at];
    if (a != b && !(std::isnan(a) && std::isnan(b)))
      return false;
  }
  return true;
}

std::optional<UnlikeDecision> EveryLength::amongFitted() const {
  size_t least = SIZE_MAX;
  for (const Decisions &decisions : fitted)
    least = std::min(least, decisions.size());
  for (size_t k = 0; k < least; ++k)
    for (const Decisions &decisions : fitted)
      if (decisions[k].kind != fitted[0][k].kind ||
          ((decisions[k].kind == Decision::Choice || decisions[k].kind == Decision::Whole) &&
           decisions[k].number != fitted[0][k].number))
        return UnlikeDecision{fitted[0][k].place,
                              "the decision at other lengths is not the one at " + sayLengths(bounds)};
  return std::nullopt;
}

std::string sayUnlike(const Decision &atBounds, const Lengths &there, const Lengths &bounds) {
  const std::string here = " at " + sayLengths(there), longest = " at " + sayLengths(bounds);
  switch (atBounds.kind) {
  case Decision::Whole:
    return "this is a whole number" + longest + ", but not" + here;
  case Decision::Quantity:
    return "this number" + here + " does not follow from its value" + longest;
  default:
    return atBounds.number ? "this holds" + longest + ", but not" + here : "this holds" + here + ", but not" + longest;
  }
}

std::optional<UnlikeDecision> EveryLength::at(const Lengths &lengths, const Decisions &there) const {
  const std::string here = " at " + sayLengths(lengths), longest = " at " + sayLengths(bounds);
  auto unlike = [](const Decision &decision, std::string what) {
    return UnlikeDecision{decision.place, std::move(what)};
  };
  // With an axis of one position, fewer decisions are made, because a function of the axis is a number. Then it is not
  // known which expressions correspond, and only the decisions about numbers are compared.
  bool isWhole = there.size() == fitted[0].size();
  for (size_t k = 0; k < std::min(there.size(), fitted[0].size()); ++k) {
    const Decision &one = there[k], &first = fitted[0][k];
    if (one.kind != first.kind || one.place.data() != first.place.data())
      return std::nullopt;
    std::vector<int64_t> numbers;
    std::vector<Expr> kept;
    for (const Decisions &decisions : fitted)
      if (k < decisions.size()) {
        numbers.push_back(decisions[k].number);
        kept.push_back(decisions[k].kept);
      }
    if (numbers.size() < fitted.size())
      return std::nullopt; // the layers differ in form: the later comparison reports it
    switch (one.kind) {
    case Decision::Choice:
      if (one.number != first.number)
        return unlike(first, sayUnlike(first, lengths, bounds));
      break;
    case Decision::Whole: // a number that is whole by chance, such as 6 / N at N = 3, is handled like any other
      if (first.number && !one.number)
        return unlike(first, sayUnlike(first, lengths, bounds));
      break;
    case Decision::Quantity:
      if (auto polynomial = LengthPolynomial::through(numbers, bounds)) {
        auto expected = subscript::evaluate(polynomial->expression(), subscript::Assignment(lengths));
        if (expected && *expected != one.number)
          return unlike(first, "this is " + std::to_string(one.number) + here +
                                   ", which does not follow from its value" + longest);
      }
      break;
    case Decision::Rewritten:
      if (auto all = isWhole ? fitExpressions(kept, bounds) : std::nullopt)
        if (!areSame(one.written, withLengths(*all, lengths), one.domain))
          return unlike(first, "a condition or an index becomes '" +
                                   subscript::abbreviateTables(subscript::print(one.kept)) + "'" + here +
                                   ", which does not follow from '" +
                                   subscript::abbreviateTables(subscript::print(first.kept)) + "'" + longest);
      break;
    case Decision::Factor: // the kernel computes it if it depends on a length
      break;
    case Decision::Table:
      if (isWhole && !isPartOf(one, first))
        return unlike(first, "this function of positions has other values" + here + " than" + longest);
      break;
    }
  }
  return std::nullopt;
}

} // namespace skewer
