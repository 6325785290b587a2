// Fields of whole numbers of bits as index expressions, in two's complement of any width. Plain C++.
#pragma once
#include "dialect/Subscript/Expr.h"

namespace skewer::subscript {

/// x >> places is x floordiv 2^places, x << places is x * 2^places, for places from 0 to 62.
Expr shiftRight(const Expr &, const Expr &places);
Expr shiftLeft(const Expr &, const Expr &places);
/// x & mask as a sum of fields: each run of ones in the mask is (x floordiv 2^low mod 2^length) * 2^low. Nothing where the
/// mask is negative or has bit 62.
std::optional<Expr> bitAnd(const Expr &, int64_t mask);
/// The exponent of a power of two that positions decide, as shifts have it: row k of its table is 2^k.
std::optional<Expr> exponentOf(const Expr &power);

} // namespace skewer::subscript
