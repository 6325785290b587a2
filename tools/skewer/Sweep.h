// The values that `skewer bench --sweep` gives to one size, one after the other.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace skewer::driver {

/// The name in a sweep of the number of threads.
constexpr const char *kThreads = "threads";

struct Sweep {
  std::string name; // of a param, a run-time size or a length of the text; or kThreads
  std::vector<int64_t> values;
};

} // namespace skewer::driver
