// Tests blocks that divide the columns of the values: their numbers, and the layers that get them.
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "tests/unit/GpuLayers.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

GpuOptions parts(int64_t columns, int64_t rows = 32, int64_t keys = 32, int64_t stages = 2) {
  GpuOptions options;
  options.rows = rows;
  options.keys = keys;
  options.stages = stages;
  options.columns = columns;
  return options;
}

TEST(GpuColumns, EveryClassOfTerms) {
  for (const char *type : {"f16", "f32"}) {
    double tolerance = type[1] == '1' ? 2 * kHalf : kWide;
    expectOnEngines(everything(70, 64, type), tolerance, parts(32));
    expectOnEngines(everything(50, 48, type, " where j <= i"), tolerance, parts(16, 16, 16));
    expectOnEngines(everything(40, 32, type, " where abs(j - i) <= 20"), tolerance, parts(16, 32, 16, 1));
  }
}
TEST(GpuColumns, WidthsThatPartsDoNotDivide) {
  // 40 of 16: the last part begins at 24. 27: rows of any alignment. 16: one part.
  for (int64_t width : {40, 27, 19, 17, 16, 8})
    for (const char *type : {"f16", "f32"})
      expectOnEngines(layer(sizes(33, 41, 16, width), "", kPlain, type), type[1] == '1' ? kHalf : kWide, parts(16));
}
TEST(GpuColumns, BlocksOfSeveralParts) {
  GpuOutcome outcome = expectOnEngines(layer(sizes(33, 41, 16, 40), "", kPlain), kHalf, parts(16));
  // Two batch rows, two heads, two blocks of 32 queries, three of 16 columns.
  EXPECT_EQ(outcome.launch.blocks.fixed + outcome.launch.blocks.scaled * 2, 2 * 2 * 2 * 3);
  outcome = expectOnEngines(layer(sizes(33, 41, 16, 16), "", kPlain), kHalf, parts(16));
  EXPECT_EQ(outcome.launch.blocks.fixed + outcome.launch.blocks.scaled * 2, 2 * 2 * 2);
}
TEST(GpuColumns, LogSumExpIsWrittenOnce) {
  expectOnEngines(
      "param N = 40, dim = 48\nkernel layer(q, k, v : f16[2, N, dim]) -> (out : f16[2, N, dim], lse : f32[2, N]) {\n"
      "  s = einsum(\"h i d, h j d -> h i j\", q, k) * dim^-0.5\n"
      "  return einsum(\"h i j, h j d -> h i d\", softmax(s), v), logsumexp(s)\n}\n",
      kHalf, parts(16));
}
TEST(GpuColumns, RowsForEachPair) {
  expectOnEngines("param N = 40, heads = 2, dim = 40\nkernel layer(q, k, v : f16[heads, N, dim], few : f16[7, dim]) -> "
              "f16[heads, N, dim] {\n  weights = softmax(einsum(\"h i d, h j d -> h i j\", q, k) * dim^-0.5)\n  return "
              "einsum(\"h i j, h j d -> h i d\", weights, v) + einsum(\"h i j, ((i*j) % 7) d -> h i d\", weights, "
              "few)\n}\n",
              kHalf, parts(16, 16, 16));
}
TEST(GpuColumns, WiderThanOneBlock) {
  GpuOptions options;
  options.rows = options.keys = options.stages = 0; // nothing is pinned
  options.keepQueries = std::nullopt;
  for (int64_t width : {264, 520}) {
    GpuOutcome outcome = expectOnEngines(layer(sizes(20, 20, 16, width), "", kPlain), kHalf, options);
    EXPECT_GT(outcome.report.matrixSteps, 0);
  }
}
TEST(GpuColumns, OnlyWideValuesAreDivided) {
  for (const gpu::GpuMachine &machine : gpu::knownGpuMachines()) {
    GpuLayer narrow(layer(sizes(512, 512, 64, 64), "", kPlain));
    auto shape = narrow.shape();
    ASSERT_TRUE(shape);
    EXPECT_EQ(candidatesOf(*shape, machine, {}).front().tile.columns, 0) << machine.target;
  }
  GpuLayer wide(everything(512, 256, "f32"));
  auto shape = wide.shape();
  ASSERT_TRUE(shape);
  auto candidates = candidatesOf(*shape, *gpu::findGpuMachine("sm_90a"), {});
  EXPECT_GT(candidates.front().tile.columns, 0);
}

} // namespace
