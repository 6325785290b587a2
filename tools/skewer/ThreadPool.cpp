// Implements the team of threads: each worker takes its range, and waits a short time actively before it sleeps.
#include "tools/skewer/ThreadPool.h"
#include <algorithm>
#include <chrono>

namespace skewer::driver {

// A phase follows the previous one at once. To sleep and wake up between them takes some 40 µs, as long as a phase.
static constexpr std::chrono::microseconds kPatience{50};

ThreadPool::ThreadPool(int32_t workers) : claims(std::max(workers, 1)) {
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

/// Waits actively, for a while, for an action of another thread; returns at once if there are too few processors for
/// all threads.
template <typename Condition> void ThreadPool::lookFor(const Condition &holds) const {
  if (team.size() >= std::thread::hardware_concurrency())
    return;
  auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds() && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
}

/// Returns whether the calling thread takes a range: no thread has taken it, and its round is the current one.
bool ThreadPool::claim(int32_t range, uint64_t ofRound) {
  uint64_t open = 2 * ofRound;
  return claims[range].compare_exchange_strong(open, open + 1);
}

void ThreadPool::doRange(int32_t range, int32_t worker) const {
  // Quotient and remainder separately, so that no product of count and worker can overflow.
  int64_t each = count / workers(), left = count % workers();
  int64_t begin = each * range + (range < left ? range : left);
  int64_t end = begin + each + (range < left ? 1 : 0);
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
    if (!claim(worker, seen))
      continue;
    doRange(worker, worker);
    if (--pending > 0)
      continue;
    std::lock_guard<std::mutex> lock(mutex);
    finished.notify_one();
  }
}

void ThreadPool::run(int64_t newCount, Body newBody, void *newData) {
  auto begun = std::chrono::steady_clock::now();
  // Workers without a range are not woken, and not waited for.
  auto busy = static_cast<int32_t>(std::min<int64_t>(newCount, workers()));
  uint64_t now = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    count = newCount;
    body = newBody;
    data = newData;
    pending = std::max(busy - 1, 0);
    if (busy > 1) {
      now = round + 1;
      for (int32_t range = 1; range < busy; ++range)
        claims[range] = 2 * now;
      round = now;
    }
  }
  if (busy > 1)
    started.notify_all();
  doRange(0, 0);
  if (std::chrono::steady_clock::now() - begun < kPatience)
    for (int32_t range = 1; range < busy; ++range)
      if (claim(range, now)) {
        doRange(range, 0);
        --pending;
      }
  lookFor([&] { return pending == 0; });
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return pending == 0; });
}

void ThreadPool::parallelFor(void *context, int64_t count, Body body, void *data) {
  static_cast<ThreadPool *>(context)->run(count, body, data);
}

} // namespace skewer::driver
