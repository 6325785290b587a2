// Loops whose time shows the speed of a core. Each returns the number of units that its `rounds` contain, and has no
// other effect.
#pragma once
#include <cstddef>
#include <cstdint>

namespace skewer::driver {

/// The loops for one vector width. Operands are arguments, so that the compiler cannot compute anything in advance.
struct ProbeLoops {
  /// The loops run FMAs that wait for each other; independent FMAs; additions; FMAs and as many additions. Units are
  /// FMAs or additions; for `both`, pairs.
  int64_t (*chain)(int64_t rounds, float a, float b);
  int64_t (*multiplyAdds)(int64_t rounds, float a, float b);
  int64_t (*additions)(int64_t rounds, float a, float b);
  int64_t (*both)(int64_t rounds, float a, float b);
  /// Reads `bytes` bytes, a multiple of 1024, `rounds` times. Units are bytes.
  int64_t (*read)(int64_t rounds, const char *data, size_t bytes);
  /// Read elements of `table`, which has kGathered elements, at computed and clamped indices: `gather` with the gather
  /// instruction (null if there is none), `pick` one by one. Units are elements.
  int64_t (*gather)(int64_t rounds, const float *table);
  int64_t (*pick)(int64_t rounds, const float *table);
};
/// The number of elements of the table: 8 KiB of f32, which stay in L1.
constexpr int32_t kGathered = 2048;

/// Returns the loops for vectors of 4, 8 or 16 f32s, which this processor must support.
ProbeLoops probeLoops(int64_t lanes);

/// Runs integer instructions of one cycle each that wait for each other; returns 0 if none is known for this
/// architecture.
int64_t integerChain(int64_t rounds, uint64_t operand);

} // namespace skewer::driver
