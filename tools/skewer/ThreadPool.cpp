// The driver's team of threads.
#include "tools/skewer/ThreadPool.h"
#include <chrono>

namespace skewer::driver {

// A phase follows the one before it at once, and to sleep and be woken between them takes some 40 µs: as long as a
// phase.
static constexpr std::chrono::microseconds kPatience{50};

ThreadPool::ThreadPool(int32_t workers) {
  for (int32_t worker = 1; worker < workers; ++worker)
    team.emplace_back([this, worker] { work(worker); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stop = true;
  }
  started.notify_all();
  for (std::thread &thread : team)
    thread.join();
}

/// Waits awake, for a while, for what another thread is about to do; sleeps if there are too few processors for all.
template <typename Condition> void ThreadPool::lookFor(const Condition &holds) const {
  if (team.size() >= std::thread::hardware_concurrency())
    return;
  auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds() && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
}

void ThreadPool::doRange(int32_t worker) const {
  // Quotient and remainder apart, so that no product of count and worker can overflow.
  int64_t each = count / workers(), left = count % workers();
  int64_t begin = each * worker + (worker < left ? worker : left);
  int64_t end = begin + each + (worker < left ? 1 : 0);
  if (begin < end)
    body(data, begin, end, worker);
}

void ThreadPool::work(int32_t worker) {
  uint64_t seen = 0;
  while (true) {
    lookFor([&] { return stop || round != seen; });
    {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, [&] { return stop || round != seen; });
      if (stop)
        return;
      seen = round;
    }
    doRange(worker);
    if (--pending > 0)
      continue;
    std::lock_guard<std::mutex> lock(mutex);
    finished.notify_one();
  }
}

void ThreadPool::run(int64_t newCount, Body newBody, void *newData) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    count = newCount;
    body = newBody;
    data = newData;
    pending = static_cast<int32_t>(team.size());
    ++round;
  }
  started.notify_all();
  doRange(0);
  lookFor([&] { return pending == 0; });
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return pending == 0; });
}

void ThreadPool::parallelFor(void *context, int64_t count, Body body, void *data) {
  static_cast<ThreadPool *>(context)->run(count, body, data);
}

} // namespace skewer::driver
