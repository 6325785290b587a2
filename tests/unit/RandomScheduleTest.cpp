// Tests random schedules, as a user may write them: every accepted one gives the layer's result.
#include "dialect/IR/Attn.h"
#include "passes/Cpu/TermStrategy.h"
#include "tools/skewer/Check.h"
#include "tools/skewer/Execution.h"
#include "llvm/Support/MathExtras.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace skewer;
using namespace skewer::driver;

namespace {

/// A layer whose attentions have the same numbers of queries and keys; whether they can use strided addition may
/// differ.
struct Subject {
  std::unique_ptr<Compilation> compilation;
  int64_t queries = 0, keys = 0;
  bool mayAddStrided = false;
  std::vector<std::vector<std::string>> fitting; // strategies of each term

  Subject(const std::string &spec, const language::Parameters &parameters, const Target &target)
      : compilation(Compilation::create(SKEWER_SOURCE_DIR "/tests/" + spec, parameters, target)) {
    if (!compilation)
      return;
    auto scheduled = compilation->schedule(compilation->kernels.front());
    scheduled->walk([&](attn::AttentionOp attention) {
      attn::ScoreSpace space = attn::scoreSpace(attention);
      queries = space.queries(), keys = space.keys();
      auto strategies = attention.getScheduleAttr().getStrategies();
      mayAddStrided = strategies.size() == 2 && strategies[0] == "matmul" &&
                      (strategies[1] == "band" || strategies[1] == "strided_add");
      auto shape = shapeOfAttention(attention);
      ASSERT_TRUE(shape) << shape.reason();
      for (const TermForm &form : formsOf(*shape)) {
        auto &names = fitting.emplace_back();
        for (const TermStrategy *strategy : termStrategiesOf(attention.getContext()).fitting(form, *shape))
          names.push_back(strategy->name().str());
      }
    });
  }
};

CpuRequest randomRequest(std::mt19937 &random, const Subject &subject, int64_t lanes) {
  auto upTo = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  CpuRequest request;
  request.tileRows = upTo(9);
  request.tileVectors = upTo(5);
  bool strided = subject.mayAddStrided && random() % 2;
  int64_t rows = strided ? llvm::divideCeil(subject.queries, lanes) : subject.queries;
  int64_t panel = request.tileVectors * lanes;
  int64_t groups = llvm::divideCeil(rows, request.tileRows);
  request.rowBlock = request.tileRows * (random() % 3 ? upTo(groups) : groups);
  request.keyBlock = panel * upTo(llvm::divideCeil(subject.keys, panel));
  if (!strided)
    request.rowsPerItem = request.rowBlock * upTo(llvm::divideCeil(rows, request.rowBlock));
  // Parts of the keys, if one block has all rows.
  if (!strided && request.rowBlock >= rows && request.keyBlock < subject.keys && random() % 2)
    request.keysPerItem = request.keyBlock * upTo((subject.keys - 1) / request.keyBlock);
  if (subject.mayAddStrided)
    request.strategies[2] = strided ? "strided_add" : "band";
  else
    for (auto [number, names] : llvm::enumerate(subject.fitting))
      request.strategies[static_cast<int64_t>(number) + 1] = names[random() % names.size()];
  return request;
}

void expectRight(const std::string &spec, const language::Parameters &parameters, unsigned seed) {
  std::mt19937 random(seed);
  for (const char *name : {"x86-64-v2", "x86-64-v3", "host"}) {
    Target target = *findTarget(name);
    if (target.lanes > hostTarget().lanes)
      continue;
    Subject subject(spec, parameters, target);
    ASSERT_TRUE(subject.compilation && subject.queries) << spec;
    Compilation &compilation = *subject.compilation;
    const Kernel &kernel = compilation.kernels.front();
    KernelPlan signature = signatureOf(kernel.einsumFunction());
    std::map<std::string, int64_t> sizes;
    for (const std::string &size : signature.sizes)
      sizes[size] = 2;
    auto operands = prepareOperands(signature, {}, sizes, seed);
    ASSERT_TRUE(bool(operands)) << llvm::toString(operands.takeError());
    for (int turn = 0; turn < 4; ++turn) {
      CpuRequest request = compilation.pinned = randomRequest(random, subject, target.lanes);
      std::string text = fmt::format("{} for {}: tile {}x{}, blocks {}x{}, {} rows and {} keys an item", spec, name,
                                     request.tileRows, request.tileVectors, request.rowBlock, request.keyBlock,
                                     request.rowsPerItem, request.keysPerItem);
      for (const auto &[term, name] : request.strategies)
        text += fmt::format(", {}: {}", term, name);
      auto execution = Execution::create(compilation, kernel, Execution::Form::Fused);
      ASSERT_TRUE(execution) << text;
      ThreadPool pool(1 + static_cast<int>(random() % 3));
      ASSERT_TRUE(execution->bind(*operands, pool) && execution->run()) << text;
      Judgement how{/*rows=*/200, seed};
      how.stopsWithin = true;
      auto comparison = compareWithReference(kernel.einsumFunction(), *operands, execution->plan().outputs[0].type,
                                             execution->result(), how);
      ASSERT_TRUE(bool(comparison)) << llvm::toString(comparison.takeError());
      EXPECT_TRUE(comparison->within(comparison->tolerance))
          << text << ": " << comparison->error << " of " << comparison->tolerance << ", " << comparison->where;
    }
  }
}

TEST(RandomSchedule, Offsets) { expectRight("bench/specs/rel1d-1k.attn", {{"N", 83}}, 1); }
TEST(RandomSchedule, AxesOfMaps) { expectRight("bench/specs/sam-window.attn", {{"batch", 2}, {"heads", 2}}, 2); }
TEST(RandomSchedule, TablesOnEverySide) { expectRight("e2e/schemes/axial_deeplab.attn", {{"N", 83}}, 3); }
TEST(RandomSchedule, RowsOfQueriesAndKeys) { expectRight("bench/specs/deberta.attn", {{"N", 90}}, 4); }
TEST(RandomSchedule, LinesWithGates) { expectRight("e2e/schemes/wavlm.attn", {{"N", 83}}, 5); }
TEST(RandomSchedule, ScoreTables) { expectRight("e2e/schemes/levit.attn", {{"H", 7}, {"W", 9}}, 6); }
TEST(RandomSchedule, MemoryAndRowsByIndices) { expectRight("e2e/schemes/xlnet.attn", {{"N", 50}, {"M", 17}}, 7); }
TEST(RandomSchedule, NumbersOfBuckets) { expectRight("bench/specs/t5.attn", {{"N", 70}}, 9); }
TEST(RandomSchedule, RelativeValues) { expectRight("bench/specs/vits.attn", {{"N", 70}}, 8); }

} // namespace
