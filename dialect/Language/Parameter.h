// The value of a param from outside the text: a whole number, or a real one.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>

namespace skewer::language {

/// What `-D NAME=VALUE` says: a number written as a whole one is whole, as in the text.
class Parameter {
public:
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  Parameter(T value) : whole(static_cast<int64_t>(value)), real(static_cast<double>(value)), isReal(false) {}
  Parameter(double value) : real(value), isReal(true) {}
  bool isWhole() const { return !isReal; }
  int64_t integer() const { return whole; }
  double number() const { return real; }
  /// As it would be written in a text, with all digits.
  std::string text() const;

private:
  int64_t whole = 0;
  double real = 0;
  bool isReal;
};

using Parameters = std::map<std::string, Parameter>;

} // namespace skewer::language
