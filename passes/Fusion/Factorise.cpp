// Finds the axes of a map from the divisions in index expressions.
#include "passes/Fusion/Factorise.h"
#include "llvm/ADT/STLExtras.h"

using namespace skewer::subscript;

std::set<int64_t> skewer::divisorsOf(const Expr &e, const std::string &symbol) {
  std::set<int64_t> divisors;
  for (const Expr &operand : e.operands())
    divisors.merge(divisorsOf(operand, symbol));
  if ((e.kind() != Kind::FloorDiv && e.kind() != Kind::Mod) || !e.operands()[1].isConstant())
    return divisors;
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
  return divisors;
}

std::vector<int64_t> skewer::factorsOf(const std::string &symbol, int64_t size, const std::vector<Expr> &expressions) {
  std::set<int64_t> divisors;
  for (const Expr &e : expressions)
    divisors.merge(divisorsOf(e, symbol));
  std::vector<int64_t> factors; // innermost first
  int64_t stride = 1;
  for (int64_t divisor : divisors) {
    if (divisor <= 1 || divisor == size)
      continue;
    // Blocks of lines that do not divide the map: the number of lines is not split further.
    if (stride > 1 && divisor % stride == 0 && size % divisor)
      continue;
    if (divisor % stride || size % divisor)
      return {size};
    factors.push_back(divisor / stride);
    stride = divisor;
  }
  factors.push_back(size / stride);
  return {factors.rbegin(), factors.rend()};
}

/// Returns the length of a line, if `divisor` is a whole number of lines that does not divide the map; otherwise 1.
static int64_t lineOf(int64_t divisor, llvm::ArrayRef<int64_t> factors) {
  int64_t size = 1, line = 1;
  for (int64_t factor : factors)
    size *= factor;
  if (divisor <= 0 || size % divisor == 0)
    return 1;
  for (int64_t factor : llvm::reverse(factors.drop_front()))
    if (divisor % (line * factor) == 0)
      line *= factor;
  return line;
}

static Expr divideLines(const Expr &e, const std::string &symbol, llvm::ArrayRef<int64_t> factors) {
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands())
    operands.push_back(divideLines(operand, symbol, factors));
  if (operands.empty())
    return e;
  if ((e.kind() == Kind::FloorDiv || e.kind() == Kind::Mod) && operands[0].isSymbol() && operands[0].name() == symbol &&
      operands[1].isConstant())
    if (int64_t divisor = operands[1].value(), line = lineOf(divisor, factors); line > 1) {
      Expr number = floorDiv(operands[0], Expr(line)), lines(divisor / line);
      return e.kind() == Kind::FloorDiv ? floorDiv(number, lines)
                                        : Expr(line) * mod(number, lines) + mod(operands[0], Expr(line));
    }
  return e.withOperands(std::move(operands));
}

Expr skewer::byLines(const Expr &e, const std::string &symbol, llvm::ArrayRef<int64_t> factors) {
  bool any = llvm::any_of(divisorsOf(e, symbol), [&](int64_t divisor) { return lineOf(divisor, factors) > 1; });
  return any ? divideLines(e, symbol, factors) : e;
}
