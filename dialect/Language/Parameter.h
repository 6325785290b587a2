// The value of a param that comes from outside the specification: a whole number or a real number.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>

namespace skewer::language {

/// The value in `-D NAME=VALUE`. A number written as a whole number is whole, as in a specification.
class Parameter {
public:
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  Parameter(T value) : whole(static_cast<int64_t>(value)), real(static_cast<double>(value)), isReal(false) {}
  Parameter(double value) : real(value), isReal(true) {}
  bool isWhole() const { return !isReal; }
  int64_t integer() const { return whole; }
  double number() const { return real; }
  /// Returns the value as a specification would write it, with all digits.
  std::string text() const;

private:
  int64_t whole = 0;
  double real = 0;
  bool isReal;
};

using Parameters = std::map<std::string, Parameter>;

} // namespace skewer::language
