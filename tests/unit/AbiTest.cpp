// Tests the C contract: compiles a small kernel into this process, and calls it rightly and in every wrong way.
#include "AbiTesting.h"
#include "codegen/ABI/Layout.h"
#include "codegen/ABI/Status.h"
#include "llvm/Support/JSON.h"
#include <atomic>
#include <cstring>
#include <thread>

using namespace skewer;
using namespace skewer::testing;

namespace {
// The body that a parallel-for gets, and three implementations of parallel-for.
using Body = void (*)(void *, int64_t, int64_t, int32_t);

void onThreeThreads(void *context, int64_t count, Body body, void *data) {
  auto *calls = static_cast<std::atomic<int> *>(context);
  std::atomic<int64_t> next{0};
  std::vector<std::thread> threads;
  for (int32_t worker = 0; worker < 3; ++worker)
    threads.emplace_back([&, worker] {
      for (int64_t item; (item = next++) < count; ++*calls)
        body(data, item, item + 1, worker);
    });
  for (std::thread &thread : threads)
    thread.join();
}
void leaveOneOut(void *, int64_t count, Body body, void *data) { body(data, 0, count - 1, 0); }
void strangeWorker(void *, int64_t count, Body body, void *data) { body(data, 0, count, 3); }

class AbiTest : public ::testing::Test {
protected:
  static constexpr int64_t kRows = 11;
  struct alignas(64) Line {
    char bytes[64];
  };
  static JitKernel &kernel() {
    static std::unique_ptr<JitKernel> compiled = jit(doublePlan());
    return *compiled;
  }
  void SetUp() override {
    for (size_t k = 0; k < x.size(); ++k)
      x[k] = float(k) - 7.5f;
    exec.workspace = workspace.data();
    exec.workspaceBytes = workspace.size() * sizeof(Line);
    exec.workers = 3;
  }
  Status run(int64_t rows = kRows) { return Status(kernel().run({x.data()}, out.data(), {rows}, exec)); }
  bool isDoubled() const {
    for (size_t k = 0; k < x.size(); ++k)
      if (out[k] != 2 * x[k])
        return false;
    return true;
  }
  bool isUntouched() const {
    return llvm::all_of(out, [](float value) { return value == -1; });
  }

  std::vector<float> x = std::vector<float>(4 * kRows), out = std::vector<float>(4 * kRows, -1);
  std::vector<Line> workspace = std::vector<Line>(kRows + 3);
  Exec exec;
};

TEST_F(AbiTest, ComputesSerially) {
  EXPECT_EQ(run(), Status::Ok);
  EXPECT_TRUE(isDoubled());
}

TEST_F(AbiTest, ComputesOnThreeThreads) {
  std::atomic<int> calls{0};
  exec.context = &calls;
  exec.parallelFor = onThreeThreads;
  EXPECT_EQ(run(), Status::Ok);
  EXPECT_TRUE(isDoubled());
  EXPECT_EQ(calls, 2 * kRows);
}

TEST_F(AbiTest, WorkspaceGrowsWithSizesAndWorkers) {
  EXPECT_EQ(kernel().workspaceBytes({kRows}, 1), 64u * kRows + 64);
  EXPECT_EQ(kernel().workspaceBytes({kRows}, 3), 64u * kRows + 3 * 64);
  EXPECT_EQ(kernel().workspaceBytes({1}, 1), 128u);
  EXPECT_EQ(kernel().workspaceBytes({0}, 1), UINT64_MAX);
  EXPECT_EQ(kernel().workspaceBytes({kRows}, 0), UINT64_MAX);
  EXPECT_EQ(kernel().workspaceBytes({int64_t(1) << 60}, 1), UINT64_MAX);
  EXPECT_EQ(kernel().workspaceBytes({}, 1), UINT64_MAX);
}

TEST_F(AbiTest, RefusesWrongTensors) {
  EXPECT_EQ(Status(kernel().run({nullptr}, out.data(), {kRows}, exec)), Status::NullTensor);
  EXPECT_EQ(Status(kernel().run({x.data()}, nullptr, {kRows}, exec)), Status::NullTensor);
  const char *odd = reinterpret_cast<const char *>(x.data()) + 2;
  EXPECT_EQ(Status(kernel().run({odd}, out.data(), {kRows - 1}, exec)), Status::MisalignedTensor);
  EXPECT_EQ(Status(kernel().run({out.data()}, out.data(), {kRows}, exec)), Status::Overlap);
  EXPECT_EQ(Status(kernel().run({out.data() + 4}, out.data(), {kRows - 1}, exec)), Status::Overlap);
  EXPECT_EQ(Status(kernel().run({workspace.data()}, out.data(), {4}, exec)), Status::Overlap);
  EXPECT_TRUE(isUntouched());
  EXPECT_EQ(Status(kernel().run({x.data(), x.data()}, out.data(), {kRows}, exec)), Status::NullTensor);
}

TEST_F(AbiTest, RefusesWrongSizes) {
  EXPECT_EQ(run(0), Status::BadSize);
  EXPECT_EQ(run(-1), Status::BadSize);
  EXPECT_EQ(run(INT64_MAX / 4), Status::BadSize);
  EXPECT_EQ(run(INT64_MIN), Status::BadSize);
  EXPECT_TRUE(isUntouched());
}

TEST_F(AbiTest, RefusesWrongExec) {
  Exec right = exec;
  exec.size -= 8;
  EXPECT_EQ(run(), Status::BadExecSize);
  exec = right;
  exec.version = 7;
  EXPECT_EQ(run(), Status::BadExecVersion);
  exec = right;
  exec.workers = 0;
  EXPECT_EQ(run(), Status::BadWorkers);
  exec = right;
  exec.workspace = nullptr;
  EXPECT_EQ(run(), Status::NullWorkspace);
  exec = right;
  exec.workspaceBytes = 64 * (kRows + 3) - 1;
  EXPECT_EQ(run(), Status::SmallWorkspace);
  exec = right;
  exec.workspace = workspace[0].bytes + 32;
  EXPECT_EQ(run(), Status::MisalignedWorkspace);
  EXPECT_TRUE(isUntouched());
}

TEST_F(AbiTest, NoticesAWrongParallelFor) {
  exec.parallelFor = leaveOneOut;
  EXPECT_EQ(run(), Status::BadParallelFor);
  exec.parallelFor = strangeWorker;
  EXPECT_EQ(run(), Status::BadParallelFor);
  EXPECT_TRUE(isUntouched()); // the first phase failed
}

TEST(Abi, EveryStatusHasAText) {
  int count = 0;
#define SKEWER_STATUS(c, cpp, text)                                                                                    \
  EXPECT_STREQ(statusText(int(Status::cpp)), text);                                                                    \
  ++count;
  SKEWER_STATUSES(SKEWER_STATUS)
#undef SKEWER_STATUS
  EXPECT_EQ(count - 1, int(Status::BadIndex));
#define SKEWER_STATUS(c, cpp, text) EXPECT_STREQ(statusText(int(Status::cpp)), text);
  SKEWER_PREPARED_STATUSES(SKEWER_STATUS)
#undef SKEWER_STATUS
  EXPECT_STREQ(statusText(kFirstCudaStatus - 1), "unknown status");
  EXPECT_STREQ(statusText(-1), "unknown status");
  EXPECT_STREQ(statusText(int(Status::BadIndex) + 5), statusText(int(Status::BadIndex)));
}

TEST(Abi, EveryIndexIsCheckedBeforeAnythingIsWritten) {
  KernelPlan plan = indexedPlan();
  auto kernel = jit(plan, kIndexed);
  ASSERT_TRUE(kernel);
  int bad = int(Status::BadIndex);
  for (int64_t n : {1, 7, 8, 21}) { // whole vectors and a rest
    std::vector<int32_t> rows(n), seg = {-2, 1, 0};
    std::vector<float> out(n, -1);
    for (int64_t k = 0; k < n; ++k)
      rows[k] = int32_t(k % 7);
    auto run = [&] { return kernel->run({rows.data(), seg.data()}, out.data(), {n}, Exec()); };
    for (int64_t k = 0; k < n; ++k)
      for (int32_t wrong : {-1, 7, INT32_MIN, INT32_MAX}) {
        std::swap(rows[k], wrong);
        EXPECT_EQ(run(), bad) << k << " of " << n;
        std::swap(rows[k], wrong);
      }
    for (int32_t wrong : {-3, 2}) {
      std::swap(seg[2], wrong);
      EXPECT_EQ(run(), bad + 1);
      std::swap(seg[2], wrong);
    }
    EXPECT_EQ(out, std::vector<float>(n, -1));
    EXPECT_EQ(run(), int(Status::Ok));
    for (int64_t k = 0; k < n; ++k)
      EXPECT_EQ(out[k], float(k % 7));
  }
  EXPECT_EQ(statusText(bad + 1, plan),
            "an element of 'seg' is outside -2..1, the range that the kernel declares for it");
  EXPECT_EQ(statusText(bad + 2, plan), statusText(bad));
  EXPECT_EQ(statusText(0, plan), "done");
}

/// If run-time sizes are the ends of a range, the call's sizes count; if the range is empty, every element is wrong.
TEST(Abi, RangesMayDependOnSizes) {
  KernelPlan plan = indexedPlan();
  plan.inputs[0].range->ends = {Extent{"", 3}, Extent{"2*n - 1", 1}};
  auto kernel = jit(plan, kIndexed);
  ASSERT_TRUE(kernel);
  std::vector<int32_t> seg = {0, 0, 0};
  auto run = [&](std::vector<int32_t> rows) {
    std::vector<float> out(rows.size());
    return Status(kernel->run({rows.data(), seg.data()}, out.data(), {int64_t(rows.size())}, Exec()));
  };
  EXPECT_EQ(run({3, 3}), Status::Ok); // 3..3
  EXPECT_EQ(run({3, 4}), Status::BadIndex);
  EXPECT_EQ(run({3, 4, 5, 6}), Status::Ok); // 3..7
  EXPECT_EQ(run({7, 8, 7, 7}), Status::BadIndex);
  EXPECT_EQ(run({7, 7, 7, 2}), Status::BadIndex);
  EXPECT_EQ(run({3}), Status::BadIndex); // 3..1
  EXPECT_EQ(statusText(int(Status::BadIndex), plan),
            "an element of 'rows' is outside 3..2*n - 1, the range that the kernel declares for it");
  plan.inputs[0].range->ends[1].name = "m";
  EXPECT_NE(messageOf(plan, kIndexed).find("the range of 'rows' depends on 'm', which is not one of the run-time sizes"),
            std::string::npos);
}

TEST(Abi, AnOriginIsWithinItsRange) {
  auto kernel = jit(originPlan(), kFromOrigin);
  ASSERT_TRUE(kernel);
  std::vector<float> x = {1, 2, 3}, out(3, -1);
  auto run = [&](int32_t first) { return Status(kernel->run({x.data(), &first}, out.data(), {3}, Exec())); };
  for (int32_t wrong : {-1, 6, INT32_MIN, INT32_MAX})
    EXPECT_EQ(run(wrong), Status::BadOrigin) << wrong;
  EXPECT_EQ(out, std::vector<float>(3, -1));
  for (int32_t right : {0, 5}) {
    EXPECT_EQ(run(right), Status::Ok);
    EXPECT_EQ(out, (std::vector<float>{x[0] + right, x[1] + right, x[2] + right}));
  }
}

TEST(Abi, SeveralResultsHaveFieldsOfTheirOwnAndShareNoMemory) {
  auto kernel = jit(twoResultsPlan(), kTwoResults);
  ASSERT_TRUE(kernel);
  std::vector<float> x = {1, 2, 3}, low(3, -9), high(3, -9), both(6, -9);
  Exec exec;
  EXPECT_EQ(Status(kernel->run({x.data()}, {low.data(), high.data()}, {3}, exec)), Status::Ok);
  EXPECT_EQ(low, (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(high, (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data(), both.data() + 2}, {3}, exec)), Status::Overlap);
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data(), x.data()}, {3}, exec)), Status::Overlap);
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data(), nullptr}, {3}, exec)), Status::NullTensor);
  EXPECT_EQ(both, std::vector<float>(6, -9));
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data(), both.data() + 3}, {3}, exec)), Status::Ok);
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data()}, {3}, exec)), Status::NullTensor);

  ArgumentLayout layout = layoutOf(twoResultsPlan());
  EXPECT_EQ(layout.outputs, (std::vector<std::string>{"low", "high"}));
  EXPECT_EQ(layout.sizeWord(0), layout.outputWord(1) + 1);
  std::string header = headerText(twoResultsPlan(), "0123456789abcdef");
  EXPECT_NE(header.find("float *high; /* f32[n], written"), std::string::npos) << header;
  auto manifest = llvm::json::parse(manifestText(twoResultsPlan(), plainTarget(), "0123456789abcdef"));
  ASSERT_TRUE(bool(manifest));
  const llvm::json::Array &outputs = *manifest->getAsObject()->getArray("outputs");
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].getAsObject()->getString("name"), llvm::StringRef("high"));
}

TEST(Abi, RangesAreOfI32) {
  KernelPlan plan = indexedPlan();
  plan.inputs[0].range = IndexRange{3, 2};
  EXPECT_NE(messageOf(plan, kIndexed).find("tensor 'rows' has the range 3..2"), std::string::npos);
  plan.inputs[0].range = IndexRange{0, int64_t(1) << 31};
  EXPECT_NE(messageOf(plan, kIndexed).find("tensor 'rows' has the range 0..2147483648"), std::string::npos);
  plan = indexedPlan();
  plan.outputs.front().type = ElementType::I32;
  EXPECT_NE(messageOf(plan, kIndexed).find("the result has elements of i32"), std::string::npos);
}

} // namespace
