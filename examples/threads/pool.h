// A pool of threads as many programs have one: a queue of tasks. Each thread has a number that tasks can ask for.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

class Pool {
public:
  explicit Pool(int32_t count) {
    for (int32_t number = 0; number < count; ++number)
      threads.emplace_back([this, number] { work(number); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> guard(mutex);
      isStopping = true;
    }
    changed.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }
  int32_t size() const { return static_cast<int32_t>(threads.size()); }

  /// Runs `task(thread)` on some thread, whose number it gets.
  void submit(std::function<void(int32_t thread)> task) {
    {
      std::lock_guard<std::mutex> guard(mutex);
      tasks.push(std::move(task));
    }
    changed.notify_one();
  }

private:
  void work(int32_t number) {
    std::unique_lock<std::mutex> guard(mutex);
    for (;;) {
      changed.wait(guard, [this] { return isStopping || !tasks.empty(); });
      if (tasks.empty())
        return;
      std::function<void(int32_t)> task = std::move(tasks.front());
      tasks.pop();
      guard.unlock();
      task(number);
      guard.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::queue<std::function<void(int32_t)>> tasks;
  std::vector<std::thread> threads;
  bool isStopping = false;
};

/// Waits for a number of tasks.
class Countdown {
public:
  explicit Countdown(int64_t count) : left(count) {}
  void done() {
    std::lock_guard<std::mutex> guard(mutex); // held while notifying: the waiting thread destroys the object
    if (--left == 0)
      changed.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> guard(mutex);
    changed.wait(guard, [this] { return left == 0; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  int64_t left;
};
