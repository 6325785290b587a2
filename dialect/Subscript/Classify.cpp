// Classifies an expression as a function of query and key positions: affine, an offset, dependent on queries or keys.
#include "dialect/Subscript/Simplifier.h"

namespace skewer::subscript {

std::optional<Affine> asAffine(const Expr &e, const Domain &domain) {
  Linear l = Simplifier(domain, std::nullopt).linear(e);
  Affine affine;
  affine.constant = l.constant;
  for (const Term &t : l.terms) {
    if (!t.atom.isSymbol())
      return std::nullopt;
    affine.coefficients[t.atom.name()] = t.coefficient;
  }
  return affine;
}

Dependence dependence(const Expr &e, const std::set<std::string> &queryAxes, const std::set<std::string> &keyAxes) {
  Dependence result;
  for (const std::string &name : symbolsOf(simplify(e))) {
    result.query |= queryAxes.count(name) != 0;
    result.key |= keyAxes.count(name) != 0;
  }
  return result;
}

bool isUniformRead(const Expr &e) {
  if (e.kind() != Kind::Read)
    return false;
  for (const Expr &subscript : e.operands())
    if (!subscript.isConstant())
      return false;
  return true;
}

Expr withoutUniformReads(const Expr &e) {
  if (isUniformRead(e))
    return 0;
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands())
    operands.push_back(withoutUniformReads(operand));
  return operands.empty() ? e : e.withOperands(std::move(operands));
}

std::optional<Offset> asOffset(const Expr &e, const std::set<std::string> &queryAxes,
                               const std::set<std::string> &keyAxes, const Domain &domain) {
  Linear l = Simplifier(domain, std::nullopt).linear(e);
  Offset offset;
  offset.constant = l.constant;
  std::map<std::string, int64_t> coefficients;
  for (const Term &t : l.terms) {
    if (t.atom.isSymbol())
      coefficients[t.atom.name()] = t.coefficient;
    else if (isUniformRead(t.atom))
      offset.shift = offset.shift + Expr(t.coefficient) * t.atom;
    else
      return std::nullopt;
  }
  if (coefficients.size() != 2)
    return std::nullopt;
  for (const auto &[name, coefficient] : coefficients) {
    if (coefficient != 1 && coefficient != -1)
      return std::nullopt;
    if (keyAxes.count(name) && offset.key.empty()) {
      offset.key = name;
      offset.sign = coefficient;
    } else if (queryAxes.count(name) && offset.query.empty()) {
      offset.query = name;
    } else {
      return std::nullopt;
    }
  }
  if (offset.query.empty() || offset.key.empty() || coefficients.at(offset.query) != -offset.sign)
    return std::nullopt;
  return offset;
}

std::optional<ShiftedInterval> asShiftedInterval(const Expr &predicate, const std::string &query,
                                                 const std::string &key, const Domain &domain) {
  if (auto interval = asOffsetInterval(predicate, query, key, domain))
    return ShiftedInterval{*interval, 0};
  std::vector<Expr> uniform;
  for (const Expr &read : readNodes(predicate)) {
    bool known = !isUniformRead(read);
    for (const Expr &other : uniform)
      known |= other == read;
    if (!known)
      uniform.push_back(read);
  }
  // Each uniform read is added, subtracted, or unused. There are few of them, so all combinations are tried.
  constexpr size_t kMost = 3;
  if (uniform.empty() || uniform.size() > kMost)
    return std::nullopt;
  size_t ways = uniform.size() == 1 ? 3 : uniform.size() == 2 ? 9 : 27;
  for (size_t way = 0; way < ways; ++way) {
    Expr shift = 0;
    for (size_t k = 0, rest = way; k < uniform.size(); ++k, rest /= 3)
      shift = rest % 3 == 0 ? shift : rest % 3 == 1 ? shift + uniform[k] : shift - uniform[k];
    Expr moved = simplify(substitute(predicate, {{key, Expr::symbol(key) - shift}}));
    if (!readNodes(moved).empty())
      continue;
    if (auto interval = asOffsetInterval(moved, query, key))
      return ShiftedInterval{*interval, simplify(shift)};
  }
  return std::nullopt;
}

} // namespace skewer::subscript
