// Tests GPU kernels of f32 operands, which multiply by three products of tf32: the numbers are as exact as those of
// f32.
#include "tests/unit/GpuLayers.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

TEST(GpuWide, PlainAttention) {
  GpuOutcome outcome = expectOnGpu(layer(sizes(128, 128, 64, 64), "", kPlain, "f32"), kWide);
  EXPECT_GT(outcome.error, 0);
  // Three times 2 key tiles × (64 products of queries and keys + 64 of weights and values) × 4 warps × 8 blocks
  EXPECT_EQ(outcome.report.matrixSteps, 3 * 2 * 128 * 4 * 8);
}
TEST(GpuWide, AnyNumberOfQueriesAndKeys) {
  for (auto [n, m] : {std::pair(1, 1), std::pair(7, 65), std::pair(65, 7), std::pair(130, 130)})
    expectOnGpu(layer(sizes(n, m, 20, 12, 1), "", kPlain, "f32"), kWide);
}
TEST(GpuWide, AnyWidth) {
  // 1 and 3 element by element: their rows begin anywhere; 20 by cp.async with zeros behind.
  for (int64_t dim : {1, 3, 20, 48, 80})
    expectOnGpu(layer(sizes(33, 40, dim, dim, 1), "", kPlain, "f32"), kWide);
  GpuOptions narrow;
  narrow.keys = 32;
  expectOnGpu(layer(sizes(20, 40, 128, 128, 1), "", kPlain, "f32"), kWide, narrow);
  narrow.keys = 16;
  narrow.rows = 32;
  expectOnGpu(layer(sizes(40, 20, 256, 256, 1), "", kPlain, "f32"), kWide, narrow);
}
TEST(GpuWide, NoBankIsMetTwiceByValues) {
  for (int64_t width : {16, 20, 48, 128}) {
    GpuOptions options;
    options.keys = 32;
    GpuLayer compiled(layer(sizes(64, 64, 16, width, 1), "", kPlain, "f32"));
    GpuOutcome outcome = compiled.run(options);
    int64_t loads = 0;
    for (auto &[operation, use] : outcome.report.banks)
      if (mlir::isa<mlir::LLVM::LoadOp>(operation)) {
        EXPECT_FALSE(use.hasConflicts());
        loads += use.accesses;
      }
    EXPECT_GT(loads, 0);
  }
}
TEST(GpuWide, Masks) {
  for (const char *mask : {" where j <= i", " where abs(j - i) <= 5", " where (i + j) % 3 == 0"})
    expectOnGpu(layer(sizes(90, 70, 16, 16, 1), "", kPlain, "f32", mask), kWide);
}
TEST(GpuWide, Bands) {
  for (int64_t n : {1, 7, 65, 130})
    expectOnGpu(relative(n, n, 20, "f32[2*N - 1, dim]", "(j - i + N - 1)", " * dim^-0.5", "", "f32"), kWide);
  expectOnGpu(relative(70, 100, 48, "f32[heads, N + M - 1, dim]", "h (i - j + M - 1)", "", "", "f32"), kWide);
  expectOnGpu(ofKeys(65, 130, 20, "f32[heads, N + M - 1, dim]", "h (j - i + N - 1)", "", "f32"), kWide);
  expectOnGpu(ofKeys(70, 70, 16, "f32[11, dim]", "(clamp(j - i, -5, 5) + 5)", " where j <= i", "f32"), kWide);
}
TEST(GpuWide, Lookups) {
  expectOnGpu(relative(70, 70, 20, "f32[9, dim]", "(clamp(j - i, -4, 4) + 4)", "", "", "f32"), kWide);
  expectOnGpu(relative(65, 65, 80, "f32[heads, 100, dim]", "h ((3*i + 5*j) % 100)", "", "", "f32"), kWide);
}
TEST(GpuWide, LinesAndElements) {
  expectOnGpu(layer(sizes(70, 90, 16, 16), ", slope : f32[heads], bias : f32[N, M]",
                    kPlain + " + alibi(slope) + einsum(\"i j -> i j\", bias)", "f32"),
              kWide);
}
TEST(GpuWide, NarrowTablesBesideWideOperands) {
  expectOnGpu(relative(70, 70, 16, "f16[2*N - 1, dim]", "(j - i + N - 1)", "", "", "f32"), kWide);
}
TEST(GpuWide, LogSumExp) {
  expectOnGpu(
      "param N = 70, heads = 2, dim = 16\nsize batch\nkernel layer(q, k, v : f32[batch, heads, N, dim]) -> (lse "
      ": f32[batch, heads, N], out : f32[batch, heads, N, dim]) {\n  score = einsum(\"b h i d, b h j d -> b h i "
      "j\", q, k) * dim^-0.5\n  return logsumexp(score), einsum(\"b h i j, b h j d -> b h i d\", "
      "softmax(score), v)\n}\n",
      kWide);
}
TEST(GpuWide, LargeNumbers) {
  GpuOptions options;
  options.change = [](const std::string &name, std::vector<double> &values) {
    for (double &value : values)
      value *= name == "v" ? 1e30 : 3;
  };
  expectOnGpu(layer(sizes(70, 70, 16, 16), "", kPlain, "f32"), kWide, options);
}
TEST(GpuWide, InfinitiesAreThoseOfF32) {
  // An infinite key makes scores of -infinity, which take it away; a visible infinite value makes results infinite. The
  // parts of such numbers would be NaN.
  GpuOptions options;
  options.change = [](const std::string &name, std::vector<double> &values) {
    for (size_t n = 0; n < values.size(); n += 16) {
      if (name == "q")
        values[n + 2] = 1 + std::fabs(values[n + 2]);
      if (name == "table")
        values[n + 2] = 0.5;
    }
    if (name == "k")
      values[16 * 30 + 2] = -INFINITY; // of the first head
    if (name == "v") {
      values[16 * 20 + 5] = INFINITY;
      values[16 * 21 + 6] = -INFINITY;
      values[16 * 22 + 7] = NAN;
      values[16 * 30 + 8] = 7;
    }
  };
  for (const char *score : {"content * dim^-0.5", "(content + rel1d(q, table)) * dim^-0.5"}) {
    GpuOutcome outcome = expectOnGpu(
        layer(sizes(40, 40, 16, 16), ", table : f32[2*N - 1, dim]", score, "f32", " where j <= i"), kWide, options);
    EXPECT_EQ(outcome.got[16 * 25 + 5], INFINITY);
    EXPECT_EQ(outcome.got[16 * 25 + 6], -INFINITY);
    EXPECT_TRUE(std::isnan(outcome.got[16 * 25 + 7]));
    EXPECT_TRUE(std::isfinite(outcome.got[16 * 39 + 8]));
    EXPECT_TRUE(std::isfinite(outcome.got[16 * 10 + 5])) << "row 10 does not see key 20";
  }
}
TEST(GpuWide, HiddenKeysAndQueriesMayBeAnything) {
  GpuOptions options;
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "q")
      values[16 * 5] = NAN;
    if (name == "k")
      values[16 * 39] = NAN; // only row 39 sees it
  };
  GpuOutcome outcome = expectOnGpu(layer(sizes(40, 40, 16, 16), "", kPlain, "f32", " where j <= i"), kWide, options);
  EXPECT_TRUE(std::isnan(outcome.got[16 * 5]));
  EXPECT_FALSE(std::isnan(outcome.got[16 * 4]));
}

/// Under a mask that is no interval, in every tile, a weight of 0 stays 0 when it is rounded to tf32.
TEST(GpuWide, HiddenValuesUnderAPredicateMayBeAnything) {
  GpuOptions options;
  options.rows = 16;
  options.keys = 16;
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name != "v")
      return;
    values[16 * 3 + 2] = NAN;
    values[16 * 20 + 3] = INFINITY;
  };
  GpuOutcome outcome =
      expectOnGpu(layer(sizes(24, 24, 16, 16), "", kPlain, "f32", " where (i + j) % 3 != 1"), kWide, options);
  EXPECT_TRUE(std::isfinite(outcome.got[16 * 1 + 2])) << "row 1 does not see key 3";
  EXPECT_TRUE(std::isnan(outcome.got[16 * 2 + 2]));
  EXPECT_TRUE(std::isfinite(outcome.got[16 * 2 + 3])) << "row 2 does not see key 20";
  EXPECT_EQ(outcome.got[16 * 3 + 3], INFINITY);
}

} // namespace
