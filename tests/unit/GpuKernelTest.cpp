// Runs layers as kernels for NVIDIA GPUs in the interpreter: the numbers are the float64 reference's, and there is no
// fault.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/unit/GpuLayers.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

TEST(GpuKernel, PlainAttention) {
  GpuOptions options;
  options.warpRows = 16;
  GpuOutcome outcome = expectOnEngines(layer(sizes(128, 128, 64, 64), "", kPlain), kHalf, options);
  EXPECT_GT(outcome.error, 0); // the rounding to f16 shows that something was compared
  EXPECT_EQ(outcome.launch.threads, 128);
  EXPECT_EQ(outcome.launch.blocks.scaled, 2 * 2);
  EXPECT_EQ(outcome.launch.blocks.factors, std::vector<std::string>{"batch"});
  // 2 key tiles × (32 products of queries and keys + 32 of weights and values) × 4 warps × 8 blocks
  EXPECT_EQ(outcome.report.matrixSteps, 2 * 64 * 4 * 8);
}
TEST(GpuKernel, BrainFloats) { expectOnEngines(layer(sizes(64, 96, 64, 32), "", kPlain, "bf16"), kBrain); }
TEST(GpuKernel, AnyNumberOfQueriesAndKeys) {
  expectOnEngines(layer(sizes(1, 1, 16, 16), "", kPlain), kHalf);
  expectOnEngines(layer(sizes(65, 63, 32, 16), "", kPlain), kHalf);
  expectOnEngines(layer(sizes(17, 130, 16, 48), "", kPlain), kHalf);
}
TEST(GpuKernel, AnyWidth) {
  // Widths 8 and 40 use cp.async, followed by zeros; the others go element by element, because their rows begin
  // anywhere.
  for (int64_t dim : {1, 3, 8, 20, 40, 80})
    expectOnEngines(layer(sizes(33, 40, dim, dim, 1), "", kPlain), kHalf);
  expectOnEngines(layer(sizes(20, 40, 128, 7, 1), "", kPlain), kHalf);
  GpuOptions narrow;
  narrow.keys = 32;
  expectOnEngines(layer(sizes(20, 40, 256, 256, 1), "", kPlain), kHalf, narrow);
  narrow.keys = 16;
  narrow.rows = 32;
  expectOnEngines(layer(sizes(40, 40, 192, 136, 1), "", kPlain), kHalf, narrow);
}
/// Queries, keys and values in columns of one projection are read in place.
TEST(GpuKernel, HeadsInPackedColumns) {
  const std::string head = "param N = 45, heads = 3, dim = 24, c = heads*dim\nsize batch\nkernel layer(x : ",
                    body =
                        "[batch, N, c] {\n  (q, k, v) = (rearrange(x[:, :, :c], \"b n (h d) -> b h n d\", h = heads),"
                        " rearrange(x[:, :, c:2*c], \"b n (h d) -> b h n d\", h = heads),"
                        " rearrange(x[:, :, 2*c:], \"b n (h d) -> b h n d\", h = heads))\n"
                        "  scores = einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5\n"
                        "  out = einsum(\"b h i j, b h j d -> b h i d\", softmax(scores where j <= i), v)\n"
                        "  return rearrange(out, \"b h n d -> b n (h d)\")\n}\n";
  for (const char *type : {"f16", "f32"}) {
    GpuOutcome outcome =
        expectOnEngines(head + type + "[batch, N, 3*c]) -> " + type + body, type[1] == '1' ? kHalf : kWide);
    EXPECT_GT(outcome.report.matrixSteps, 0u);
    EXPECT_EQ(outcome.program.launches.size(), 1u);
  }
}
TEST(GpuKernel, Masks) {
  for (const char *mask : {" where j <= i", " where abs(j - i) <= 5", " where j <= i + 30", " where j >= i + 40",
                           " where j <= i and i - j < 20", " where j <= i or j < 7", " where (i + j) % 3 == 0"})
    expectOnEngines(layer(sizes(150, 130, 16, 16, 1), "", kPlain, "f16", mask), kHalf);
}
TEST(GpuKernel, DeadTilesAreNotComputed) {
  GpuOutcome all = expectOnEngines(layer(sizes(256, 256, 16, 16, 1), "", kPlain), kHalf);
  GpuOutcome causal = expectOnEngines(layer(sizes(256, 256, 16, 16, 1), "", kPlain, "f16", " where j <= i"), kHalf);
  EXPECT_EQ(causal.report.matrixSteps * 16, all.report.matrixSteps * 10); // 1 + 2 + 3 + 4 of 4 × 4 tiles
  GpuOutcome window =
      expectOnEngines(layer(sizes(256, 256, 16, 16, 1), "", kPlain, "f16", " where abs(j - i) <= 3"), kHalf);
  EXPECT_EQ(window.report.matrixSteps * 16, all.report.matrixSteps * 10); // 2 + 3 + 3 + 2
}
TEST(GpuKernel, WarpsThatSeeNoKeyLeaveTheTileOut) {
  GpuOptions documents;
  documents.change = [](const std::string &name, std::vector<double> &values) {
    for (size_t token = 0; name == "seg" && token < values.size(); ++token)
      values[token] = double(token % 128 / 64); // two documents of 64 tokens a batch row
  };
  std::string text = layer(sizes(128, 128, 16, 16, 1), ", seg : i32[batch, N] in 0..9", kPlain, "f16",
                           " where seg[b, i] == seg[b, j]");
  GpuOutcome all = expectOnEngines(layer(sizes(128, 128, 16, 16, 1), "", kPlain), kHalf);
  EXPECT_EQ(expectOnEngines(text, kHalf, documents).report.matrixSteps * 2, all.report.matrixSteps);
  // Memory tokens and a window: of 4 × 4 tiles the first column, and 2 + 3 + 3 + 2.
  all = expectOnEngines(layer(sizes(256, 256, 16, 16, 1), "", kPlain), kHalf);
  GpuOutcome window =
      expectOnEngines(layer(sizes(256, 256, 16, 16, 1), "", kPlain, "f16", " where abs(j - i) <= 3 or j < 2"), kHalf);
  EXPECT_LT(window.report.matrixSteps * 16, all.report.matrixSteps * 12);
  // In f32 too, with rows of keys behind a length.
  GpuOptions lengths;
  lengths.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "lengths")
      values = {64, 1};
  };
  text = layer(sizes(64, 128, 16, 16, 1), ", lengths : i32[batch] in 0..128", kPlain, "f32", " where j < lengths[b]");
  all = expectOnEngines(layer(sizes(64, 128, 16, 16, 1), "", kPlain, "f32"), kWide);
  EXPECT_EQ(expectOnEngines(text, kWide, lengths).report.matrixSteps * 2, all.report.matrixSteps);
}
TEST(GpuKernel, ScalarsOfTheOffset) {
  expectOnEngines(layer(sizes(70, 70, 16, 16), ", slope : f32[heads]", kPlain + " + alibi(slope)"), kHalf);
  expectOnEngines(layer(sizes(70, 90, 16, 16), ", table : f32[32, heads]", "content + t5(table)"), kHalf);
  expectOnEngines(layer(sizes(40, 40, 16, 16), ", table : f16[heads, 2*N - 1]",
                    kPlain + " + einsum(\"h (j - i + N - 1) -> h i j\", table, i = N, j = N)"),
              kHalf);
}
TEST(GpuKernel, LinesOfOffsets) {
  // One of both signs and a guard, two scales, more than one tile in both directions.
  for (auto [rows, keys] : {std::pair(64, 64), std::pair(32, 48), std::pair(16, 16)}) {
    GpuOptions options;
    options.rows = rows;
    options.keys = keys;
    expectOnEngines(layer(sizes(150, 170, 16, 16), ", slope : f32[heads], table : f16[heads, 21]",
                      kPlain + " + alibi(slope) + 2 * (einsum(\"h (j - i + 10) -> h i j\", table, i = N, j = M) if "
                               "abs(j - i) <= 10 else 0)"),
                kHalf, options);
  }
  expectOnEngines(
      layer(sizes(90, 90, 16, 16), ", table : f32[32, heads]", "content + t5_causal(table)", "f16", " where j <= i"),
      kHalf);
}
TEST(GpuKernel, LinesTimesNumbersOfTheQuery) {
  // As in WavLM: two gates, and a line without a gate.
  for (const char *type : {"f16", "f32"})
    for (int64_t n : {1, 7, 65, 130}) {
      std::string t = type;
      GpuOutcome outcome = expectOnEngines(
          layer(sizes(n, n, 16, 16),
                ", g : " + t + "[batch, heads, N], w : f32[N], table : " + t + "[32, heads], slope : f32[heads]",
                kPlain +
                    " + g[b, h, i] * table[wavlm_bucket(j - i, 32, 80), h] + alibi(slope) + w[i] * (abs(j - i) // 3)",
                t),
          t == "f16" ? kHalf : kWide);
      // Nothing is read for each score: three lines of 128 numbers in two copies.
      EXPECT_EQ(outcome.launch.sharedBytes % 16, 0);
    }
}
TEST(GpuKernel, RowsOfTables) {
  expectOnEngines(layer(sizes(70, 70, 16, 16), ", table : f16[2*N - 1, dim]", "(content + rel1d(q, table)) * dim^-0.5"),
              kHalf);
  expectOnEngines(layer(sizes(40, 40, 24, 16), ", table : f32[heads, 9, dim]",
                    "(content + einsum(\"b h i d, h (clamp(j - i, -4, 4) + 4) d -> b h i j\", q, table, j = N)) * "
                    "dim^-0.5"),
              kHalf);
  expectOnEngines(layer(sizes(40, 40, 16, 16), ", table : f16[2*N - 1, dim]",
                    "(content + einsum(\"b h j d, (i - j + N - 1) d -> b h i j\", k, table, i = N)) * dim^-0.5"),
              kHalf);
  // The table has these rows only for pairs that the mask leaves.
  expectOnEngines(layer(sizes(40, 40, 16, 16), ", table : f16[N, dim]", "(content + music(q, table)) * dim^-0.5", "f16",
                    " where j <= i"),
              kHalf);
}
TEST(GpuKernel, BandsAreSkewedInRegisters) {
  expectOnEngines(relative(150, 150, 16, "f16[2*N - 1, dim]", "(j - i + N - 1)"), kHalf);
  expectOnEngines(relative(150, 150, 16, "f16[2*N - 1, dim]", "(i - j + N - 1)"), kHalf); // the other way round
  expectOnEngines(relative(70, 200, 64, "f16[heads, N + M - 1, dim]", "h (j - i + N - 1)"), kHalf);
  expectOnEngines(relative(130, 70, 40, "f16[N + M + 9, dim]", "(j - i + N + 4)"), kHalf);
  expectOnEngines(relative(100, 100, 12, "f32[2*N - 1, dim]", "(j - i + N - 1)"), kHalf); // element by element
  expectOnEngines(relative(100, 100, 16, "bf16[2*N - 1, dim]", "(j - i + N - 1)", "", "", "bf16"), kBrain);
  for (int64_t keys : {16, 32, 48})
    for (int64_t rows : {16, 48}) {
      GpuOptions options;
      options.keys = keys;
      options.rows = rows;
      expectOnEngines(relative(100, 100, 16, "f16[2*N - 1, dim]", "(j - i + N - 1)"), kHalf, options);
    }
  // Clamped far away, and rows that only a mask keeps inside.
  expectOnEngines(relative(150, 150, 16, "f16[101, dim]", "(clamp(j - i, -60, 40) + 60)"), kHalf);
  expectOnEngines(relative(150, 150, 16, "f16[N, dim]", "(j - i + N - 1)", "", " where j <= i"), kHalf);
}
TEST(GpuKernel, BandsDoNotMultiplyMoreThanTheyMust) {
  std::string text = relative(128, 128, 64, "f16[2*N - 1, dim]", "(j - i + N - 1)");
  GpuOutcome outcome = expectOnEngines(text, kHalf);
  // A step of 64 keys: 32 products of queries and keys, 40 of the band (80 columns), 8 of weights and values (width
  // 16).
  EXPECT_EQ(outcome.report.matrixSteps, 2 * (32 + 40 + 8) * 4 * 8);
}
TEST(GpuKernel, BandsOfKeys) {
  expectOnEngines(ofKeys(150, 150, 16, "f16[2*N - 1, dim]", "(i - j + N - 1)"), kHalf);
  expectOnEngines(ofKeys(70, 200, 40, "f16[heads, N + M - 1, dim]", "h (j - i + N - 1)"), kHalf);
  expectOnEngines(ofKeys(100, 90, 16, "f32[11, dim]", "(clamp(j - i, -5, 5) + 5)", " where j <= i"), kHalf);
  for (auto [rows, keys] : {std::pair(16, 64), std::pair(64, 16), std::pair(48, 32)}) {
    GpuOptions options;
    options.keys = keys;
    options.rows = rows;
    GpuOutcome outcome = expectOnEngines(ofKeys(100, 100, 16, "f16[2*N - 1, dim]", "(i - j + N - 1)"), kHalf, options);
    EXPECT_GT(outcome.report.matrixSteps, 0);
  }
  // Terms of both sides, as in DeBERTa: one row for the query and the key.
  expectOnEngines(layer(sizes(100, 100, 16, 16), ", kr : f16[heads, 64, dim], qr : f16[heads, 64, dim]",
                    "(content + einsum(\"b h i d, h (clamp(i - j + 32, 0, 63)) d -> b h i j\", q, kr, j = N) + "
                    "einsum(\"b h j d, h (clamp(i - j + 32, 0, 63)) d -> b h i j\", k, qr, i = N)) * dim^-0.5"),
              kHalf);
}
TEST(GpuKernel, FewRowsAreLookedUp) {
  GpuOutcome outcome = expectOnEngines(relative(70, 70, 16, "f16[9, dim]", "(clamp(j - i, -4, 4) + 4)"), kHalf);
  // One step of depth 16: 64 rows of the table, once a warp and block, beside 8 + 8 in each of two tiles.
  EXPECT_EQ(outcome.report.matrixSteps, (8 + 2 * (8 + 8)) * 4 * 8);
  expectOnEngines(relative(70, 70, 16, "f16[heads, 18, dim]", "h ((i + j) // 8)"), kHalf);
  expectOnEngines(relative(70, 70, 16, "f16[100, dim]", "((3*i + 5*j) % 100)"), kHalf);
}
TEST(GpuKernel, Maps) {
  std::string head = "param H = 6, W = 7, heads = 2, dim = 16\nsize batch\nkernel layer(q, k, v : f16[batch, heads, "
                     "H*W, dim], rows : f16[2*H - 1, dim], columns : f16[2*W - 1, dim]) -> f16[batch, heads, H*W, dim] "
                     "{\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n";
  expectOnEngines(head +
                  "  return einsum(\"b h i j, b h j d -> b h i d\", softmax((content + rel2d(q, rows, columns, map = "
                  "(H, W))) * dim^-0.5), v)\n}\n",
              kHalf);
}
TEST(GpuKernel, MapsOfAnyShape) {
  for (auto [height, width] : {std::pair(3, 30), std::pair(16, 8)}) {
    std::string size = "param H = " + std::to_string(height) + ", W = " + std::to_string(width);
    expectOnEngines(size +
                    ", heads = 2, dim = 24\nsize batch\nkernel layer(q, k, v : f16[batch, heads, H*W, dim], rows : "
                    "f16[2*H - 1, dim], columns : f16[2*W - 1, dim]) -> f16[batch, heads, H*W, dim] {\n  content = "
                    "einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5\n  return einsum(\"b h i j, b h j d -> b "
                    "h i d\", softmax(content + decomposed(q, rows, columns, map = (H, W))), v)\n}\n",
                kHalf);
  }
}
TEST(GpuKernel, SeveralContentTerms) {
  // (q + u)·k with u a vector of each head, and learned absolute logits q·e[j] of another scale.
  expectOnEngines(layer(sizes(40, 40, 24, 16), ", u : f32[heads, dim], e : f16[N, dim]",
                    "content * dim^-0.5 + einsum(\"h d, b h j d -> b h j\", u, k)[:, :, None, :] * dim^-0.5 + "
                    "einsum(\"b h i d, j d -> b h i j\", q, e)"),
              kHalf);
}
TEST(GpuKernel, TwoViewsOfOneQuery) {
  // Transformer-XL: (q + u)·k + (q + t)·R, the vectors written as terms of their own.
  expectOnEngines(layer(sizes(90, 90, 16, 16), ", u : f16[heads, dim], t : f16[heads, dim], r : f16[heads, 2*N - 1, dim]",
                    "(content + einsum(\"h d, b h j d -> b h j\", u, k)[:, :, None, :] + "
                    "einsum(\"b h i d, h (j - i + N - 1) d -> b h i j\", q, r, j = N) + "
                    "einsum(\"h d, h (j - i + N - 1) d -> h i j\", t, r, i = N, j = N)) * dim^-0.5"),
              kHalf);
}
TEST(GpuKernel, HeadsShareKeys) {
  expectOnEngines(
      "param N = 40, heads = 4, dim = 16\nsize batch\nkernel layer(q : f16[batch, heads, N, dim], k, v : "
      "f16[batch, 2, N, dim]) -> f16[batch, heads, N, dim] {\n  content = einsum(\"b h i d, b (h // 2) j d -> b "
      "h i j\", q, k)\n  return einsum(\"b h i j, b (h // 2) j d -> b h i d\", softmax(content * dim^-0.5), "
      "v)\n}\n",
      kHalf);
}
TEST(GpuKernel, RunTimeIndices) {
  expectOnEngines(layer(sizes(40, 40, 16, 16), ", seg : i32[batch, N] in 0..1, e : f16[heads, 2, dim]",
                    "(content + einsum(\"b h i d, h (seg[b, i] != seg[b, j]) d -> b h i j\", q, e, j = N)) * dim^-0.5"),
              kHalf);
  expectOnEngines(layer(sizes(40, 70, 16, 16), ", lengths : i32[batch] in 0..70", kPlain, "f16", " where j < lengths[b]"),
              kHalf);
}
TEST(GpuKernel, FieldsOfBits) {
  const std::string words = ", w : i32[batch, 5] in -2147483648..2147483647";
  // Four bits a key pick a row, one bit a key hides it, and so does a bit that both sides choose.
  expectOnEngines(layer(sizes(40, 40, 16, 16), words + ", e : f16[heads, 16, dim]",
                    "(content + einsum(\"b h i d, h (w[b, j // 8] >> 4*(j % 8) & 15) d -> b h i j\", q, e, j = N)) * "
                    "dim^-0.5"),
              kHalf);
  expectOnEngines(layer(sizes(40, 40, 16, 16), words, kPlain, "f16", " where w[b, j // 8] >> j % 8 & 1 == 1 or j == i"), kHalf);
  expectOnEngines(layer(sizes(40, 40, 16, 16), words, kPlain, "f16", " where w[b, (i + j) // 16] & 6 == 2 or j == i"), kHalf);
}
TEST(GpuKernel, CachesOfPackedNumbers) {
  // Keys and values of four bits, eight in a word, with a scale for each key.
  expectOnEngines("param N = 24, M = 40, heads = 2, dim = 16\nsize batch\nkernel layer(q : f16[batch, heads, N, dim], kw, vw : "
              "i32[batch, heads, M, dim // 8] in -2147483648..2147483647, scale : f32[heads, M] ~ 0.05..0.2) -> "
              "f16[batch, heads, N, dim] {\n"
              "  k = einsum(\"b h j d -> b h j d\", ((kw[b, h, j, d // 8] >> 4*(d % 8) & 15) - 8) * scale[h, j], d = dim)\n"
              "  v = einsum(\"b h j d -> b h j d\", ((vw[b, h, j, d // 8] >> 4*(d % 8) & 15) - 8) * scale[h, j], d = dim)\n"
              "  s = einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5\n"
              "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(s), v)\n}\n",
              kHalf);
}
TEST(GpuKernel, OtherLayouts) {
  // Heads inside of positions, as a projection leaves them; the result the same.
  expectOnEngines("param N = 40, heads = 2, dim = 16\nsize batch\nkernel layer(q, k, v : f16[batch, N, heads, dim]) -> "
              "f32[batch, N, heads, dim] {\n  content = einsum(\"b i h d, b j h d -> b h i j\", q, k)\n  return "
              "einsum(\"b h i j, b j h d -> b i h d\", softmax(content * dim^-0.5), v)\n}\n",
              kHalf);
}
TEST(GpuKernel, LargeScores) {
  GpuOptions options;
  options.spread = 30; // one weight a row is 1, the others underflow
  expectOnEngines(layer(sizes(70, 70, 16, 16), "", "content"), kHalf, options);
}
TEST(GpuKernel, NumbersThatAreNone) {
  GpuOptions options;
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "q")
      values[16 * 5] = NAN; // row 5 of the first head
    if (name == "k")
      values[16 * 39] = NAN; // the last key: only row 39 sees it
  };
  GpuOutcome outcome = expectOnEngines(layer(sizes(40, 40, 16, 16), "", kPlain, "f16", " where j <= i"), kHalf, options);
  EXPECT_TRUE(std::isnan(outcome.got[16 * 5]));
  EXPECT_FALSE(std::isnan(outcome.got[16 * 4]));
  EXPECT_TRUE(std::isnan(outcome.got[16 * 39]));
}

TEST(GpuKernel, HiddenValuesMayBeAnything) {
  for (const char *type : {"f16", "bf16"})
    for (const char *mask : {" where j <= i", " where abs(j - i) <= 9", " where j < lengths[b]"}) {
      GpuOptions options;
      options.change = [](const std::string &name, std::vector<double> &values) {
        if (name == "lengths")
          values = {30, 17};
        if (name == "v") { // of the first head
          values[16 * 39 + 3] = NAN;
          values[16 * 38 + 4] = INFINITY;
          values[16 * 37 + 4] = -INFINITY;
          values[16 * 20 + 5] = INFINITY;
          values[16 * 0 + 15] = -INFINITY;
        }
      };
      GpuOutcome outcome =
          expectOnEngines(layer(sizes(40, 40, 16, 16), ", lengths : i32[batch] in 0..40", kPlain, type, mask),
                      std::string(type) == "f16" ? kHalf : kBrain, options);
      EXPECT_TRUE(std::isfinite(outcome.got[16 * 5 + 3])) << "row 5 does not see key 39";
      EXPECT_TRUE(std::isinf(outcome.got[16 * 25 + 5])) << "row 25 sees key 20";
    }
}
TEST(GpuKernel, LogSumExp) {
  for (const char *score : {"content * dim^-0.5", "content * dim^-0.5 + rel1d(q, table)"})
    for (const char *mask : {"", " where j <= i - 3"}) {
      std::string both = std::string(score) + mask;
      expectOnEngines(
          "param N = 90, heads = 2, dim = 16\nsize batch\nkernel layer(q, k, v : f16[batch, heads, N, dim], table : "
          "f16[2*N - 1, dim]) -> (lse : f32[batch, heads, N], out : f16[batch, heads, N, dim]) {\n  content = "
          "einsum(\"b h i d, b h j d -> b h i j\", q, k)\n  return logsumexp(" +
              both + "), einsum(\"b h i j, b h j d -> b h i d\", softmax(" + both + "), v)\n}\n",
          kHalf);
    }
}
TEST(GpuKernel, RowsWithoutKeysAreZero) {
  GpuOutcome outcome = expectOnEngines(layer(sizes(40, 40, 16, 16), "", kPlain, "f16", " where j <= i - 20"), kHalf);
  EXPECT_EQ(outcome.got[16 * 19], 0);
  EXPECT_NE(outcome.got[16 * 20], 0);
}

//===- Faults planted in a kernel ---------------------------------------------------===//

/// Returns the interpreter's report for a kernel with a band, a lookup and a mask, from which one operation of type Op
/// is removed.
template <typename Op> std::vector<gpu::Report> withoutEach() {
  std::string text = layer(sizes(100, 100, 16, 16, 1), ", table : f16[2*N - 1, dim], near : f16[100, dim]",
                           "content + rel1d(q, table) + einsum(\"b h i d, ((3*i + 5*j) % 100) d -> b h i j\", q, near, "
                           "j = N)",
                           "f16", " where j <= i");
  std::vector<gpu::Report> reports;
  for (size_t number = 0;; ++number) {
    GpuOptions options;
    options.size = 1;
    bool found = false;
    options.spoil = [&](mlir::gpu::GPUModuleOp module) {
      std::vector<Op> all;
      module.walk([&](Op op) { all.push_back(op); });
      if ((found = number < all.size()))
        all[number].erase();
    };
    GpuOutcome outcome = GpuLayer(text).run(options);
    if (!found)
      return reports;
    reports.push_back(outcome.report);
  }
}
bool hasRace(const gpu::Report &report) {
  return llvm::any_of(report.faults, [](const gpu::Fault &fault) {
    return fault.kind == gpu::FaultKind::Race || fault.kind == gpu::FaultKind::Uninitialised;
  });
}
TEST(GpuFault, EveryBarrierIsNeeded) {
  std::vector<gpu::Report> reports = withoutEach<mlir::NVVM::Barrier0Op>();
  EXPECT_GE(reports.size(), 3u);
  size_t races = 0;
  for (const gpu::Report &report : reports)
    races += hasRace(report);
  // The first barrier of the table, which follows, replaces the one after the queries.
  EXPECT_GE(races, reports.size() - 1);
}
TEST(GpuFault, EveryWaitIsNeeded) {
  std::vector<gpu::Report> reports = withoutEach<mlir::NVVM::CpAsyncWaitGroupOp>();
  EXPECT_GE(reports.size(), 3u);
  size_t races = 0;
  for (const gpu::Report &report : reports)
    races += hasRace(report);
  // The table's wait, which follows, replaces the one of the queries.
  EXPECT_GE(races, reports.size() - 1);
}
TEST(GpuFault, RowsWithoutPaddingMeetBanksTwice) {
  GpuOptions options;
  options.spoil = [](mlir::gpu::GPUModuleOp module) {
    // 64 elements a row stand 144 bytes apart; 128 bytes would bring eight rows into the same banks.
    module.walk([](mlir::LLVM::ConstantOp op) {
      if (auto value = mlir::dyn_cast<mlir::IntegerAttr>(op.getValue()); value && value.getInt() == 144)
        op.setValueAttr(mlir::IntegerAttr::get(value.getType(), 128));
    });
  };
  GpuLayer compiled(layer(sizes(64, 64, 64, 64, 1), "", kPlain));
  GpuOutcome outcome = compiled.run(options);
  ASSERT_TRUE(outcome.lowered);
  bool conflicts = false;
  for (auto &[operation, use] : outcome.report.banks)
    conflicts |= mlir::isa<mlir::NVVM::LdMatrixOp>(operation) && use.wavefronts >= 8 * use.accesses;
  EXPECT_TRUE(conflicts);
}

} // namespace
