// Scratch memory and threads of calls, from Python and from XLA. One call at a time uses a workspace; the next call
// reuses it, so that it need not allocate memory or start threads.
#pragma once
#include "skewer.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace skewer::python {

/// Returns the number of forks on the way to this process. Threads exist only in the process that made them.
uint64_t processNow();

struct Workspace {
  void *memory = nullptr;
  uint64_t bytes = 0;
  int32_t workers = 1;
  skewer_team *team = nullptr; // null: the calling thread alone
  uint64_t process = 0;        // the generation of the process that the threads belong to
  ~Workspace();
  /// Grows the memory to at least `bytes`, aligned to 64; returns false if there is not enough.
  bool grow(uint64_t bytes);
};

/// The workspaces that are not in use. Callers hold a lock: the interpreter's, which no fork leaves locked, or their
/// own.
class Workspaces {
public:
  /// Returns a workspace with that many workers; without a team if the threads belong to others. Null if the system has
  /// no memory or threads.
  std::unique_ptr<Workspace> take(int32_t workers, bool hasTeam = true);
  void give(std::unique_ptr<Workspace>);

private:
  std::vector<std::unique_ptr<Workspace>> idle;
};

} // namespace skewer::python
