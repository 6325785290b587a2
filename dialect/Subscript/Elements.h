// Elements of run-time operands as symbols: what is unknown about them is their value, within the operand's range.
// Internal to this library.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer::subscript {

/// Replaces every Read by a symbol that is written as the element is ("seg[b, i]"), one for each element that is
/// spelled differently. Their values are independent of each other, so a bound that is proven over them holds, and a
/// point is possible unless it gives one element two values.
class Elements {
public:
  explicit Elements(const Domain &domain) : boxes(domain) {}

  Expr replace(const Expr &);
  std::optional<Expr> replace(const std::optional<Expr> &e) { return e ? std::optional<Expr>(replace(*e)) : e; }
  /// The domain given, with the elements' ranges.
  const Domain &domain() const { return boxes; }
  bool any() const { return !reads.empty(); }
  /// Whether the point may give one element of an operand two values.
  bool contradicts(const Assignment &point) const;

private:
  Domain boxes;
  std::map<std::string, Expr> reads; // by symbol; subscripts have been replaced
};

} // namespace skewer::subscript
