// Represents elements of run-time operands as symbols, because only the operand's range is known about their values.
// Internal to this library.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer::subscript {

/// Replaces every Read by a symbol with the element's text as its name ("seg[b, i]"): one symbol for each different
/// text. The symbols' values are independent of each other, so a bound proven over them holds. A point is possible
/// unless it gives one element two values.
class Elements {
public:
  explicit Elements(const Domain &domain) : boxes(domain) {}

  Expr replace(const Expr &);
  std::optional<Expr> replace(const std::optional<Expr> &e) { return e ? std::optional<Expr>(replace(*e)) : e; }
  /// Returns the given domain with the ranges of the elements.
  const Domain &domain() const { return boxes; }
  bool any() const { return !reads.empty(); }
  /// Returns whether the point may give one element of an operand two values.
  bool contradicts(const Assignment &point) const;

private:
  Domain boxes;
  std::map<std::string, Expr> reads; // by symbol; subscripts have been replaced
};

} // namespace skewer::subscript
