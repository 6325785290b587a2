// Tests the GPU cost model: its numbers for shared memory are the kernel's, and its choices can be run.
#include "passes/Gpu/Schedule/GpuCostModel.h"
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

/// Returns the shape of a fused layer that the model sees.
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
    return findGpuMachine(target)->engineFlops(kMmaSync) * double(device.processors) * device.gigahertz * 1e-3;
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
                                  " + gate[h, i] * bias[j - i + N - 1] + other[h, i] * bias[j - i + N - 1] + "
                                  "bias[i - j + N - 1]");
  // A bracket of the text is computed as written, in a stage of its own before the attention.
  const std::string bracket = layer(70, 24, ", gate : f16[heads, N], other : f16[heads, N], bias : f16[2*N - 1]",
                                    " + (gate[h, i] + other[h, i]) * bias[j - i + N - 1] + bias[i - j + N - 1]");
  const std::string values =
      "param N = 70, heads = 2, dim = 24\nkernel layer(q, k, v : f16[heads, N, dim], near : f16[2*N - 1, dim], each : "
      "f16[heads, N, dim], few : f16[7, dim]) -> f16[heads, N, dim] {\n  weights = softmax(einsum(\"h i d, h j d -> h "
      "i "
      "j\", q, k))\n  band = einsum(\"h i j, (j - i + N - 1) d -> h i d\", weights, near)\n  rows = einsum(\"h i j, h "
      "j "
      "d -> h i d\", weights, each)\n  pairs = einsum(\"h i j, ((i*j) % 7) d -> h i d\", weights, few)\n  return "
      "einsum(\"h i j, h j d -> h i d\", weights, v) + band + rows + pairs\n}\n";
  for (const std::string &text : {layer(70, 64), layer(70, 20), banded(70, 32), map, keys, gates, bracket, values})
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
      auto isAttention = [](const GpuLaunch &launch) { return launch.rows > 0; };
      ASSERT_EQ(llvm::count_if(outcome.program.launches, isAttention), 1) << text;
      const GpuLaunch &attention = *llvm::find_if(outcome.program.launches, isAttention);
      EXPECT_EQ(attention.rows, tile.rows) << text;
      EXPECT_EQ(attention.keys, tile.keys) << text;
      EXPECT_EQ(footprintOf(*compiled.shape(), tile).sharedBytes, attention.sharedBytes) << text;
    }
}

TEST(GpuCostModel, CandidatesFitAndLeaveMoreAndMoreRegisters) {
  for (const GpuMachine &machine : knownGpuMachines())
    for (int64_t dim : {16, 64, 128, 256}) {
      Shape shape(banded(512, dim));
      auto candidates = candidatesOf(*shape, machine, {});
      ASSERT_FALSE(candidates.empty());
      for (size_t k = 0; k < candidates.size(); ++k) {
        EXPECT_LE(candidates[k].footprint.sharedBytes, machine.blockSharedBytes) << machine.target << " " << dim;
        EXPECT_GT(candidates[k].stepCycles, 0);
        auto left = [&](size_t n) { return candidates[n].footprint.limit - candidates[n].footprint.needed; };
        if (k > 0 && k + 1 < candidates.size())
          EXPECT_GT(left(k), left(k - 1));
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
  // If nothing fits, the model takes the choice that needs least.
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
    return prediction.cyclesPerQuery;
  };
  double plain = cycles(layer(1024, 64));
  EXPECT_LE(plain, cycles(banded(1024, 64)));
  EXPECT_LE(plain, cycles(layer(1024, 128)));
  EXPECT_LT(plain, cycles(layer(2048, 64)));
  // A causal mask leaves half of the steps and some on the edge.
  Shape causal(layer(1024, 64, "", "", " where j <= i"));
  GpuPrediction half = predict(*causal, tile, machine, 128);
  EXPECT_NEAR(half.steps, 8.5, 1e-9);
  EXPECT_NEAR(half.cyclesPerQuery / plain, 8.5 / 16, 1e-9);
}
TEST(GpuCostModel, NothingIsFasterThanTheTensorCores) {
  for (const char *target : {"sm_80", "sm_89", "sm_90a"}) {
    GpuMachine machine = *findGpuMachine(target);
    Shape shape(layer(4096, 128));
    for (const GpuPrediction &candidate : candidatesOf(*shape, machine, {})) {
      double flops = 2.0 * double(candidate.tile.rows * candidate.tile.keys * (128 + candidate.tile.columnsOf(128)));
      EXPECT_GE(candidate.stepCycles, flops / machine.engineFlops(kMmaSync)) << target;
      for (const GpuDevice &device : gpuDevicesOf(target))
        EXPECT_GE(secondsOn(*shape, candidate, machine, device), 2 * 4.0 * 4096 * 4096 * 128 / 1e15) << device.name;
    }
  }
}
/// FlashAttention-2 forward on an H100 SXM at 4096 positions without a mask, in TFLOP/s (Shah et al. 2024,
/// arXiv:2407.08608, figure 5). Its tiles are those of its kernels for 64, 128 and 256 elements a head: 128 queries, 32
/// or 16 of them a warp, read from shared memory. Nothing of the model was fitted to these.
struct Published {
  int64_t dim, keys, warpRows;
  double tflops;
};
constexpr Published kFlashAttention2[] = {{64, 128, 32, 321}, {128, 64, 32, 368}, {256, 64, 16, 293}};

TEST(GpuCostModel, ReproducesFlashAttention2) {
  GpuMachine machine = *findGpuMachine("sm_90");
  GpuDevice device = gpuDevicesOf("sm_90").front();
  ASSERT_EQ(device.name, "H100 SXM");
  for (const Published &kernel : kFlashAttention2) {
    Shape shape(layer(4096, kernel.dim));
    GpuPrediction prediction =
        predict(*shape, {128, kernel.keys, 2, false, kernel.dim, kernel.warpRows}, machine, kMostRegisters);
    double flops = 4.0 * 128 * double(kernel.keys * kernel.dim); // of a step
    double tflops = flops / prediction.stepCycles * double(device.processors) * device.gigahertz * 1e9 / 1e12;
    RecordProperty("dim_" + std::to_string(kernel.dim), std::to_string(tflops));
    EXPECT_NEAR(tflops / kernel.tflops, 1, 0.05) << kernel.dim << ": " << tflops;
  }
}
TEST(GpuCostModel, WarpsOverlapLikeBlocks) {
  GpuMachine machine = *findGpuMachine("sm_90");
  Shape shape(layer(4096, 64));
  // One block of eight warps does the same as two of four, but loads keys and values once.
  GpuPrediction wide = predict(*shape, {128, 64, 2, true, 64}, machine, 200),
                narrow = predict(*shape, {64, 64, 2, true, 64}, machine, 200);
  ASSERT_EQ(wide.occupancy.warps, narrow.occupancy.warps);
  EXPECT_LT(wide.stepCycles, 2 * narrow.stepCycles);
  for (auto [one, other] : llvm::zip_equal(wide.pipes, narrow.pipes))
    if (llvm::StringRef(one.pipe) == "tensor cores" || llvm::StringRef(one.pipe) == "special functions")
      EXPECT_DOUBLE_EQ(one.cycles, 2 * other.cycles) << one.pipe;
    else if (llvm::StringRef(one.pipe) == "second-level cache")
      EXPECT_DOUBLE_EQ(one.cycles, other.cycles);
}
TEST(GpuCostModel, PipesOverlapButNotWholly) {
  GpuMachine machine = *findGpuMachine("sm_80");
  Shape shape(layer(4096, 64));
  GpuPrediction prediction = predict(*shape, {128, 64, 2, true, 64}, machine, 128);
  ASSERT_EQ(prediction.pipes.size(), 7u);
  double longest = 0, sum = 0, squares = 0;
  for (const PipeTime &pipe : prediction.pipes) {
    EXPECT_GT(pipe.cycles, 0) << pipe.pipe;
    longest = std::max(longest, pipe.cycles);
    sum += pipe.cycles;
    squares += pipe.cycles * pipe.cycles;
  }
  EXPECT_GT(prediction.stepCycles, longest);
  EXPECT_LT(prediction.stepCycles, sum);
  EXPECT_NEAR(prediction.stepCycles, std::sqrt(squares), 1e-6);
}
TEST(GpuCostModel, TwoRowTilesReadEachFragmentOnce) {
  Shape shape(layer(4096, 64));
  GpuPipes one = stepWorkOf(*shape, {128, 64, 2, true, 64, 16}).products,
           two = stepWorkOf(*shape, {128, 64, 2, true, 64, 32}).products;
  EXPECT_DOUBLE_EQ(one.matrixFlops, two.matrixFlops);
  EXPECT_DOUBLE_EQ(one.sharedTraffic, 2 * two.sharedTraffic);
  EXPECT_DOUBLE_EQ(one.matrixFlops, 2.0 * 128 * 64 * (64 + 64));
}
TEST(GpuCostModel, SaysWhatOtherWarpRowsWouldCost) {
  Shape shape(layer(4096, 64));
  GpuMachine machine = *findGpuMachine("sm_90a");
  GpuPrediction chosen = candidatesOf(*shape, machine, {}).front();
  auto best = bestByWarpRows(*shape, machine, {});
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].tile.warpRows, 16);
  EXPECT_EQ(best[1].tile.warpRows, 32);
  const GpuPrediction &cheaper = best[0].cyclesPerQuery <= best[1].cyclesPerQuery ? best[0] : best[1];
  EXPECT_EQ(cheaper.tile, chosen.tile);
  GpuRequest pinned;
  pinned.warpRows = 16;
  EXPECT_TRUE(bestByWarpRows(*shape, machine, pinned).empty());
}
TEST(GpuCostModel, RowsWithoutAQueryCost) {
  // With 49 queries, a block of 128 has 79 unused rows.
  Shape shape(layer(49, 32));
  GpuMachine machine = *findGpuMachine("sm_80");
  GpuPrediction one = predict(*shape, {64, 64, 2, true, 32}, machine, 128);
  EXPECT_LT(one.cyclesPerQuery, predict(*shape, {128, 64, 2, true, 32}, machine, 128).cyclesPerQuery);
  EXPECT_NEAR(one.cyclesPerQuery, one.stepCycles / 49, 1e-9);
}

TEST(GpuMachine, FilesAreWhole) {
  for (const MachineText &file : gpuMachineTexts()) {
    auto description = parseGpuDescription(file.text, file.name);
    ASSERT_TRUE(bool(description)) << llvm::toString(description.takeError());
    const GpuMachine &machine = description->machine;
    EXPECT_LE(machine.blockSharedBytes + 1024, machine.sharedBytes) << file.name;
    EXPECT_GT(machine.engineFlops(kMmaSync), 0) << file.name;
    EXPECT_EQ(machine.engineFlops("none such"), 0);
  }
  EXPECT_EQ(knownGpuMachines().front().target, "sm_80");
  EXPECT_EQ(knownGpuMachines().back().target, "sm_120a");
  EXPECT_EQ(gpuDevicesOf("sm_90a").size(), 2u);
  EXPECT_TRUE(gpuDevicesOf("sm_100a").empty());
}
TEST(GpuMachine, FaultsOfFilesAreNamed) {
  std::string text;
  for (const MachineText &file : gpuMachineTexts())
    if (llvm::StringRef(file.name) == "sm_90")
      text = file.text;
  auto messageOf = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    auto description = parseGpuDescription(changed, "my.json");
    return description ? std::string() : llvm::toString(description.takeError());
  };
  auto expectRefused = [&](const std::string &from, const std::string &to, const std::string &message) {
    std::string found = messageOf(from, to);
    EXPECT_TRUE(llvm::StringRef(found).starts_with("my.json:" + message)) << found;
  };
  expectRefused("\"l2_rate\"", "\"l3_rate\"", "14:3: error: unknown field 'l3_rate' (did you mean 'l2_rate'?)");
  expectRefused("bytes/cycle", "GB/s", "13:41: error: shared_rate: expected the unit \"bytes/cycle\", found \"GB/s\"");
  expectRefused("\"value\": 25,", "\"value\": -25,", "14:24: error: l2_rate: expected a positive number");
  expectRefused("\"value\": 132,", "\"value\": 13.5,",
                "23:30: error: devices[0].processors: expected a positive whole number");
  expectRefused("\"sm_90\"", "\"gfx90\"", "3:14: error: targets: expected a list of names like \"sm_80\"");
  expectRefused("\"clock\"", "\"boost\"", "24:6: error: unknown field 'devices[0].boost'");
  EXPECT_NE(messageOf("{\"value\": 64, \"unit\": \"warps\"", "{\"unit\": \"warps\""), "");
  EXPECT_NE(messageOf("{", "["), "");
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
