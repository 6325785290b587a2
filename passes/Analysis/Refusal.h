// The reason why something cannot be done, as a value. A function that may refuse returns OrRefusal<T> if it gives a
// value, and std::optional<Refusal> if it only does or checks something; the caller emits, notes or drops the reason.
#pragma once
#include <optional>
#include <string>
#include <utility>

namespace skewer {

/// The reason, in the user's terms: "its values are 2048 wide; blocks divide up to 1024".
struct Refusal {
  std::string reason;
};

/// A value, or the reason why there is none.
template <typename T> class [[nodiscard]] OrRefusal : public std::optional<T> {
public:
  OrRefusal(T &&value) : std::optional<T>(std::move(value)) {}
  OrRefusal(const T &value) : std::optional<T>(value) {}
  OrRefusal(Refusal refusal) : refused(std::move(refusal)) {}

  /// Returns the refusal, for a caller that refuses for the same reason. Its reason is empty if there is a value.
  const Refusal &refusal() const { return refused; }
  const std::string &reason() const { return refused.reason; }

private:
  Refusal refused;
};

} // namespace skewer
