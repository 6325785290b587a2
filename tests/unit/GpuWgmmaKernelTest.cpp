// Runs layers of every class as kernels on wgmma in the interpreter, in several orders of their warps: the numbers are
// the float64 reference's, and there is no fault.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/unit/GpuLayers.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

GpuOptions onWgmma(int64_t rows = 64, int64_t keys = 64, int64_t stages = 2) {
  GpuOptions options;
  options.target = "sm_90a";
  options.engine = "wgmma";
  options.rows = rows;
  options.keys = keys;
  options.stages = stages;
  options.keepQueries = false;
  return options;
}

/// Runs the layer with several tiles and orders of warps.
void expectOnWgmma(const std::string &text, double tolerance = kHalf) {
  for (auto [rows, keys, stages] : {std::tuple(64, 64, 2), {128, 32, 3}, {192, 128, 2}})
    for (unsigned order : {0u, 5u}) {
      GpuOptions options = onWgmma(rows, keys, stages);
      options.order = order;
      expectOnGpu(text, tolerance, options);
    }
}

TEST(GpuWgmmaKernel, PlainAttention) {
  GpuOutcome outcome = expectOnGpu(layer(sizes(128, 128, 64, 64), "", kPlain), kHalf, onWgmma(128));
  EXPECT_GT(outcome.error, 0);
  EXPECT_EQ(outcome.launch.threads, 256 + 128); // two warpgroups that compute, and one of producers
  // 2 key tiles × (4 steps of queries and keys + 4 of weights and values) × 8 warps × 4 blocks
  EXPECT_EQ(outcome.report.matrixSteps, 2 * 8 * 8 * 4);
}

} // namespace
