// Compares layers of run-time lengths with the float64 reference at each length. Operands end at guard pages, so that
// reads after the last row fail.
#pragma once
#include "passes/Schedule/Machine.h"
#include "passes/Cpu/Schedule/ShortSchedule.h"
#include "tools/skewer/Check.h"
#include "tools/skewer/Execution.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/Support/FileSystem.h>

namespace skewer::driver {

struct GuardPages {
  GuardPages() { Buffer::endAtGuardPages(true); }
  ~GuardPages() { Buffer::endAtGuardPages(false); }
};

using Sizes = std::map<std::string, int64_t>;

/// Returns `count` of the numbers from 1 to `bound`: all that are near multiples of the sizes of tiles and blocks.
inline std::vector<int64_t> lengthsTo(int64_t bound) {
  std::vector<int64_t> lengths;
  for (int64_t length = 1; length <= bound; ++length)
    if (bound <= 20 || length <= 5 || length % 32 <= 1 || length % 80 == 47 || length + 1 >= bound)
      lengths.push_back(length);
  return lengths;
}

inline void expectRight(const std::string &text, const std::vector<Sizes> &all, llvm::ArrayRef<const char *> targets,
                        bool unfused = false, const CpuRequest &pinned = {}) {
  GuardPages pages;
  for (const char *name : targets) {
    Target target = *findTarget(name);
    if (target.lanes > hostTarget().lanes)
      continue;
    auto compilation = Compilation::createFromText(text, "layer.attn", {}, target);
    ASSERT_TRUE(compilation) << text;
    compilation->pinned = pinned;
    const Kernel &kernel = compilation->kernels.front();
    auto execution =
        Execution::create(*compilation, kernel, unfused ? Execution::Form::Unfused : Execution::Form::Fused);
    ASSERT_TRUE(execution) << text;
    ThreadPool pool(2);
    for (const Sizes &sizes : all) {
      auto operands = prepareOperands(kernel.signature, {}, sizes, 1, {});
      ASSERT_TRUE(static_cast<bool>(operands)) << llvm::toString(operands.takeError());
      auto own = compilation->kernelAt(kernel, operands->sizeByName);
      ASSERT_TRUE(own);
      ASSERT_TRUE(execution->bind(*operands, pool) && execution->run());
      Judgement how{/*rows=*/0, /*seed=*/1, execution->flops()};
      how.stopsWithin = true;
      for (size_t number = 0; number < execution->plan().outputs.size(); ++number) {
        auto judged = compareWithReference(own->einsumFunction(), *operands, execution->plan().outputs[number].type,
                                           execution->result(number), how, number);
        ASSERT_TRUE(static_cast<bool>(judged)) << llvm::toString(judged.takeError());
        std::string where;
        for (const auto &[size, value] : sizes)
          where += fmt::format(" {} = {}", size, value);
        EXPECT_TRUE(judged->within(judged->tolerance))
            << text << name << where << ": error " << judged->error << " at " << judged->where;
        if (::testing::Test::HasFailure())
          return;
      }
    }
  }
}

inline std::vector<Sizes> lengthsOf(int64_t bound) {
  std::vector<Sizes> all;
  for (int64_t length : lengthsTo(bound))
    all.push_back({{"N", length}});
  return all;
}

inline std::vector<Sizes> everyLengthTo(int64_t bound) {
  std::vector<Sizes> all;
  for (int64_t length = 1; length <= bound; ++length)
    all.push_back({{"N", length}});
  return all;
}

constexpr const char *kTargets[] = {"x86-64-v2", "x86-64-v3", "host"};

} // namespace skewer::driver
