// Keeps the memory and threads of finished calls for later calls.
#include "Workspaces.h"
#include <atomic>
#include <cstdlib>
#include <pthread.h>

namespace skewer::python {

// Number of calls of a layer that may reasonably overlap; further workspaces are freed.
static constexpr size_t kMostIdle = 8;

uint64_t processNow() {
  static std::atomic<uint64_t> generation{1};
  static const int once = pthread_atfork(nullptr, nullptr, [] { ++generation; });
  (void)once;
  return generation;
}

Workspace::~Workspace() {
  std::free(memory);
  // In a forked child the team's threads do not exist and cannot be joined; the team's few bytes are leaked.
  if (process == processNow())
    skewer_team_free(team);
}

bool Workspace::grow(uint64_t needed) {
  if (needed <= bytes)
    return true;
  std::free(memory);
  bytes = (needed + 63) / 64 * 64;
  memory = std::aligned_alloc(64, bytes);
  if (!memory)
    bytes = 0;
  return memory != nullptr;
}

std::unique_ptr<Workspace> Workspaces::take(int32_t workers, bool hasTeam) {
  uint64_t process = processNow();
  hasTeam = hasTeam && workers > 1;
  for (size_t k = idle.size(); k-- > 0;)
    if (idle[k]->workers == workers && idle[k]->process == process && (idle[k]->team != nullptr) == hasTeam) {
      std::unique_ptr<Workspace> found = std::move(idle[k]);
      idle.erase(idle.begin() + k);
      return found;
    }
  auto made = std::make_unique<Workspace>();
  made->workers = workers;
  made->process = process;
  if (hasTeam)
    made->team = skewer_team_create(workers);
  return !hasTeam || made->team ? std::move(made) : nullptr;
}

void Workspaces::give(std::unique_ptr<Workspace> workspace) {
  if (idle.size() < kMostIdle)
    idle.push_back(std::move(workspace));
}

} // namespace skewer::python
