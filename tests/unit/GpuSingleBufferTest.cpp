// Tests single-buffered operands, which share one place in shared memory, for heads that are too wide for several
// places: the numbers, the layers that fit into the smallest targets, and those that go by rows because nothing fits.
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "tests/unit/GpuLayers.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

GpuOptions singleBuffered(int64_t rows, int64_t keys) { return tileOf(rows, keys, 1); }

TEST(GpuSingleBuffer, EveryClassOfTerms) {
  expectEverything({70, 40, "", singleBuffered(32, 32)});
  expectEverything({50, 24, " where j <= i", singleBuffered(16, 16)});
  expectEverything({70, 16, " where abs(j - i) <= 20", singleBuffered(64, 32)});
}
TEST(GpuSingleBuffer, LinesGatesAndPairs) {
  expectOnGpu(layer(sizes(70, 70, 16, 24), ", g : f32[heads, N], table : f32[32, heads], bias : f32[N, M]",
                    kPlain + " + g[h, i] * table[wavlm_bucket(j - i, 32, 80), h] + einsum(\"i j -> i j\", bias)"),
              kHalf, singleBuffered(32, 32));
  expectOnGpu("param N = 40, heads = 2, dim = 24\nkernel layer(q, k, v : f16[heads, N, dim], few : f16[7, dim]) -> "
              "f16[heads, N, dim] {\n  weights = softmax(einsum(\"h i d, h j d -> h i j\", q, k) * dim^-0.5)\n  return "
              "einsum(\"h i j, h j d -> h i d\", weights, v) + einsum(\"h i j, ((i*j) % 7) d -> h i d\", weights, "
              "few)\n}\n",
              kHalf, singleBuffered(16, 16));
}
TEST(GpuSingleBuffer, WideHeads) {
  GpuOptions options = singleBuffered(16, 16);
  options.keepQueries = false;
  expectOnGpu(everything(20, 256, "f32"), kWide, options);
  expectOnGpu(everything(20, 192, "f16"), 2 * kHalf, options);
}
TEST(GpuSingleBuffer, EveryTargetHasATile) {
  for (int64_t dim : {192, 256})
    for (const char *type : {"f16", "f32"}) {
      GpuLayer compiled(everything(512, dim, type));
      auto shape = compiled.shape();
      ASSERT_TRUE(shape);
      for (const gpu::GpuMachine &machine : gpu::knownGpuMachines()) {
        auto candidates = candidatesOf(*shape, machine, {});
        EXPECT_LE(candidates.front().footprint.sharedBytes, machine.blockSharedBytes)
            << machine.target << " " << dim << " " << type;
      }
    }
}
TEST(GpuSingleBuffer, WhatFitsIntoNoBlockGoesByRows) {
  GpuOptions options;
  options.target = "sm_89";
  options.rows = options.keys = options.stages = 0; // nothing is pinned
  options.keepQueries = std::nullopt;
  GpuOutcome outcome = expectOnGpu("param N = 20, dim = 1600\nkernel layer(q, k : f32[N, dim], v : f32[N, 8]) -> "
                                   "f32[N, 8] {\n  return einsum(\"i j, j d -> i d\", softmax(einsum(\"i d, j d -> i "
                                   "j\", q, k) * dim^-0.5), v)\n}\n",
                                   kWide, options);
  EXPECT_SAYS(outcome.launch.note, "its smallest tile needs");
  EXPECT_SAYS(outcome.launch.note, "bytes of shared memory; a block of sm_89 has 101376");
  EXPECT_EQ(outcome.report.matrixSteps, 0);
}

} // namespace
