// Interpolates multilinearly between the points at the bounds and one below, and checks the result at one more point.
#include "passes/Lengths/LengthPolynomial.h"

using namespace skewer;
using subscript::Expr;

std::vector<Lengths> skewer::fittingPoints(const Lengths &bounds) {
  std::vector<Lengths> points;
  for (unsigned corner = 0; corner < 1u << bounds.size(); ++corner) {
    Lengths point;
    unsigned bit = 0;
    for (const auto &[name, bound] : bounds)
      point[name] = bound - (corner >> bit++ & 1);
    points.push_back(std::move(point));
  }
  Lengths other;
  int64_t less = 3; // different for each length, so that lengths cannot be confused
  for (const auto &[name, bound] : bounds)
    other[name] = bound - less++;
  points.push_back(std::move(other));
  return points;
}

std::optional<LengthPolynomial> LengthPolynomial::through(llvm::ArrayRef<int64_t> values, const Lengths &bounds) {
  unsigned corners = 1u << bounds.size();
  LengthPolynomial result;
  for (const auto &[name, bound] : bounds)
    result.names.push_back(name);
  // f(x) is the sum over S of difference[S] times the product over S of (x_k - bound_k).
  std::vector<int64_t> differences(values.begin(), values.begin() + corners);
  for (unsigned bit = 1; bit < corners; bit <<= 1)
    for (unsigned s = 0; s < corners; ++s)
      if (s & bit)
        differences[s] = differences[s ^ bit] - differences[s];
  // Multiply the products out.
  std::vector<int64_t> coefficients = std::move(differences);
  unsigned bit = 1;
  for (const auto &[name, bound] : bounds) {
    for (unsigned s = 0; s < corners; ++s)
      if (s & bit)
        coefficients[s ^ bit] -= coefficients[s] * bound;
    bit <<= 1;
  }
  for (unsigned s = 0; s < corners; ++s)
    if (coefficients[s])
      result.terms[s] = coefficients[s];
  subscript::Assignment last = fittingPoints(bounds).back();
  auto there = subscript::evaluate(result.expression(), last);
  return there && *there == values.back() ? std::optional(result) : std::nullopt;
}

Expr LengthPolynomial::expression(const subscript::Substitution &lengths) const {
  Expr sum = 0;
  // Products of many lengths first, the constant last: "2*N - 1".
  std::vector<std::pair<unsigned, int64_t>> ordered(terms.rbegin(), terms.rend());
  for (auto [s, coefficient] : ordered) {
    Expr product = 1;
    for (size_t k = 0; k < names.size(); ++k)
      if (s >> k & 1) {
        auto stands = lengths.find(names[k]);
        product = product * (stands == lengths.end() ? Expr::symbol(names[k]) : stands->second);
      }
    bool isNegative = coefficient < 0 && !sum.isConstant(0);
    Expr term = (isNegative ? Expr(-coefficient) : Expr(coefficient)) * product;
    sum = isNegative ? sum - term : sum + term;
  }
  return sum;
}
