// Tests the measured peak, the team of threads, and the files that appear whole.
#include "tools/skewer/Peak.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <atomic>

using namespace skewer::driver;

namespace {

TEST(Peak, IsAPlausibleRate) {
  ThreadPool pool(1);
  double peak = measurePeak(pool, 0.005);
  // One core does at least a multiply and an add a nanosecond, and no core does 5 TFLOP/s.
  EXPECT_GT(peak, 1.0) << peakInstructions();
  EXPECT_LT(peak, 5000.0) << peakInstructions();
}

// The range of an item is fixed. Its worker runs the range, or the caller (worker 0) does if that worker sleeps.
TEST(ThreadPool, CoversEveryItemOnceWithFixedRanges) {
  for (int32_t workers : {1, 2, 3, 7}) {
    ThreadPool pool(workers);
    for (int64_t count : {0, 1, 2, 6, 7, 8, 1000}) {
      struct Seen {
        std::vector<std::atomic<int>> times, worker;
        std::vector<std::atomic<int64_t>> begin;
        explicit Seen(int64_t count) : times(count), worker(count), begin(count) {}
      } first(count), second(count);
      auto body = [](void *data, int64_t begin, int64_t end, int32_t worker) {
        for (int64_t k = begin; k < end; ++k) {
          auto &seen = *static_cast<Seen *>(data);
          ++seen.times[k];
          seen.worker[k] = worker;
          seen.begin[k] = begin;
        }
      };
      pool.run(count, body, &first);
      ThreadPool::parallelFor(&pool, count, body, &second);
      int32_t owner = -1; // ranges are in the order of their workers, and no worker has two
      for (int64_t k = 0; k < count; ++k) {
        owner += first.begin[k] == k;
        for (const Seen *seen : {&first, &second}) {
          EXPECT_EQ(seen->times[k], 1) << k << " of " << count << " on " << workers;
          EXPECT_EQ(seen->begin[k], first.begin[k]) << k << " of " << count << " on " << workers;
          EXPECT_TRUE(seen->worker[k] == owner || seen->worker[k] == 0) << k << " of " << count << " on " << workers;
        }
      }
      EXPECT_EQ(owner + 1, std::min<int64_t>(count, workers));
    }
  }
}

struct Folder {
  llvm::SmallString<128> path;
  Folder() { llvm::sys::fs::createUniqueDirectory("skewer-files", path); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  std::string file(const char *name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }
  int entries() const {
    std::error_code code;
    int count = 0;
    for (llvm::sys::fs::directory_iterator it(path, code), end; it != end && !code; it.increment(code))
      ++count;
    return count;
  }
};
std::string textOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "unreadable";
}

TEST(WriteFiles, WritesAndReplaces) {
  Folder folder;
  ASSERT_FALSE(static_cast<bool>(writeFiles({{folder.file("a"), "one"}, {folder.file("b"), ""}})));
  ASSERT_FALSE(static_cast<bool>(writeFiles({{folder.file("a"), "two"}})));
  EXPECT_EQ(textOf(folder.file("a")), "two");
  EXPECT_EQ(textOf(folder.file("b")), "");
  EXPECT_EQ(folder.entries(), 2);
}

TEST(WriteFiles, LeavesEverythingAsItWasOnAnError) {
  Folder folder;
  ASSERT_FALSE(static_cast<bool>(writeFiles({{folder.file("a"), "before"}})));
  std::string error = llvm::toString(writeFiles({{folder.file("a"), "after"}, {folder.file("no/such/folder"), "x"}}));
  EXPECT_NE(error.find("cannot write"), std::string::npos) << error;
  EXPECT_NE(error.find("no/such/folder"), std::string::npos) << error;
  EXPECT_EQ(textOf(folder.file("a")), "before");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WriteFiles, ALinkStaysALink) {
  Folder folder;
  ASSERT_FALSE(static_cast<bool>(writeFiles({{folder.file("a"), "before"}})));
  ASSERT_FALSE(llvm::sys::fs::create_link(folder.file("a"), folder.file("link")));
  ASSERT_FALSE(static_cast<bool>(writeFiles({{folder.file("link"), "after"}})));
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(folder.file("link")));
  EXPECT_EQ(textOf(folder.file("a")), "after");
  EXPECT_EQ(folder.entries(), 2);
}

TEST(WriteFiles, AFullDiskIsAnError) {
  if (!llvm::sys::fs::exists("/dev/full"))
    GTEST_SKIP() << "this system has no /dev/full";
  Folder folder;
  std::string error = llvm::toString(writeFiles({{folder.file("a"), "x"}, {"/dev/full", "text"}}));
  EXPECT_NE(error.find("No space left"), std::string::npos) << error;
  EXPECT_EQ(folder.entries(), 0);
}

TEST(WriteFiles, AFolderIsNoFile) {
  Folder folder;
  std::string error = llvm::toString(writeFiles({{folder.path.str().str(), "x"}}));
  EXPECT_NE(error.find("directory"), std::string::npos) << error;
}

} // namespace
