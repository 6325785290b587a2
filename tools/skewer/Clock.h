// The clocks by which calls, loops and compilations are timed.
#pragma once
#include <chrono>
#include <ctime>

namespace skewer::driver {

/// Returns the seconds of a clock that never goes back.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the seconds that this thread has computed. Other processes do not add to them, unlike to those of `now`.
inline double processorTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace skewer::driver
