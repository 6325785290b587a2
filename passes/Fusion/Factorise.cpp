// Finds the axes of a map from the divisions in index expressions.
#include "passes/Fusion/Factorise.h"

using namespace skewer::subscript;

namespace {
void collectDivisors(const Expr &e, const std::string &symbol, std::set<int64_t> &divisors) {
  for (const Expr &operand : e.operands())
    collectDivisors(operand, symbol, divisors);
  if ((e.kind() != Kind::FloorDiv && e.kind() != Kind::Mod) || !e.operands()[1].isConstant())
    return;
  int64_t divisor = e.operands()[1].value();
  const Expr &inner = e.operands()[0];
  if (inner.isSymbol() && inner.name() == symbol)
    divisors.insert(divisor);
  // (s floordiv a) mod b and (s floordiv a) floordiv b cut at a*b.
  if (inner.kind() == Kind::FloorDiv && inner.operands()[0].isSymbol() && inner.operands()[0].name() == symbol &&
      inner.operands()[1].isConstant()) {
    int64_t product;
    if (!__builtin_mul_overflow(inner.operands()[1].value(), divisor, &product))
      divisors.insert(product);
  }
}
} // namespace

std::vector<int64_t> skewer::factorsOf(const std::string &symbol, int64_t size, const std::vector<Expr> &expressions) {
  std::set<int64_t> divisors;
  for (const Expr &e : expressions)
    collectDivisors(e, symbol, divisors);
  std::vector<int64_t> factors; // innermost first
  int64_t stride = 1;
  for (int64_t divisor : divisors) {
    if (divisor <= 1 || divisor == size)
      continue;
    if (divisor % stride || size % divisor)
      return {size};
    factors.push_back(divisor / stride);
    stride = divisor;
  }
  factors.push_back(size / stride);
  return {factors.rbegin(), factors.rend()};
}
