// Trees of one form, number by number; tables that are windows of the longest one.
#include "passes/Lengths/ExpressionFit.h"
#include "dialect/IR/Attn.h"
#include "llvm/ADT/STLExtras.h"

using namespace skewer;
using namespace skewer::subscript;

Substitution skewer::readsOfLengths(const Lengths &bounds) {
  Substitution reads;
  for (const auto &[name, bound] : bounds)
    reads[name] = attn::readOfLength(name);
  return reads;
}

/// Whether a table is the part of the longest one that its row, so much less than the longest one's, can reach.
static bool isWindow(const std::vector<int64_t> &part, const std::vector<int64_t> &whole, int64_t less) {
  for (size_t row = 0; row < part.size(); ++row) {
    int64_t at = static_cast<int64_t>(row) - less;
    if (at < 0 || at >= static_cast<int64_t>(whole.size()) || part[row] != whole[static_cast<size_t>(at)])
      return false;
  }
  return true;
}

/// A table over positions grows with the lengths, and says the same of the same positions: the longest serves.
static bool isFirstOfAll(llvm::ArrayRef<Expr> tables) {
  return llvm::all_of(tables, [&](const Expr &table) {
    Expr less = simplify(table.operands()[0] - tables[0].operands()[0]);
    return less.isConstant() && isWindow(table.table(), tables[0].table(), less.value());
  });
}

std::optional<Expr> skewer::fitExpressions(llvm::ArrayRef<Expr> expressions, const Lengths &bounds) {
  const Expr &first = expressions.front();
  if (llvm::all_equal(expressions))
    return first;
  bool isOneForm = llvm::all_of(expressions, [&](const Expr &e) {
    return e.kind() == first.kind() && e.operands().size() == first.operands().size() &&
           (e.kind() != Kind::Symbol || e.name() == first.name()) &&
           (e.kind() != Kind::Read || e.name() == first.name());
  });
  if (!isOneForm)
    return std::nullopt;
  if (first.kind() == Kind::Constant) {
    std::vector<int64_t> values;
    for (const Expr &e : expressions)
      values.push_back(e.value());
    auto polynomial = LengthPolynomial::through(values, bounds);
    return polynomial ? std::optional(polynomial->expression(readsOfLengths(bounds))) : std::nullopt;
  }
  if (first.kind() == Kind::Table) {
    if (isFirstOfAll(expressions))
      return first;
    if (llvm::any_of(expressions, [&](const Expr &e) { return e.table() != first.table(); }))
      return std::nullopt;
  }
  std::vector<Expr> operands;
  for (size_t k = 0; k < first.operands().size(); ++k) {
    std::vector<Expr> own;
    for (const Expr &e : expressions)
      own.push_back(e.operands()[k]);
    auto fitted = fitExpressions(own, bounds);
    if (!fitted)
      return std::nullopt;
    operands.push_back(std::move(*fitted));
  }
  return first.withOperands(std::move(operands));
}
