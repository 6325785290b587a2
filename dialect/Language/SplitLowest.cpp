// Splits functions of positions that are -inf at some positions, because an additive mask is a mask.
#include "dialect/Language/RealFunction.h"
#include <cmath>

namespace skewer::language {

namespace {
bool isNumber(const RealPtr &f, double number) { return f->kind == RealKind::Number && f->number == number; }
RealPtr truth(bool value) { return makeReal(value ? 1 : 0, true, nullptr); }

RealPtr both(const RealPtr &a, const RealPtr &b) {
  if (!a || !b)
    return a ? a : b;
  return makeReal(RealKind::And, {a, b}, a->node);
}

/// Returns the condition under which a selection is a number: `a` where the condition holds, else `b`. Null means
/// everywhere.
RealPtr chosen(const RealPtr &condition, const RealPtr &a, const RealPtr &b) {
  if (!a && !b)
    return nullptr;
  RealPtr other = makeReal(RealKind::Not, {condition}, condition->node);
  RealPtr first = a && isNumber(a, 0) ? nullptr : both(condition, a);
  RealPtr second = b && isNumber(b, 0) ? nullptr : both(other, b);
  if (!first || !second)
    return first ? first : second ? second : truth(false);
  return makeReal(RealKind::Or, {first, second}, condition->node);
}

/// Splits a function. If `negated`, it is subtracted, so that +inf stands for -inf.
std::optional<LowestSplit> split(const RealPtr &f, bool negated) {
  auto rebuilt = [&](std::vector<RealPtr> operands) { return makeReal(f->kind, std::move(operands), f->node); };
  switch (f->kind) {
  case RealKind::Number:
    if (!std::isinf(f->number))
      return LowestSplit{f, nullptr};
    if ((f->number > 0) != negated)
      return std::nullopt;
    return LowestSplit{truth(false), truth(false)};
  case RealKind::Select: {
    auto a = split(f->operands[1], negated), b = split(f->operands[2], negated);
    if (!a || !b)
      return std::nullopt;
    bool noFirst = a->holds && isNumber(a->holds, 0), noSecond = b->holds && isNumber(b->holds, 0);
    RealPtr value = noFirst    ? b->value
                    : noSecond ? a->value
                    : a->value->kind == RealKind::Number && isNumber(b->value, a->value->number)
                        ? a->value
                        : rebuilt({f->operands[0], a->value, b->value});
    return LowestSplit{value, chosen(f->operands[0], a->holds, b->holds)};
  }
  case RealKind::Add:
  case RealKind::Subtract: {
    auto a = split(f->operands[0], negated), b = split(f->operands[1], negated != (f->kind == RealKind::Subtract));
    if (!a || !b)
      return std::nullopt;
    return LowestSplit{rebuilt({a->value, b->value}), both(a->holds, b->holds)};
  }
  case RealKind::Negate:
  case RealKind::Single:
  case RealKind::Double: {
    auto a = split(f->operands[0], negated != (f->kind == RealKind::Negate));
    return a ? std::optional(LowestSplit{rebuilt({a->value}), a->holds}) : std::nullopt;
  }
  case RealKind::Multiply:
  case RealKind::Divide:
    for (size_t k : {0, 1}) {
      const RealPtr &factor = f->operands[1 - k];
      if ((k == 1 && f->kind == RealKind::Divide) || factor->kind != RealKind::Number || factor->number == 0 ||
          !std::isfinite(factor->number))
        continue;
      auto a = split(f->operands[k], negated != (factor->number < 0));
      if (!a)
        return std::nullopt;
      return LowestSplit{
          rebuilt(k == 0 ? std::vector<RealPtr>{a->value, factor} : std::vector<RealPtr>{factor, a->value}), a->holds};
    }
    return LowestSplit{f, nullptr};
  default:
    return LowestSplit{f, nullptr};
  }
}
} // namespace

std::optional<LowestSplit> splitLowest(const RealPtr &f) {
  auto found = split(f, false);
  return found && found->holds ? found : std::nullopt;
}

static bool hasInfinity(const RealFunction &f) {
  if (f.kind == RealKind::Number)
    return std::isinf(f.number);
  for (const RealPtr &operand : f.operands)
    if (hasInfinity(*operand))
      return true;
  return false;
}

bool multipliesInfinity(const RealFunction &f) {
  for (size_t k = 0; f.kind == RealKind::Multiply && k < 2; ++k) {
    const RealFunction &factor = *f.operands[k], &other = *f.operands[1 - k];
    if (factor.kind == RealKind::Number && (std::isinf(factor.number) || (factor.number == 0 && hasInfinity(other))))
      return true;
  }
  for (const RealPtr &operand : f.operands)
    if (multipliesInfinity(*operand))
      return true;
  return false;
}

} // namespace skewer::language
