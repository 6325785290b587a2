// Evaluation, composition and the symbols of index expressions. Shared subexpressions are visited once.
#include "dialect/Subscript/Arithmetic.h"
#include <unordered_map>

namespace skewer::subscript {

namespace {
class Evaluator {
public:
  Evaluator(const Assignment &assignment, const ReadFunction &read, bool memoise)
      : assignment(assignment), read(read), memoise(memoise) {}

  std::optional<int64_t> operator()(const Expr &e) {
    if (!memoise || e.operands().empty())
      return compute(e);
    auto known = values.find(e.identity());
    if (known != values.end())
      return known->second;
    auto value = compute(e);
    values[e.identity()] = value;
    return value;
  }

private:
  std::optional<int64_t> compute(const Expr &e) {
    const auto &o = e.operands();
    switch (e.kind()) {
    case Kind::Constant:
      return e.value();
    case Kind::Symbol: {
      auto found = assignment.find(e.name());
      return found == assignment.end() ? std::nullopt : std::optional<int64_t>(found->second);
    }
    case Kind::Table: {
      auto row = (*this)(o[0]);
      if (!row || *row < 0 || *row >= static_cast<int64_t>(e.table().size()))
        return std::nullopt;
      return e.table()[*row];
    }
    case Kind::Read: {
      std::vector<int64_t> subscripts;
      for (const Expr &operand : o) {
        auto value = (*this)(operand);
        if (!value)
          return std::nullopt;
        subscripts.push_back(*value);
      }
      return read ? read(e.name(), subscripts) : std::nullopt;
    }
    case Kind::Select: {
      auto condition = (*this)(o[0]);
      return condition ? (*this)(*condition ? o[1] : o[2]) : std::nullopt;
    }
    case Kind::And:
    case Kind::Or: {
      bool deciding = e.kind() == Kind::Or;
      auto a = (*this)(o[0]);
      if (a && (*a != 0) == deciding)
        return deciding;
      auto b = (*this)(o[1]);
      if (b && (*b != 0) == deciding)
        return deciding;
      return a && b ? std::optional<int64_t>(!deciding) : std::nullopt;
    }
    case Kind::Abs:
    case Kind::Not: {
      auto a = (*this)(o[0]);
      return a ? apply(e.kind(), *a) : std::nullopt;
    }
    default: {
      auto a = (*this)(o[0]);
      auto b = a ? (*this)(o[1]) : std::nullopt;
      return b ? apply(e.kind(), *a, *b) : std::nullopt;
    }
    }
  }

  const Assignment &assignment;
  const ReadFunction &read;
  bool memoise;
  std::unordered_map<const void *, std::optional<int64_t>> values;
};

class Substituter {
public:
  explicit Substituter(const Substitution &substitution) : substitution(substitution) {}

  Expr operator()(const Expr &e) {
    if (e.kind() == Kind::Constant)
      return e;
    if (e.isSymbol()) {
      auto found = substitution.find(e.name());
      return found == substitution.end() ? e : found->second;
    }
    auto known = results.find(e.identity());
    if (known != results.end())
      return known->second;
    std::vector<Expr> operands;
    bool changed = false;
    for (const Expr &operand : e.operands()) {
      operands.push_back((*this)(operand));
      changed |= operands.back().identity() != operand.identity();
    }
    Expr result = changed ? e.withOperands(std::move(operands)) : e;
    results.emplace(e.identity(), result);
    return result;
  }

private:
  const Substitution &substitution;
  std::unordered_map<const void *, Expr> results;
};

void collect(const Expr &e, std::set<std::string> &names, std::set<const void *> &seen) {
  if (e.isSymbol())
    names.insert(e.name());
  if (e.operands().empty() || !seen.insert(e.identity()).second)
    return;
  for (const Expr &operand : e.operands())
    collect(operand, names, seen);
}
} // namespace

std::optional<int64_t> evaluate(const Expr &e, const Assignment &assignment, const ReadFunction &read) {
  // For a small tree a map costs more than a second visit.
  return Evaluator(assignment, read, sizeOf(e) > 1000)(e);
}

Expr substitute(const Expr &e, const Substitution &substitution) { return Substituter(substitution)(e); }

std::set<std::string> symbolsOf(const Expr &e) {
  std::set<std::string> names;
  std::set<const void *> seen;
  collect(e, names, seen);
  return names;
}

} // namespace skewer::subscript
