// A fixed team of threads that splits a count into one contiguous range for each worker: the parallel-for that `run`,
// `bench` and skewer_team of the C API give to kernels.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace skewer::driver {

/// A team. The calling thread is worker 0, so a team of one starts no thread. The split depends only on the count and
/// the size of the team, so the same worker does the same items every time. Exception: the caller takes ranges that no
/// thread has begun, if its own range took less time than a thread needs to wake up.
class ThreadPool {
public:
  using Body = void (*)(void *data, int64_t begin, int64_t end, int32_t worker);

  explicit ThreadPool(int32_t workers);
  ~ThreadPool();
  int32_t workers() const { return static_cast<int32_t>(team.size()) + 1; }
  /// Calls body for disjoint ranges that cover 0 … count-1; returns when all are done. Not reentrant.
  void run(int64_t count, Body body, void *data);
  /// Calls `run` with the signature of skewer_exec's parallel_for; `context` is the pool.
  static void parallelFor(void *context, int64_t count, Body body, void *data);

private:
  void work(int32_t worker);
  bool claim(int32_t range, uint64_t ofRound);
  void doRange(int32_t range, int32_t worker) const;
  template <typename Condition> void lookFor(const Condition &) const;

  std::vector<std::thread> team;
  std::mutex mutex;
  std::condition_variable started, finished;
  std::atomic<uint64_t> round{0};  // increases with every run
  std::atomic<int32_t> pending{0}; // ranges of this round, other than the caller's, that are not done
  std::atomic<bool> stop{false};
  // For each worker except the caller: twice the number of the round whose range is open, plus one once a thread has
  // taken it. A thread that wakes up late cannot take a range of a later round for its own.
  std::deque<std::atomic<uint64_t>> claims;
  int64_t count = 0;
  Body body = nullptr;
  void *data = nullptr;
};

} // namespace skewer::driver
