// Checked 64-bit integer arithmetic with the rounding of Presburger arithmetic. Folding and evaluation share this one
// definition.
#pragma once
#include "dialect/Subscript/Expr.h"

namespace skewer::subscript {

inline int64_t floorDivide(int64_t a, int64_t n) { // n > 0
  int64_t q = a / n;
  return q - (a % n < 0);
}
inline int64_t floorModulo(int64_t a, int64_t n) { // n > 0
  int64_t r = a % n;
  return r < 0 ? r + n : r;
}
inline std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
}
inline std::optional<int64_t> checkedSubtract(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
}
inline std::optional<int64_t> checkedMultiply(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
}

/// Applies a one- or two-operand kind to known values; nothing on overflow or if a divisor is not positive.
inline std::optional<int64_t> apply(Kind kind, int64_t a, int64_t b = 0) {
  switch (kind) {
  case Kind::Add:
    return checkedAdd(a, b);
  case Kind::Mul:
    return checkedMultiply(a, b);
  case Kind::FloorDiv:
    return b > 0 ? std::optional<int64_t>(floorDivide(a, b)) : std::nullopt;
  case Kind::Mod:
    return b > 0 ? std::optional<int64_t>(floorModulo(a, b)) : std::nullopt;
  case Kind::Min:
    return a < b ? a : b;
  case Kind::Max:
    return a > b ? a : b;
  case Kind::Less:
    return a < b;
  case Kind::LessEqual:
    return a <= b;
  case Kind::Equal:
    return a == b;
  case Kind::NotEqual:
    return a != b;
  case Kind::And:
    return a && b;
  case Kind::Or:
    return a || b;
  case Kind::Abs:
    return a >= 0 ? std::optional<int64_t>(a) : checkedSubtract(0, a);
  case Kind::Not:
    return !a;
  default:
    return std::nullopt;
  }
}

} // namespace skewer::subscript
