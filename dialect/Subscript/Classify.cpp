// What an expression is as a function of query and key positions: affine, an offset, dependent on either.
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

std::optional<Offset> asOffset(const Expr &e, const std::set<std::string> &queryAxes,
                               const std::set<std::string> &keyAxes, const Domain &domain) {
  auto affine = asAffine(e, domain);
  if (!affine || affine->coefficients.size() != 2)
    return std::nullopt;
  Offset offset;
  offset.constant = affine->constant;
  for (const auto &[name, coefficient] : affine->coefficients) {
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
  if (affine->coefficients.at(offset.query) != -offset.sign)
    return std::nullopt;
  return offset;
}

} // namespace skewer::subscript
