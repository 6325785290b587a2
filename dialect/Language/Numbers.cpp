// Checks of whole numbers and positions: they must fit 64 bits, and indices must stay inside constant tables.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// Returns the ranges of the axes that a function of positions depends on, and of the kernel's index operands.
subscript::Domain Positions::domainOf(const Value &value) const {
  subscript::Domain domain;
  for (const auto &[name, axis] : value.axes)
    if (axis.size != subscript::kRuntime)
      domain[name] = {0, axis.size - 1};
  kernel.addRanges(domain);
  return domain;
}

/// Checks that every part of an index expression fits 64 bits; false after an error.
bool Positions::fits64(StringRef place, const Expr &index, const subscript::Domain &domain) {
  if (!subscript::findOverflow(index, domain))
    return true;
  error(place, "this may not fit 64 bits, and whole numbers and positions are computed in 64 bits");
  diagnostics.note("a number with a point, 2.0 for 2, makes it real-valued, so it is rounded and has no such limit");
  return false;
}

/// Returns the first divisor that is not certain to be positive.
static std::optional<Expr> doubtfulDivisor(const Expr &e, const subscript::Domain &domain,
                                           std::set<const void *> &seen) {
  if (!seen.insert(e.identity()).second)
    return std::nullopt;
  if (e.kind() == subscript::Kind::FloorDiv || e.kind() == subscript::Kind::Mod)
    if (const Expr &divisor = e.operands()[1];
        subscript::proveWithin(divisor, {1, INT64_MAX}, domain).outcome != subscript::Proof::Proven)
      return divisor;
  for (const Expr &operand : e.operands())
    if (auto found = doubtfulDivisor(operand, domain, seen))
      return found;
  return std::nullopt;
}

/// Checks that an index expression of an einsum's text has a value everywhere; false after an error.
bool Positions::isDefined(StringRef place, const Expr &index, const subscript::Domain &domain) {
  std::set<const void *> seen;
  if (auto divisor = doubtfulDivisor(index, domain, seen)) {
    error(place, "positions are divided by a whole number of at least 1, found " + subscript::print(*divisor));
    return false;
  }
  return fits64(place, index, domain);
}

/// Returns a new index expression if it fits; an error if it may exceed 64 bits, or is so long that the algebra would
/// not end, because schemes that use an argument twice double it. Published layers have at most 200 operations.
Value Positions::whereItFits(const Node &node, Value index) {
  constexpr size_t kMaximumSize = 1 << 12;
  if (subscript::sizeOf(index.index) > kMaximumSize)
    return error(node.text, "this function of positions, written out, has more than " + std::to_string(kMaximumSize) +
                                " operations");
  return fits64(node.text, index.index, domainOf(index)) ? index : Value();
}

} // namespace skewer::language
