// The GPU cost model: what it says of shared memory is what the kernel takes, and its choices can be run.
#include "passes/Schedule/GpuCostModel.h"
#include "passes/Stages/Stages.h"
#include "tests/unit/GpuTesting.h"

using namespace skewer;
using namespace skewer::gpu;
using skewer::testing::GpuLayer;
using skewer::testing::GpuOptions;

namespace {

std::string layer(int64_t n, int64_t dim, const std::string &more = "", const std::string &score = "",
                  const std::string &mask = "") {
  return "param N = " + std::to_string(n) + ", heads = 2, dim = " + std::to_string(dim) +
         "\nkernel layer(q, k, v : f16[heads, N, dim]" + more +
         ") -> f16[heads, N, dim] {\n  content = einsum(\"h i d, h j d -> h i j\", q, k)\n  return einsum(\"h i j, h j "
         "d "
         "-> h i d\", softmax((content" +
         score + ") * dim^-0.5" + mask + "), v)\n}\n";
}
std::string banded(int64_t n, int64_t dim) {
  return layer(n, dim, ", table : f16[2*N - 1, dim]",
               " + einsum(\"h i d, (j - i + N - 1) d -> h i j\", q, table, j = N)");
}

/// The shape that the model sees, of a fused layer.
class Shape {
public:
  explicit Shape(const std::string &text) : compiled(text) {
    shape = compiled.shape();
    EXPECT_TRUE(shape) << text;
  }
  const GpuShape &operator*() const { return *shape; }

private:
  GpuLayer compiled;
  std::optional<GpuShape> shape;
};

TEST(GpuMachine, LimitsOfAnA100) {
  GpuMachine machine = *findGpuMachine("sm_80");
  // 4 warps of 128 registers: 16384 of 65536 a block.
  Occupancy occupancy = occupancyOf(machine, 128, 128, 16 << 10);
  EXPECT_EQ(occupancy.blocks, 4);
  EXPECT_EQ(occupancy.warps, 16);
  EXPECT_EQ(occupancy.limit, "registers");
  occupancy = occupancyOf(machine, 128, 64, 72 << 10);
  EXPECT_EQ(occupancy.blocks, 2);
  EXPECT_EQ(occupancy.limit, "shared memory");
  EXPECT_EQ(occupancyOf(machine, 1024, 32, 0).limit, "registers");
  EXPECT_EQ(occupancyOf(machine, 512, 0, 0).limit, "warps");
  EXPECT_EQ(occupancyOf(machine, 32, 0, 0).limit, "blocks");
}
TEST(GpuMachine, DevicesDoWhatTheirDataSheetsSay) {
  auto teraflops = [](const char *target, size_t number = 0) {
    GpuDevice device = gpuDevicesOf(target)[number];
    return findGpuMachine(target)->matrixFlops * double(device.processors) * device.gigahertz * 1e-3;
  };
  EXPECT_NEAR(teraflops("sm_80"), 312, 1);
  EXPECT_NEAR(teraflops("sm_86"), 149.7, 1);
  EXPECT_NEAR(teraflops("sm_89"), 362, 5);
  EXPECT_NEAR(teraflops("sm_120a"), 209.5, 1);
  EXPECT_NEAR(teraflops("sm_90a") / 0.629, 989, 2);
  EXPECT_EQ(gpuDevicesOf("sm_90a").size(), 2u);
  EXPECT_TRUE(gpuDevicesOf("sm_100").empty());
  EXPECT_FALSE(findGpuMachine("sm_79"));
}

TEST(GpuCostModel, SharedMemoryIsWhatTheKernelTakes) {
  const std::string map =
      "param H = 6, W = 7, dim = 24\nkernel layer(q, k, v : f16[1, 2, H*W, dim], rows : f16[2*H - 1, dim], columns : "
      "f16[2*W - 1, dim]) -> f16[1, 2, H*W, dim] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n  "
      "return "
      "einsum(\"b h i j, b h j d -> b h i d\", softmax(content + decomposed(q, rows, columns, map = (H, W))), v)\n}\n";
  const std::string keys = layer(70, 40, ", turned : f16[2*N - 1, dim], bias : f16[2*N - 1]",
                                 " + einsum(\"h j d, (i - j + N - 1) d -> h i j\", k, turned, i = N) + "
                                 "bias[j - i + N - 1]");
  const std::string gates = layer(70, 24, ", gate : f16[heads, N], other : f16[heads, N], bias : f16[2*N - 1]",
                                  " + (gate[h, i] + other[h, i]) * bias[j - i + N - 1] + bias[i - j + N - 1]");
  const std::string values =
      "param N = 70, heads = 2, dim = 24\nkernel layer(q, k, v : f16[heads, N, dim], near : f16[2*N - 1, dim], each : "
      "f16[heads, N, dim], few : f16[7, dim]) -> f16[heads, N, dim] {\n  weights = softmax(einsum(\"h i d, h j d -> h "
      "i "
      "j\", q, k))\n  band = einsum(\"h i j, (j - i + N - 1) d -> h i d\", weights, near)\n  rows = einsum(\"h i j, h "
      "j "
      "d -> h i d\", weights, each)\n  pairs = einsum(\"h i j, ((i*j) % 7) d -> h i d\", weights, few)\n  return "
      "einsum(\"h i j, h j d -> h i d\", weights, v) + band + rows + pairs\n}\n";
  for (const std::string &text : {layer(70, 64), layer(70, 20), banded(70, 32), map, keys, gates, values})
    for (GpuTile tile : {GpuTile{64, 64, 2, true, 256}, GpuTile{32, 16, 3, false, 16}, GpuTile{128, 32, 4, true, 256},
                         GpuTile{32, 16, 1, false, 256}, GpuTile{16, 32, 1, false, 16},
                         GpuTile{64, 32, 2, false, 256, 32}, GpuTile{32, 16, 1, false, 16, 32}}) {
      GpuLayer compiled(text);
      GpuOptions options;
      options.size = 1;
      options.rows = tile.rows;
      options.keys = tile.keys;
      options.stages = tile.stages;
      options.keepQueries = tile.keepQueries;
      options.columns = tile.columns;
      options.warpRows = tile.warpRows;
      skewer::testing::GpuOutcome outcome = compiled.run(options);
      ASSERT_TRUE(outcome.lowered) << outcome.messages;
      EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
      EXPECT_LE(outcome.error, 2e-3) << text;
      EXPECT_EQ(footprintOf(*compiled.shape(), tile).sharedBytes, outcome.launch.sharedBytes) << text;
    }
}

TEST(GpuCostModel, CandidatesFitAndTakeLessAndLess) {
  for (const GpuMachine &machine : knownGpuMachines())
    for (int64_t dim : {16, 64, 128, 256}) {
      Shape shape(banded(512, dim));
      auto candidates = candidatesOf(*shape, machine, {});
      ASSERT_FALSE(candidates.empty());
      for (size_t k = 0; k < candidates.size(); ++k) {
        EXPECT_LE(candidates[k].footprint.sharedBytes, machine.blockSharedBytes) << machine.target << " " << dim;
        EXPECT_GT(candidates[k].stepCycles, 0);
        if (k > 0 && k + 1 < candidates.size())
          EXPECT_LT(candidates[k].footprint.needed, candidates[k - 1].footprint.needed);
      }
    }
}
TEST(GpuCostModel, WhatIsAskedForIsTaken) {
  Shape shape(banded(512, 64));
  GpuMachine machine = *findGpuMachine("sm_80");
  GpuRequest request;
  request.rows = 32;
  request.keys = 48;
  request.stages = 4;
  request.keepQueries = false;
  request.columns = 32;
  request.warpRows = 32;
  auto candidates = candidatesOf(*shape, machine, request);
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].tile, (GpuTile{32, 48, 4, false, 32, 32}));
  // Where nothing fits there is the one with the least.
  Shape wide("param N = 64, dim = 4096\nkernel layer(q, k : f16[N, dim], v : f16[N, 64]) -> f16[N, 64] {\n  return "
             "einsum(\"i j, j d -> i d\", softmax(einsum(\"i d, j d -> i j\", q, k)), v)\n}\n");
  candidates = candidatesOf(*wide, *findGpuMachine("sm_89"), {});
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].tile.rows, 16);
  EXPECT_EQ(candidates[0].tile.keys, 16);
}
TEST(GpuCostModel, MoreWorkIsNeverCheaper) {
  GpuMachine machine = *findGpuMachine("sm_80");
  GpuTile tile;
  auto cycles = [&](const std::string &text) {
    Shape shape(text);
    GpuPrediction prediction = predict(*shape, tile, machine, 128);
    return prediction.cyclesPerRow();
  };
  double plain = cycles(layer(1024, 64));
  EXPECT_LE(plain, cycles(banded(1024, 64)));
  EXPECT_LE(plain, cycles(layer(1024, 128)));
  EXPECT_LT(plain, cycles(layer(2048, 64)));
  // A causal mask leaves half of the steps and some on the edge.
  Shape causal(layer(1024, 64, "", "", " where j <= i"));
  GpuPrediction half = predict(*causal, tile, machine, 128);
  EXPECT_NEAR(half.steps, 8.5, 1e-9);
  EXPECT_NEAR(half.cyclesPerRow() / plain, 8.5 / 16, 1e-9);
}
TEST(GpuCostModel, NothingIsFasterThanTheTensorCores) {
  for (const char *target : {"sm_80", "sm_89", "sm_90a"}) {
    GpuMachine machine = *findGpuMachine(target);
    Shape shape(layer(4096, 128));
    for (const GpuPrediction &candidate : candidatesOf(*shape, machine, {})) {
      double flops = 2.0 * double(candidate.tile.rows * candidate.tile.keys * (128 + candidate.tile.columnsOf(128)));
      EXPECT_GE(candidate.stepCycles, flops / machine.matrixFlops) << target;
      for (const GpuDevice &device : gpuDevicesOf(target))
        EXPECT_GE(secondsOn(*shape, candidate, machine, device), 2 * 4.0 * 4096 * 4096 * 128 / 1e15) << device.name;
    }
  }
}
TEST(GpuCostModel, TargetsDiffer) {
  // 227 KiB of shared memory against 99: wide heads get other tiles.
  bool differs = false;
  for (int64_t dim : {64, 96, 128, 192}) {
    Shape shape(banded(2048, dim));
    differs |= !(candidatesOf(*shape, *findGpuMachine("sm_90a"), {}).front().tile ==
                 candidatesOf(*shape, *findGpuMachine("sm_89"), {}).front().tile);
  }
  EXPECT_TRUE(differs);
}

} // namespace
