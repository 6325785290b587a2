// Random choices that depend on the seed and on nothing else: the same with every C++ library.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace skewer::fuzz {

/// SplitMix64 (Steele, Lea, Flood 2014): every seed, also a small one, gives an unrelated sequence.
class Dice {
public:
  explicit Dice(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From 0 to `count` - 1. The bias of the remainder is far below what a test could see.
  int64_t below(int64_t count) { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }
  /// Both ends included.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T> T pick(const std::vector<T> &choices) {
    return choices[below(static_cast<int64_t>(choices.size()))];
  }
  template <typename T> void shuffle(std::vector<T> &list) {
    for (int64_t k = static_cast<int64_t>(list.size()); k > 1; --k)
      std::swap(list[k - 1], list[below(k)]);
  }

private:
  uint64_t state;
};

} // namespace skewer::fuzz
