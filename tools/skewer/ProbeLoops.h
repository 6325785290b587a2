// Loops whose time says what a core can do. Each returns how many units its `rounds` are, and touches nothing else.
#pragma once
#include <cstddef>
#include <cstdint>

namespace skewer::driver {

/// For one width of vectors. Operands are passed so that nothing can be computed before.
struct ProbeLoops {
  /// FMAs that wait for each other; FMAs; additions; FMAs and as many additions. Units are FMAs or additions; of the
  /// last, pairs.
  int64_t (*chain)(int64_t rounds, float a, float b);
  int64_t (*multiplyAdds)(int64_t rounds, float a, float b);
  int64_t (*additions)(int64_t rounds, float a, float b);
  int64_t (*both)(int64_t rounds, float a, float b);
  /// Reads `bytes`, a multiple of 1024, `rounds` times. Units are bytes.
  int64_t (*read)(int64_t rounds, const char *data, size_t bytes);
  /// Elements at indices that are computed and clamped, of `table`, which holds kGathered of them: by the instruction
  /// for it (null where there is none), and one by one. Units are elements.
  int64_t (*gather)(int64_t rounds, const float *table);
  int64_t (*pick)(int64_t rounds, const float *table);
};
/// 8 KiB of f32: they stay in L1.
constexpr int32_t kGathered = 2048;

/// For vectors of 4, 8 or 16 f32s, which this processor must have.
ProbeLoops probeLoops(int64_t lanes);

/// Integer instructions of one cycle each that wait for each other; 0 where none is known for this architecture.
int64_t integerChain(int64_t rounds, uint64_t operand);

} // namespace skewer::driver
