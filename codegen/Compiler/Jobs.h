// Runs jobs side by side and keeps their diagnostics in order. `compile` makes a job of each spec, and one of the
// machine code of each object.
#pragma once
#include "codegen/Compiler/Collected.h"
#include "llvm/Support/ThreadPool.h"
#include <deque>
#include <functional>
#include <optional>

namespace skewer {

/// Jobs that one thread adds and waits for. A job may use its own data only, and what no job changes.
class JobGroup {
public:
  /// The caller does one of the jobs itself while it waits, so that a single job needs no other thread; or it only
  /// waits, because jobs of its own would wait behind those of this group.
  enum class Caller { Works, Waits };

  /// Jobs run on the threads of `workers`; if it is null, each runs as soon as it is added.
  JobGroup(llvm::ThreadPoolInterface *workers, Caller);
  /// Adds a job, which returns false after an error.
  void add(std::function<bool()>);
  /// Waits for all jobs. Then reports their diagnostics in the order in which the jobs were added, whatever the order
  /// in which they ended. Returns whether all of them succeeded.
  bool finish();

private:
  struct Job {
    Collected said;
    bool isGood = false;
  };
  const Caller caller;
  std::deque<Job> jobs;                           // threads write into the jobs, which therefore keep their places
  std::function<void()> kept;                     // the job that the caller does
  std::optional<llvm::ThreadPoolTaskGroup> group; // last: its end waits for the threads that use the jobs
};

} // namespace skewer
