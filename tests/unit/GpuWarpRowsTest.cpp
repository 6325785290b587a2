// Tests warps of 32 queries, whose two tiles of rows share each fragment of keys and values: the numbers, and the
// layers that get them.
#include "tests/unit/GpuLayers.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

GpuOptions wide(int64_t rows = 64, int64_t keys = 32, int64_t stages = 2, bool keepQueries = true) {
  GpuOptions options = tileOf(rows, keys, stages, keepQueries);
  options.warpRows = 32;
  return options;
}

TEST(GpuWarpRows, EveryClassOfTerms) {
  expectEverything({70, 32, "", wide()});
  expectEverything({50, 16, " where j <= i", wide(32, 16)});
  expectEverything({90, 16, " where abs(j - i) <= 20", wide(96, 32, 3, false)});
}
TEST(GpuWarpRows, SingleBuffered) { expectEverything({45, 32, "", wide(32, 16, 1, false)}); }
TEST(GpuWarpRows, PartsOfTheColumns) {
  GpuOptions options = wide(32, 32);
  options.columns = 16;
  expectOnGpu(everything(70, 40, "f16"), 2 * kHalf, options);
}
TEST(GpuWarpRows, RowsAndKeysThatTilesDoNotDivide) {
  for (int64_t n : {1, 15, 17, 33, 63, 65})
    for (const char *type : {"f16", "bf16", "f32"})
      expectOnGpu(layer(sizes(n, n + 3, 16, 24), "", kPlain, type),
                  type[0] == 'b'   ? kBrain
                  : type[1] == '1' ? kHalf
                                   : kWide,
                  wide());
}
TEST(GpuWarpRows, LogitsOfMaps) {
  const std::string map =
      "param H = 6, W = 8, dim = 24\nkernel layer(q, k, v : f16[1, 2, H*W, dim], rows : f16[2*H - 1, dim], columns : "
      "f16[2*W - 1, dim]) -> f16[1, 2, H*W, dim] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n  "
      "return "
      "einsum(\"b h i j, b h j d -> b h i d\", softmax(content + decomposed(q, rows, columns, map = (H, W))), v)\n}\n";
  for (int64_t keys : {16, 48, 64}) // looked up for each score, and the same in every tile
    expectOnGpu(map, kHalf, wide(32, keys));
}
TEST(GpuWarpRows, RowsForEachPairAndElements) {
  expectOnGpu(
      "param N = 40, heads = 2, dim = 40\nkernel layer(q, k, v : f16[heads, N, dim], few : f16[7, dim], table : "
      "f32[11]) -> f16[heads, N, dim] {\n  weights = softmax(einsum(\"h i d, h j d -> h i j\", q, k) * "
      "dim^-0.5 + table[(i*j) % 11] where (i + j) % 5 != 0)\n  return einsum(\"h i j, h j d -> h i d\", weights, "
      "v) + einsum(\"h i j, ((i*j) % 7) d -> h i d\", weights, few)\n}\n",
      kHalf, wide(32, 16));
}
TEST(GpuWarpRows, InfinitiesOfValuesCountWhereTheyAreSeen) {
  GpuOptions options = wide(32, 32);
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "v")
      values[3] = std::numeric_limits<double>::infinity();
  };
  GpuLayer compiled(layer(sizes(40, 40, 16, 16), "", kPlain, "f16", " where j <= i and j > i - 9"));
  GpuOutcome outcome = compiled.run(options);
  ASSERT_TRUE(outcome.lowered) << outcome.messages;
  EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
  ASSERT_EQ(outcome.got.size(), outcome.expected.size());
  for (size_t k = 0; k < outcome.got.size(); ++k)
    EXPECT_EQ(std::isfinite(outcome.got[k]), std::isfinite(outcome.expected[k])) << k;
}
TEST(GpuWarpRows, FragmentsAreReadOnceForTwoTiles) {
  // The same products need half as many fragments of keys and values.
  const std::string plain = layer(sizes(64, 64, 32, 32), "", kPlain);
  GpuOptions narrow = wide();
  narrow.warpRows = 16;
  GpuOutcome one = expectOnGpu(plain, kHalf, narrow), two = expectOnGpu(plain, kHalf, wide());
  EXPECT_EQ(one.launch.threads, 128);
  EXPECT_EQ(two.launch.threads, 64);
  EXPECT_EQ(one.report.matrixSteps, two.report.matrixSteps);
  auto count = [](const GpuOutcome &outcome, llvm::StringRef operation) {
    return llvm::StringRef(outcome.ir).count(operation);
  };
  EXPECT_EQ(count(two, "nvvm.mma.sync"), 2 * count(one, "nvvm.mma.sync"));
  EXPECT_LT(count(two, "nvvm.ldmatrix"), 3 * count(one, "nvvm.ldmatrix") / 2); // only those of the queries double
}

} // namespace
