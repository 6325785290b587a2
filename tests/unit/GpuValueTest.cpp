// Tests GPU kernels with value terms: rows by key - query, by the key, and by any other function of both.
#include "tests/unit/GpuLayers.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Returns a layer of one head whose weights are also multiplied by the rows `row` (where `guard` holds) of `table`.
std::string valued(int64_t n, int64_t m, int64_t width, const std::string &table, const std::string &row,
                   const std::string &guard = "", const std::string &mask = "", const std::string &type = "f16",
                   const std::string &scale = "", const std::string &more = "") {
  return "param " + sizes(n, m, 16, width) + "\nsize batch\nkernel layer(q : " + type +
         "[batch, heads, N, dim], k : " + type + "[batch, heads, M, dim], v : " + type +
         "[batch, heads, M, width], table : " + table + more + ") -> " + type +
         "[batch, heads, N, width] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n  weights = "
         "softmax(content * dim^-0.5" +
         mask + ")\n  near = einsum(\"b h i j, " + row + " d -> b h i d\", weights, table" +
         (guard.empty() ? "" : ", where = " + guard) +
         ")\n  return einsum(\"b h i j, b h j d -> b h i d\", weights, v) + near" + scale + "\n}\n";
}
/// The rows are as large as the values, so that errors show.
const std::string kUnclipped = "(j - i + N - 1)";

TEST(GpuValues, RowsOfTheOffset) {
  for (int64_t n : {1, 7, 65, 130})
    for (int64_t width : {1, 20, 48})
      expectOnEngines(valued(n, n, width, "f16[2*N - 1, width]", kUnclipped), kHalf);
  for (int64_t width : {80, 128})
    expectOnEngines(valued(65, 65, width, "f16[2*N - 1, width]", kUnclipped), kHalf);
  expectOnEngines(valued(130, 70, 40, "f16[heads, N + M - 1, width]", "h (i - j + M - 1)"), kHalf);
  expectOnEngines(valued(70, 130, 16, "bf16[N + M - 1, width]", kUnclipped, "", "", "bf16"), kBrain);
}
TEST(GpuValues, OfF32) {
  for (int64_t n : {1, 7, 65, 130})
    for (int64_t width : {1, 20, 48})
      expectOnEngines(valued(n, n, width, "f32[2*N - 1, width]", kUnclipped, "", "", "f32"), kWide);
  expectOnEngines(valued(100, 60, 24, "f32[N + M - 1, width]", "(i - j + M - 1)", "", " where j <= i", "f32"), kWide);
  GpuOptions narrow;
  narrow.rows = 32;
  narrow.keys = 16;
  for (int64_t width : {128, 256})
    expectOnEngines(valued(40, 40, width, "f32[9, width]", "(clamp(j - i, -4, 4) + 4)", "", "", "f32"), kWide, narrow);
}
TEST(GpuValues, EveryTile) {
  for (int64_t keys : {16, 32, 48})
    for (int64_t rows : {16, 48, 64})
      for (const char *type : {"f16", "f32"}) {
        GpuOptions options;
        options.keys = keys;
        options.rows = rows;
        expectOnEngines(valued(100, 100, 16, std::string(type) + "[2*N - 1, width]", kUnclipped, "", "", type),
                    type[1] == '1' ? kHalf : kWide, options);
      }
}
TEST(GpuValues, ClampedAndGuarded) {
  for (int64_t n : {1, 7, 65, 130}) {
    expectOnEngines(valued(n, n, 20, "f16[9, width]", "(clamp(j - i, -4, 4) + 4)"), kHalf);
    expectOnEngines(valued(n, n, 20, "f16[9, width]", "(j - i + 4)", "abs(j - i) <= 4"), kHalf);
    expectOnEngines(valued(n, n, 20, "f32[9, width]", "(j - i + 4)", "abs(j - i) <= 4", "", "f32"), kWide);
  }
  expectOnEngines(valued(90, 90, 16, "f16[12, width]", "((j - i + N - 1) // 16)"), kHalf);
  expectOnEngines(valued(90, 90, 16, "f16[N, width]", "(abs(j - i))", "", " where abs(j - i) <= 20"), kHalf);
  // Rows that are inside the table only under a guard.
  expectOnEngines(valued(90, 90, 16, "f16[N, width]", kUnclipped, "j <= i"), kHalf);
}
TEST(GpuValues, TilesWithoutRowsAreNotMultiplied) {
  // 16 tiles of 64 × 64; rows within 4 of the diagonal are in those on and beside it: 4 + 2 × 3.
  GpuOutcome none = expectOnEngines(layer(sizes(256, 256, 16, 16), "", kPlain), kHalf);
  GpuOutcome some = expectOnEngines(valued(256, 256, 16, "f16[9, width]", "(j - i + 4)", "abs(j - i) <= 4"), kHalf);
  // 5 steps of 16 band columns, 2 tiles of the width; 4 warps, 2 heads, 2 rows of the batch.
  EXPECT_EQ(some.report.matrixSteps - none.report.matrixSteps, 10 * 5 * 2 * 4 * 4);
}
TEST(GpuValues, Scales) {
  for (const char *scale : {" * 0.5", " * -3", " * 1000"})
    for (const char *type : {"f16", "f32"})
      expectOnEngines(valued(70, 70, 16, std::string(type) + "[2*N - 1, width]", kUnclipped, "", "", type, scale),
                  type[1] == '1' ? kHalf : kWide);
}
TEST(GpuValues, RowsOfTheKey) {
  for (const char *type : {"f16", "f32"})
    for (const char *scale : {"", " * -1.5"})
      for (int64_t n : {1, 65})
        expectOnEngines(valued(n, n, 20, std::string(type) + "[heads, M, width]", "h j", "", "", type, scale),
                    type[1] == '1' ? kHalf : kWide);
}
TEST(GpuValues, RowsOfMaps) {
  for (const char *type : {"f16", "f32"})
    for (auto [height, width] : {std::pair(3, 30), std::pair(9, 8)})
      expectOnEngines(
          "param H = " + std::to_string(height) + ", W = " + std::to_string(width) +
              ", heads = 2, dim = 24\nsize batch\nkernel layer(q, k, v : " + type +
              "[batch, heads, H*W, dim], rows : " + type + "[2*H - 1, dim], columns : " + type + "[2*W - 1, dim]) -> " +
              type +
              "[batch, heads, H*W, dim] {\n  weights = softmax(einsum(\"b h i d, b h j d -> b h i j\", q, k) * "
              "dim^-0.5)\n  vertical = einsum(\"b h (iy ix) (jy jx), (jy - iy + H - 1) d -> b h (iy ix) d\", weights, "
              "rows, iy = H, ix = W, jy = H, jx = W)\n  level = einsum(\"b h (iy ix) (jy jx), (jx - ix + W - 1) d -> b "
              "h (iy "
              "ix) d\", weights, columns, iy = H, ix = W, jy = H, jx = W)\n  return einsum(\"b h i j, b h j d -> b h i "
              "d\", "
              "weights, v) + vertical + level\n}\n",
          type[1] == '1' ? kHalf : kWide);
}
TEST(GpuValues, RowsOfPairs) {
  for (const char *type : {"f16", "f32"})
    for (int64_t n : {1, 7, 65, 130})
      expectOnEngines(valued(n, n, 20, std::string(type) + "[heads, 7, width]", "h ((i*j) % 7)", "(i + 2*j) % 3 != 0",
                         " where j <= i", type),
                  type[1] == '1' ? kHalf : kWide);
  expectOnEngines(valued(40, 70, 16, "f16[2, width]", "(seg[b, i] != seg[b, j])", "", "", "f16", "",
                     ", seg : i32[batch, M] in 0..1"),
              kHalf);
}
TEST(GpuValues, WhatNobodySeesMayBeAnything) {
  for (const char *type : {"f16", "f32"})
    for (const char *row : {"(j - i + N - 1)", "((j - i + N - 1) * 1)"}) {
      GpuOptions options;
      options.change = [](const std::string &name, std::vector<double> &values) {
        if (name == "table") {
          values[16 * (39 + 5) + 3] = NAN;       // key 5 places after the query: masked
          values[16 * (39 - 30) + 4] = INFINITY; // only queries from 30 on have such a key
          values[16 * (39 - 31) + 5] = NAN;
        }
      };
      GpuOutcome outcome =
          expectOnEngines(valued(40, 40, 16, std::string(type) + "[2*N - 1, width]", row, "", " where j <= i", type),
                      type[1] == '1' ? kHalf : kWide, options);
      EXPECT_TRUE(std::isfinite(outcome.got[16 * 39 + 3]));
      EXPECT_EQ(outcome.got[16 * 30 + 4], INFINITY);
      EXPECT_TRUE(std::isfinite(outcome.got[16 * 29 + 4]));
      EXPECT_TRUE(std::isnan(outcome.got[16 * 31 + 5]));
    }
}
/// A direct weight of 0 times a row that is no number is NaN, in rows that are read for each pair too.
TEST(GpuValues, DirectWeightsOfZeroMeetTheirRows) {
  GpuOptions options;
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "near")
      values[16 * 7 + 3] = NAN;
  };
  for (const char *row : {"((3*i + 5*j) % 20)", "((j - i) % 59)"}) {
    GpuOutcome outcome = expectOnGpu(
        std::string("kernel layer(q, k, v : f16[2, 20, 16], near : f16[59, 16]) -> f16[2, 20, 16] {\n  weights = "
                    "max(einsum(\"h i d, h j d -> h i j\", q, k), 0) / 20\n  return einsum(\"h i j, h j d -> h i d\", "
                    "weights, v) + einsum(\"h i j, ") +
            row + " d -> h i d\", weights, near)\n}\n",
        kHalf, options);
    EXPECT_TRUE(std::isnan(outcome.got[16 * 9 + 3])); // query 9 meets row 7
  }
}
TEST(GpuValues, OfPartsWithOrigins) {
  for (auto [q0, k0] : {std::pair(0, 0), std::pair(60, 50), std::pair(7, 33)})
    for (const char *row :
         {"(j - i + 99) d -> h i d\", weights, far)", "(clamp(j - i, -4, 4) + 95) d -> h i d\", weights, far)",
          "((i + j) % 100) d -> h i d\", weights, far)"}) {
      GpuOptions options;
      options.change = [q0 = q0, k0 = k0](const std::string &name, std::vector<double> &values) {
        if (name == "q0" || name == "k0")
          values[0] = name == "q0" ? q0 : k0;
      };
      expectOnEngines(
          std::string("kernel part(q : f16[2, 40, 16], k, v : f16[2, 50, 16], far : f16[199, 16]) -> f16[2, 40, "
                      "16] {\n  part i = 40 of 100 from q0\n  part j = 50 of 100 from k0\n  content = "
                      "einsum(\"h i d, h j d -> h i j\", q, k)\n  weights = softmax(content * 16^-0.5)\n  return "
                      "einsum(\"h i j, h j d -> h i d\", weights, v) + einsum(\"h i j, ") +
              row + "\n}\n",
          kHalf, options);
    }
}
TEST(GpuValues, BesideTermsOfTheScore) {
  // As in VITS and Axial-DeepLab.
  expectOnEngines(fileText(SKEWER_SOURCE_DIR "/tests/e2e/conformance/vits-n50/spec.attn"), kWide);
  expectOnEngines(
      "param N = 70, heads = 2, dim = 16, width = 24\nsize batch\nkernel layer(q, k : f16[batch, heads, N, dim], v : "
      "f16[batch, heads, N, width], a, b : f16[2*N - 1, dim], c : f16[2*N - 1, width]) -> f16[batch, heads, N, "
      "width] {\n  score = einsum(\"b h i d, b h j d -> b h i j\", q, k) + einsum(\"b h i d, (i - j + N - 1) d -> b "
      "h i j\", q, a) + einsum(\"b h j d, (j - i + N - 1) d -> b h i j\", k, b)\n  weights = softmax(score * "
      "dim^-0.5)\n  return einsum(\"b h i j, b h j e -> b h i e\", weights, v) + einsum(\"b h i j, (i - j + N - 1) "
      "e -> b h i e\", weights, c)\n}\n",
      kHalf);
}

} // namespace
