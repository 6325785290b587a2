// A value, or the reason why there is none, as the reference's functions return it. It shares nothing with the compiler
// and uses neither MLIR nor LLVM.
#pragma once
#include <optional>
#include <string>

namespace skewer::reference {

/// The reason: "axis 'j' has no size".
struct Error {
  std::string reason;
};

template <typename T> struct [[nodiscard]] OrError : std::optional<T> {
  OrError(T value) : std::optional<T>(std::move(value)) {}
  OrError(Error error) : reason(std::move(error.reason)) {}
  std::string reason; // empty if there is a value
};

} // namespace skewer::reference
