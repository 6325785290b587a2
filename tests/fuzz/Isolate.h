// A judgement in a process of its own: what crashes, hangs or eats memory there is an outcome like any other.
#pragma once
#include "tests/fuzz/Differential.h"
#include <sys/types.h>

namespace skewer::fuzz {

class Child {
public:
  /// Starts judging; the process must have one thread.
  static Child start(const Subject &, const Plan &, unsigned limitSeconds);
  pid_t process() const { return id; }
  /// After the process has ended with `status` (of waitpid): its outcome, with what it printed.
  Outcome finish(int status);
  /// Waits for the end.
  Outcome wait();

private:
  pid_t id = -1;
  std::FILE *answer = nullptr, *diagnostics = nullptr;
};

} // namespace skewer::fuzz
