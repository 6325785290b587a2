// Layers as kernels for NVIDIA GPUs, run by the interpreter: numbers against the float64 reference, and no fault.
#include "tests/unit/GpuTesting.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// A layer of one head with `score` added to the content, all operands of `type`.
std::string layer(const std::string &sizes, const std::string &more, const std::string &score,
                  const std::string &type = "f16", const std::string &mask = "") {
  return "param " + sizes + "\nsize batch\nkernel layer(q : " + type + "[batch, heads, N, dim], k : " + type +
         "[batch, heads, M, dim], v : " + type + "[batch, heads, M, width]" + more + ") -> " + type +
         "[batch, heads, N, width] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n"
         "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(" +
         score + mask + "), v)\n}\n";
}
std::string sizes(int64_t n, int64_t m, int64_t dim, int64_t width, int64_t heads = 2) {
  return "N = " + std::to_string(n) + ", M = " + std::to_string(m) + ", dim = " + std::to_string(dim) +
         ", width = " + std::to_string(width) + ", heads = " + std::to_string(heads);
}
const std::string kPlain = "content * dim^-0.5";
constexpr double kHalf = 1.5e-3, kBrain = 1.2e-2;

TEST(GpuKernel, PlainAttention) {
  GpuOutcome outcome = expectOnGpu(layer(sizes(128, 128, 64, 64), "", kPlain), kHalf);
  EXPECT_GT(outcome.error, 0); // rounding to f16 is seen: something was compared
  EXPECT_EQ(outcome.launch.threads, 128);
  EXPECT_EQ(outcome.launch.blocks.scaled, 2 * 2);
  EXPECT_EQ(outcome.launch.blocks.factors, std::vector<std::string>{"batch"});
  // 2 key tiles × (32 products of queries and keys + 32 of weights and values) × 4 warps × 8 blocks
  EXPECT_EQ(outcome.report.matrixSteps, 2 * 64 * 4 * 8);
}
TEST(GpuKernel, BrainFloats) { expectOnGpu(layer(sizes(64, 96, 64, 32), "", kPlain, "bf16"), kBrain); }
TEST(GpuKernel, AnyNumberOfQueriesAndKeys) {
  expectOnGpu(layer(sizes(1, 1, 16, 16), "", kPlain), kHalf);
  expectOnGpu(layer(sizes(65, 63, 32, 16), "", kPlain), kHalf);
  expectOnGpu(layer(sizes(17, 130, 16, 48), "", kPlain), kHalf);
}
TEST(GpuKernel, AnyWidth) {
  // 8 and 40 by cp.async with zeros behind; the others element by element, as their rows begin anywhere.
  for (int64_t dim : {1, 3, 8, 20, 40, 80})
    expectOnGpu(layer(sizes(33, 40, dim, dim, 1), "", kPlain), kHalf);
  expectOnGpu(layer(sizes(20, 40, 128, 7, 1), "", kPlain), kHalf);
  GpuOptions narrow;
  narrow.keys = 32;
  expectOnGpu(layer(sizes(20, 40, 256, 256, 1), "", kPlain), kHalf, narrow);
  narrow.keys = 16;
  narrow.rows = 32;
  expectOnGpu(layer(sizes(40, 40, 192, 136, 1), "", kPlain), kHalf, narrow);
}
TEST(GpuKernel, Masks) {
  for (const char *mask : {" where j <= i", " where abs(j - i) <= 5", " where j <= i + 30", " where j >= i + 40",
                           " where j <= i and i - j < 20", " where j <= i or j < 7", " where (i + j) % 3 == 0"})
    expectOnGpu(layer(sizes(150, 130, 16, 16, 1), "", kPlain, "f16", mask), kHalf);
}
TEST(GpuKernel, DeadTilesAreNotComputed) {
  GpuOutcome all = expectOnGpu(layer(sizes(256, 256, 16, 16, 1), "", kPlain), kHalf);
  GpuOutcome causal = expectOnGpu(layer(sizes(256, 256, 16, 16, 1), "", kPlain, "f16", " where j <= i"), kHalf);
  EXPECT_EQ(causal.report.matrixSteps * 16, all.report.matrixSteps * 10); // 1 + 2 + 3 + 4 of 4 × 4 tiles
  GpuOutcome window =
      expectOnGpu(layer(sizes(256, 256, 16, 16, 1), "", kPlain, "f16", " where abs(j - i) <= 3"), kHalf);
  EXPECT_EQ(window.report.matrixSteps * 16, all.report.matrixSteps * 10); // 2 + 3 + 3 + 2
}
TEST(GpuKernel, ScalarsOfTheOffset) {
  expectOnGpu(layer(sizes(70, 70, 16, 16), ", slope : f32[heads]", kPlain + " + alibi(slope)"), kHalf);
  expectOnGpu(layer(sizes(70, 90, 16, 16), ", table : f32[32, heads]",
                    "content + t5(table)"),
              kHalf);
  expectOnGpu(layer(sizes(40, 40, 16, 16), ", table : f16[heads, 2*N - 1]",
                    kPlain + " + einsum(\"h (j - i + N - 1) -> h i j\", table, i = N, j = N)"),
              kHalf);
}
TEST(GpuKernel, RowsOfTables) {
  expectOnGpu(layer(sizes(70, 70, 16, 16), ", table : f16[2*N - 1, dim]", "(content + rel1d(q, table)) * dim^-0.5"),
              kHalf);
  expectOnGpu(layer(sizes(40, 40, 24, 16), ", table : f32[heads, 9, dim]",
                    "(content + einsum(\"b h i d, h (clamp(j - i, -4, 4) + 4) d -> b h i j\", q, table, j = N)) * "
                    "dim^-0.5"),
              kHalf);
  expectOnGpu(layer(sizes(40, 40, 16, 16), ", table : f16[2*N - 1, dim]",
                    "(content + einsum(\"b h j d, (i - j + N - 1) d -> b h i j\", k, table, i = N)) * dim^-0.5"),
              kHalf);
  // Only under the mask does the table have these rows.
  expectOnGpu(layer(sizes(40, 40, 16, 16), ", table : f16[N, dim]", "(content + music(q, table)) * dim^-0.5", "f16",
                    " where j <= i"),
              kHalf);
}
TEST(GpuKernel, Maps) {
  std::string head = "param H = 6, W = 7, heads = 2, dim = 16\nsize batch\nkernel layer(q, k, v : f16[batch, heads, "
                     "H*W, dim], rows : f16[2*H - 1, dim], columns : f16[2*W - 1, dim]) -> f16[batch, heads, H*W, dim] "
                     "{\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n";
  expectOnGpu(head + "  return einsum(\"b h i j, b h j d -> b h i d\", softmax((content + rel2d(q, rows, columns, map = "
                     "(H, W))) * dim^-0.5), v)\n}\n",
              kHalf);
}
TEST(GpuKernel, SeveralContentTerms) {
  // (q + u)·k with u a vector of each head, and learned absolute logits q·e[j] of another scale.
  expectOnGpu(layer(sizes(40, 40, 24, 16), ", u : f32[heads, dim], e : f16[N, dim]",
                    "content * dim^-0.5 + einsum(\"h d, b h j d -> b h j\", u, k)[:, :, None, :] * dim^-0.5 + "
                    "einsum(\"b h i d, j d -> b h i j\", q, e)"),
              kHalf);
}
TEST(GpuKernel, HeadsShareKeys) {
  expectOnGpu("param N = 40, heads = 4, dim = 16\nsize batch\nkernel layer(q : f16[batch, heads, N, dim], k, v : "
              "f16[batch, 2, N, dim]) -> f16[batch, heads, N, dim] {\n  content = einsum(\"b h i d, b (h // 2) j d -> b "
              "h i j\", q, k)\n  return einsum(\"b h i j, b (h // 2) j d -> b h i d\", softmax(content * dim^-0.5), "
              "v)\n}\n",
              kHalf);
}
TEST(GpuKernel, RunTimeIndices) {
  expectOnGpu(layer(sizes(40, 40, 16, 16), ", seg : i32[batch, N] in 0..1, e : f16[heads, 2, dim]",
                    "(content + einsum(\"b h i d, h (seg[b, i] != seg[b, j]) d -> b h i j\", q, e, j = N)) * dim^-0.5"),
              kHalf);
  expectOnGpu(layer(sizes(40, 70, 16, 16), ", lengths : i32[batch] in 0..70", kPlain, "f16", " where j < lengths[b]"),
              kHalf);
}
TEST(GpuKernel, OtherLayouts) {
  // Heads inside of positions, as a projection leaves them; the result the same.
  expectOnGpu("param N = 40, heads = 2, dim = 16\nsize batch\nkernel layer(q, k, v : f16[batch, N, heads, dim]) -> "
              "f32[batch, N, heads, dim] {\n  content = einsum(\"b i h d, b j h d -> b h i j\", q, k)\n  return "
              "einsum(\"b h i j, b j h d -> b i h d\", softmax(content * dim^-0.5), v)\n}\n",
              kHalf);
}
TEST(GpuKernel, LargeScores) {
  GpuOptions options;
  options.spread = 30; // one weight a row is 1, the others underflow
  expectOnGpu(layer(sizes(70, 70, 16, 16), "", "content"), kHalf, options);
}
TEST(GpuKernel, NumbersThatAreNone) {
  GpuOptions options;
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "q")
      values[16 * 5] = NAN; // row 5 of the first head
    if (name == "k")
      values[16 * 39] = NAN; // the last key: only row 39 sees it
  };
  GpuOutcome outcome =
      expectOnGpu(layer(sizes(40, 40, 16, 16), "", kPlain, "f16", " where j <= i"), kHalf, options);
  EXPECT_TRUE(std::isnan(outcome.got[16 * 5]));
  EXPECT_FALSE(std::isnan(outcome.got[16 * 4]));
  EXPECT_TRUE(std::isnan(outcome.got[16 * 39]));
}

//===- What is not made yet -------------------------------------------------------===//

std::string refused(const std::string &text) {
  GpuOutcome outcome = GpuLayer(text).run();
  EXPECT_FALSE(outcome.lowered) << text;
  return outcome.messages;
}
TEST(GpuRefuses, WideOperands) {
  EXPECT_SAYS(refused(layer(sizes(16, 16, 16, 16), "", kPlain, "f32")), "declare them as one of these");
}
TEST(GpuRefuses, StagesBesideTheAttention) {
  EXPECT_SAYS(refused(layer(sizes(16, 16, 16, 16), "", "einsum(\"b h i d, b h j d -> b h i j\", rope_half(q), k)")),
              "an attention whose operands are the kernel's own");
}
TEST(GpuRefuses, TermsOfTheValues) {
  EXPECT_SAYS(refused("param N = 16, dim = 16\nkernel layer(q, k, v : f16[1, N, dim], near : f16[9, dim]) -> f16[1, N, "
                      "dim] {\n  weights = softmax(einsum(\"b i d, b j d -> b i j\", q, k))\n  return einsum(\"b i j, b "
                      "j d -> b i d\", weights, v) + einsum(\"b i j, (clamp(j - i, -4, 4) + 4) d -> b i d\", weights, "
                      "near)\n}\n"),
              "term is added to its values");
}
TEST(GpuRefuses, WhatIsNoAttention) {
  EXPECT_SAYS(refused("kernel twice(x : f16[4, 8]) -> f16[4, 8] {\n  return x * 2\n}\n"), "cannot be made for a GPU");
}

} // namespace
