// Bit fields as index expressions, in two's complement of any width. Plain C++.
#pragma once
#include "dialect/Subscript/Expr.h"

namespace skewer::subscript {

/// Shifts for places from 0 to 62: x >> places is x floordiv 2^places, x << places is x * 2^places.
Expr shiftRight(const Expr &, const Expr &places);
Expr shiftLeft(const Expr &, const Expr &places);
/// Returns x & mask as a sum of fields: each run of ones in the mask is (x floordiv 2^low mod 2^length) * 2^low.
/// Nothing if the mask is negative or has bit 62.
std::optional<Expr> bitAnd(const Expr &, int64_t mask);
/// Returns the exponent of a power of two whose exponent depends on positions, as in shifts: row k of its table is 2^k.
std::optional<Expr> exponentOf(const Expr &power);

} // namespace skewer::subscript
