// Fits expression trees of one form, number by number, and tables that are windows of the longest table.
#include "passes/Lengths/ExpressionFit.h"
#include "dialect/IR/Attn.h"
#include "dialect/Subscript/Analysis.h"
#include "llvm/ADT/STLExtras.h"

using namespace skewer;
using namespace skewer::subscript;

Substitution skewer::readsOfLengths(const Lengths &bounds) {
  Substitution reads;
  for (const auto &[name, bound] : bounds)
    reads[name] = attn::readOfLength(name);
  return reads;
}

/// Returns whether `part` is a window of the longest table `whole`: row r of `part` is row r - less of `whole`.
static bool isWindow(const std::vector<int64_t> &part, const std::vector<int64_t> &whole, int64_t less) {
  for (size_t row = 0; row < part.size(); ++row) {
    int64_t at = static_cast<int64_t>(row) - less;
    if (at < 0 || at >= static_cast<int64_t>(whole.size()) || part[row] != whole[static_cast<size_t>(at)])
      return false;
  }
  return true;
}

/// Returns the constant in a sum.
static int64_t constantIn(const Expr &e) {
  if (e.kind() == Kind::Add)
    return constantIn(e.operands()[0]) + constantIn(e.operands()[1]);
  return e.isConstant() ? e.value() : 0;
}

/// Fits tables over positions. Such tables grow with the lengths and agree at equal positions, so the longest table is
/// enough; its rows differ from the rows of the others by a constant.
static std::optional<Expr> fitTables(llvm::ArrayRef<Expr> tables, const Lengths &bounds) {
  int64_t longest = constantIn(tables[0].operands()[0]);
  std::vector<Expr> rows;
  for (const Expr &table : tables) {
    const Expr &row = table.operands()[0];
    int64_t constant = constantIn(row);
    if (!isWindow(table.table(), tables[0].table(), constant - longest))
      return std::nullopt;
    rows.push_back(simplify(row - Expr(constant)));
  }
  auto row = fitExpressions(rows, bounds);
  return row ? std::optional(tables[0].withOperands({simplify(*row + Expr(longest))})) : std::nullopt;
}

/// Fits sums over the same symbols, coefficient by coefficient. If two lengths are equal, a number in a sum may be 0,
/// and then it is not written.
static std::optional<Expr> fitSums(llvm::ArrayRef<Expr> sums, const Lengths &bounds) {
  std::vector<Affine> all;
  std::set<std::string> symbols;
  for (const Expr &sum : sums) {
    auto affine = asAffine(sum);
    if (!affine)
      return std::nullopt;
    for (const auto &[symbol, coefficient] : affine->coefficients)
      symbols.insert(symbol);
    all.push_back(std::move(*affine));
  }
  auto fit = [&](auto &&numberOf) -> std::optional<Expr> {
    std::vector<int64_t> numbers;
    for (const Affine &affine : all)
      numbers.push_back(numberOf(affine));
    auto polynomial = LengthPolynomial::through(numbers, bounds);
    return polynomial ? std::optional(polynomial->expression(readsOfLengths(bounds))) : std::nullopt;
  };
  Expr result = 0;
  for (const std::string &symbol : symbols) {
    auto coefficient = fit([&](const Affine &affine) {
      auto found = affine.coefficients.find(symbol);
      return found == affine.coefficients.end() ? int64_t(0) : found->second;
    });
    if (!coefficient)
      return std::nullopt;
    result = result + *coefficient * Expr::symbol(symbol);
  }
  auto constant = fit([](const Affine &affine) { return affine.constant; });
  return constant ? std::optional(result + *constant) : std::nullopt;
}

/// Returns by how much the right side of `<=`, or of `<` less one, exceeds the left side; nothing for other
/// expressions.
static std::optional<Expr> slackOf(const Expr &e) {
  if (e.kind() != Kind::LessEqual && e.kind() != Kind::Less)
    return std::nullopt;
  return e.operands()[1] - e.operands()[0] - Expr(e.kind() == Kind::Less);
}

/// Fits expressions of different forms: sums, or comparisons of sums.
static std::optional<Expr> fitUnlike(llvm::ArrayRef<Expr> expressions, const Lengths &bounds) {
  std::vector<Expr> slacks;
  for (const Expr &e : expressions)
    if (auto slack = slackOf(e))
      slacks.push_back(*slack);
  if (slacks.empty())
    return fitSums(expressions, bounds);
  auto fitted = slacks.size() == expressions.size() ? fitSums(slacks, bounds) : std::nullopt;
  return fitted ? std::optional(simplify(lessEqual(Expr(0), *fitted))) : std::nullopt;
}

/// Fits conditions that `and`, or `or`, joins in any order. Simplification sorts them by their texts, which contain
/// numbers that change with the lengths. Here they are sorted by the symbols that they read.
static std::optional<Expr> fitJoined(llvm::ArrayRef<Expr> expressions, const Lengths &bounds) {
  Kind kind = expressions[0].kind();
  std::vector<std::vector<Expr>> parts;
  for (const Expr &e : expressions) {
    std::multimap<std::set<std::string>, Expr> sorted;
    for (const Expr &part : kind == Kind::And ? conjunctsOf(e) : disjunctsOf(e))
      sorted.insert({symbolsOf(part), part});
    if (e.kind() != kind || (!parts.empty() && sorted.size() != parts[0].size()))
      return std::nullopt;
    auto &own = parts.emplace_back();
    for (const auto &[symbols, part] : sorted)
      own.push_back(part);
  }
  std::optional<Expr> joined;
  for (size_t k = 0; k < parts[0].size(); ++k) {
    std::vector<Expr> own;
    for (const std::vector<Expr> &of : parts)
      own.push_back(of[k]);
    auto fitted = fitExpressions(own, bounds);
    if (!fitted)
      return std::nullopt;
    joined = !joined ? *fitted : kind == Kind::And ? logicalAnd(*joined, *fitted) : logicalOr(*joined, *fitted);
  }
  return joined;
}

static std::optional<Expr> fitAlike(llvm::ArrayRef<Expr> expressions, const Lengths &bounds);

std::optional<Expr> skewer::fitExpressions(llvm::ArrayRef<Expr> expressions, const Lengths &bounds) {
  if (auto fitted = fitAlike(expressions, bounds))
    return fitted;
  Kind kind = expressions[0].kind();
  return kind == Kind::And || kind == Kind::Or ? fitJoined(expressions, bounds) : fitUnlike(expressions, bounds);
}

/// Fits expressions of one form, number by number.
static std::optional<Expr> fitAlike(llvm::ArrayRef<Expr> expressions, const Lengths &bounds) {
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
    if (auto fitted = fitTables(expressions, bounds))
      return fitted;
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
