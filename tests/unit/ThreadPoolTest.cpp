// Tests the driver's team: each item runs once, each worker has one range, again and again, with pauses in which
// workers fall asleep.
#include "tools/skewer/ThreadPool.h"
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>

using namespace skewer::driver;

namespace {
struct Counted {
  std::vector<std::atomic<int>> times;
  std::atomic<int> ranges{0};
  explicit Counted(size_t items) : times(items) {}
  static void body(void *data, int64_t begin, int64_t end, int32_t) {
    auto &counted = *static_cast<Counted *>(data);
    ++counted.ranges;
    for (int64_t item = begin; item < end; ++item)
      ++counted.times[static_cast<size_t>(item)];
  }
};

void expectEveryItemOnce(int32_t workers, size_t items, int rounds, std::chrono::microseconds pause) {
  ThreadPool pool(workers);
  ASSERT_EQ(pool.workers(), workers);
  Counted counted(items);
  for (int round = 1; round <= rounds; ++round) {
    ThreadPool::parallelFor(&pool, static_cast<int64_t>(items), Counted::body, &counted);
    for (const std::atomic<int> &times : counted.times)
      ASSERT_EQ(times, round);
    if (pause.count())
      std::this_thread::sleep_for(pause);
  }
  EXPECT_LE(counted.ranges, rounds * workers);
}

TEST(ThreadPool, RoundsThatFollowAtOnce) { expectEveryItemOnce(2, 37, 2000, {}); }
TEST(ThreadPool, RoundsAfterWhichWorkersSleep) { expectEveryItemOnce(3, 37, 50, std::chrono::microseconds(300)); }
TEST(ThreadPool, MoreWorkersThanProcessorsAndItems) { expectEveryItemOnce(17, 5, 200, {}); }
TEST(ThreadPool, NoItemsAndOneWorker) {
  expectEveryItemOnce(1, 9, 3, {});
  expectEveryItemOnce(4, 0, 3, {});
}
} // namespace
