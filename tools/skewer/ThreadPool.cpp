// The driver's team of threads.
#include "tools/skewer/ThreadPool.h"

namespace skewer::driver {

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
    {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, [&] { return stop || round != seen; });
      if (stop)
        return;
      seen = round;
    }
    doRange(worker);
    std::lock_guard<std::mutex> lock(mutex);
    if (--pending == 0)
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
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return pending == 0; });
}

void ThreadPool::parallelFor(void *context, int64_t count, Body body, void *data) {
  static_cast<ThreadPool *>(context)->run(count, body, data);
}

} // namespace skewer::driver
