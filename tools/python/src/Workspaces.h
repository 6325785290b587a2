// Scratch memory and threads of calls: one call has one of them at a time, the next one takes it over.
#pragma once
#include "skewer.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace skewer::python {

/// Counts the forks on the way to this process: threads exist in the process that made them only.
uint64_t processNow();

struct Workspace {
  void *memory = nullptr;
  uint64_t bytes = 0;
  int32_t workers = 1;
  skewer_team *team = nullptr; // null: the calling thread alone
  uint64_t process = 0;        // the generation of the process that the threads belong to
  ~Workspace();
  /// At least `bytes` of memory aligned to 64; false where there is none.
  bool grow(uint64_t bytes);
};

/// Whoever calls holds a lock: the interpreter's, which a fork does not leave behind, or one of their own.
class Workspaces {
public:
  /// One with that many workers, and a team of them unless the threads are others'. Null where the system gives none.
  std::unique_ptr<Workspace> take(int32_t workers, bool hasTeam = true);
  void give(std::unique_ptr<Workspace>);

private:
  std::vector<std::unique_ptr<Workspace>> idle;
};

} // namespace skewer::python
