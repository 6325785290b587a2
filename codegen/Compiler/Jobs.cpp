// Runs jobs on LLVM's pool of threads.
#include "codegen/Compiler/Jobs.h"

namespace skewer {

JobGroup::JobGroup(llvm::ThreadPoolInterface *workers, Caller caller) : caller(caller) {
  if (workers)
    group.emplace(*workers);
}

void JobGroup::add(std::function<bool()> work) {
  Job &job = jobs.emplace_back();
  std::function<void()> run = [&job, work = std::move(work)] {
    DiagnosticsTo diagnostics(job.said.sink());
    job.isGood = work();
  };
  if (!group)
    return run();
  if (caller == Caller::Works)
    std::swap(kept, run); // the newest job is kept, because its thread has nothing else to do soon
  if (run)
    group->async(std::move(run));
}

bool JobGroup::finish() {
  if (kept)
    std::exchange(kept, nullptr)();
  if (group)
    group->wait();
  bool isGood = true;
  for (Job &job : jobs) {
    job.said.sayAll();
    isGood &= job.isGood;
  }
  jobs.clear();
  return isGood;
}

} // namespace skewer
