// Compares one kernel for every length up to its bound, run by the interpreter, with the float64 reference of the layer
// at that length.
#include "tests/unit/GpuTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Returns the lengths from 1 to `bound` that are near multiples of tile sizes.
std::vector<Lengths> lengthsTo(int64_t bound) {
  std::vector<Lengths> all;
  for (int64_t length = 1; length <= bound; ++length)
    if (length <= 3 || length % 32 <= 1 || length % 64 == 47 || length + 1 >= bound)
      all.push_back({{"N", length}});
  return all;
}

/// Lowers a layer once and checks it at all of these lengths. Returns its kernels.
gpu::GpuProgram expectRightWith(const std::string &text, const std::vector<Lengths> &all, double tolerance,
                                GpuOptions options) {
  GpuLayer layer(text);
  GpuOutcome lowered = layer.lower(options);
  EXPECT_TRUE(lowered.lowered) << lowered.messages << text;
  gpu::GpuProgram program;
  for (const Lengths &lengths : all) {
    if (::testing::Test::HasFailure())
      break;
    options.lengths = lengths;
    GpuOutcome outcome;
    layer.interpret(options, outcome);
    std::string where = options.engine;
    for (const auto &[name, value] : lengths)
      where += " " + name + " = " + std::to_string(value);
    EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text() << text << where;
    EXPECT_LE(outcome.error, tolerance) << text << where;
    program = outcome.program;
    ++options.order;
  }
  return program;
}

/// Checks a layer at all of these lengths, and at some by wgmma if its operands are narrow. Returns its kernels.
gpu::GpuProgram expectRight(const std::string &text, const std::vector<Lengths> &all, double tolerance,
                            const GpuOptions &options = {}) {
  gpu::GpuProgram program = expectRightWith(text, all, tolerance, options);
  if (!options.fuse || !hasNarrowProducts(text))
    return program;
  std::vector<Lengths> some;
  for (size_t n = 0; n < all.size(); n += std::max<size_t>(1, all.size() / 5))
    some.push_back(all[n]);
  some.push_back(all.back());
  gpu::GpuProgram other = expectRightWith(text, some, tolerance, onWgmma(options));
  EXPECT_EQ(other.launches.size(), program.launches.size()) << text;
  return program;
}

bool isFused(const gpu::GpuProgram &program) {
  return llvm::any_of(program.launches, [](const gpu::GpuLaunch &launch) { return launch.rows > 0; }) &&
         llvm::all_of(program.launches, [](const gpu::GpuLaunch &launch) { return launch.note.empty(); });
}

constexpr double kHalf = 2e-3, kWide = 1e-5;

} // namespace

TEST(GpuLengths, EveryOneOfAPlainLayer) {
  std::vector<Lengths> all;
  for (int64_t length = 1; length <= 150; ++length)
    all.push_back({{"N", length}});
  gpu::GpuProgram program = expectRight(R"(size N <= 150
kernel plain(q, k, v : f16[1, 2, N, 24]) -> f16[1, 2, N, 24] {
  weights = softmax(einsum("b h i d, b h j d -> b h i j", q, k) * 24^-0.5)
  return einsum("b h i j, b h j d -> b h i d", weights, v)
})",
                                        all, kHalf);
  ASSERT_TRUE(isFused(program));
  // The grid has the size that the length needs.
  EXPECT_EQ(program.launches.front().blocks.scaled, 2);
  ASSERT_EQ(program.launches.front().blocks.factors.size(), 1u);
  EXPECT_EQ(skewer::valueOf(program.launches.front().blocks.factors.front(), {{"N", 65}}), 2);
}

TEST(GpuLengths, OfTablesByTheOffset) {
  EXPECT_TRUE(isFused(expectRight(R"(size N <= 150
kernel rel1d(q, k, v : f16[1, 2, N, 16], table : f16[2*N - 1, 16]) -> f16[1, 2, N, 16] {
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = einsum("b h i d, (j - i + N - 1) d -> b h i j", q, table)
  return einsum("b h i j, b h j d -> b h i d", softmax((content + position) * 0.25), v)
})",
                                  lengthsTo(150), kHalf)));
  EXPECT_TRUE(isFused(expectRight(R"(size N <= 100
kernel reversed(q, k, v : f16[1, 2, N, 16], table : f16[2, 2*N - 1, 16]) -> f16[1, 2, N, 16] {
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = einsum("b h i d, h (i - j + N - 1) d -> b h i j", q, table)
  return einsum("b h i j, b h j d -> b h i d", softmax((content + position) * 0.25 where j <= i), v)
})",
                                  lengthsTo(100), kHalf)));
}

TEST(GpuLengths, OfBucketsAndLines) {
  EXPECT_TRUE(isFused(expectRight(R"(size N <= 160
kernel t5(q, k, v : f16[1, 3, N, 16], table : f32[32, 3]) -> f16[1, 3, N, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  return einsum("b h i j, b h j d -> b h i d", softmax(content * 0.25 + t5(table)), v)
})",
                                  lengthsTo(160), kHalf)));
  EXPECT_TRUE(isFused(expectRight(R"(size N <= 70
kernel line(q, k, v : f32[2, 3, N, 16], table : f32[3, 2*N - 1]) -> f32[2, 3, N, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  bias = einsum("h (j - i + N - 1) -> h i j", table, j = N, i = N)
  return einsum("b h i j, b h j d -> b h i d", softmax(content * 0.25 + bias), v)
})",
                                  lengthsTo(70), kWide)));
}

TEST(GpuLengths, OfQueriesAndKeysApart) {
  std::vector<Lengths> all;
  for (int64_t queries : {1, 15, 50})
    for (int64_t keys : {1, 33, 64, 80})
      all.push_back({{"M", queries}, {"N", keys}});
  EXPECT_TRUE(isFused(expectRight(R"attn(size M <= 50, N <= 80
kernel cross(q : f16[2, M, 16], k, v : f16[2, N, 16], table : f16[M + N - 1, 16])
    -> (out : f32[2, M, 16], lse : f32[2, M]) {
  content  = einsum("h i d, h j d -> h i j", q, k)
  position = einsum("h i d, (j - i + M - 1) d -> h i j", q, table)
  score    = (content + position) * 0.25
  return einsum("h i j, h j d -> h i d", softmax(score), v), logsumexp(score)
})attn",
                                  all, kHalf)));
}

TEST(GpuLengths, OfARunTimeBatchAndMasks) {
  EXPECT_TRUE(isFused(expectRight(R"(size batch
size N <= 90
kernel masked(q, k, v : f16[batch, 2, N, 16], ends : i32[batch] in 1..N) -> f16[batch, 2, N, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  weights = softmax(content * 0.25 where i - j <= 20 and j < ends[b])
  return einsum("b h i j, b h j d -> b h i d", weights, v)
})",
                                  lengthsTo(90), kHalf)));
}

TEST(GpuLengths, OfMaps) {
  std::vector<Lengths> all;
  for (int64_t height : {1, 2, 7, 16, 17})
    all.push_back({{"H", height}});
  EXPECT_TRUE(isFused(expectRight(R"attn(param W = 9
size H <= 17
kernel map(q, k, v : f16[2, H*W, 16], rows : f16[2*H - 1, 16], columns : f16[2*W - 1, 16]) -> f16[2, H*W, 16] {
  content = einsum("h i d, h j d -> h i j", q, k)
  up      = einsum("h (iy ix) d, (jy - iy + H - 1) d -> h (iy ix) (jy jx)", q, rows, iy = H, jy = H, jx = W)
  side    = einsum("h (iy ix) d, (jx - ix + W - 1) d -> h (iy ix) (jy jx)", q, columns, iy = H, jy = H, jx = W)
  return einsum("h i j, h j d -> h i d", softmax((content + up + side) * 0.25), v)
})attn",
                                  all, kHalf)));
}

TEST(GpuLengths, OfProjections) {
  gpu::GpuProgram program = expectRight(R"(size N <= 70
kernel projected(x : f16[2, N, 32], wq, wk, wv : f16[32, 2, 16]) -> f16[2, N, 2, 16] {
  q = einsum("b i c, c h d -> b h i d", x, wq)
  k = einsum("b j c, c h d -> b h j d", x, wk)
  v = einsum("b j c, c h d -> b h j d", x, wv)
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  return einsum("b h i j, b h j d -> b i h d", softmax(content * 0.25), v)
})",
                                        lengthsTo(70), 4e-3);
  EXPECT_TRUE(isFused(program));
  EXPECT_TRUE(llvm::any_of(program.launches, [](const gpu::GpuLaunch &launch) { return launch.title == "matmul"; }));
}

TEST(GpuLengths, ByRows) {
  GpuOptions rows;
  rows.fuse = false;
  expectRight(R"(size N <= 70
kernel rel1d(q, k, v : f16[1, 2, N, 16], table : f16[2*N - 1, 16]) -> f16[1, 2, N, 16] {
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = einsum("b h i d, (j - i + N - 1) d -> b h i j", q, table)
  return einsum("b h i j, b h j d -> b h i d", softmax((content + position) * 0.25), v)
})",
              lengthsTo(70), kHalf, rows);
}

// A cache followed by new tokens, which another kernel joins.
TEST(GpuLengths, OfPartsOneBehindTheOther) {
  expectRight(R"(size N <= 70
kernel cached(q, kn, vn : f16[1, 2, 5, 16], kc, vc : f16[1, 2, N, 16]) -> f16[1, 2, 5, 16] {
  s = einsum("b h i d, b h j d -> b h i j", q, concat(kc, kn, dim = 2)) * 0.25 where j <= i + N
  return einsum("b h i j, b h j d -> b h i d", softmax(s), concat(vc, vn, dim = 2))
})",
              lengthsTo(70), kHalf);
}

TEST(GpuLengths, OfRowsThatOffsetsPick) {
  // Shaw et al.: clipped offsets, keys and values; the rows that keys meet go by keys.
  for (const char *type : {"f16", "f32"}) {
    std::string t = type;
    gpu::GpuProgram program = expectRight("size N <= 150\nkernel shaw(q, k, v : " + t + "[2, N, 24], rk, rv : " + t +
                                              R"attn([11, 24]) -> f32[2, N, 24] {
  score   = einsum("h i d, h j d -> h i j", q, k) + einsum("h i d, (clamp(j - i, -5, 5) + 5) d -> h i j", q, rk)
  weights = softmax(score * 24^-0.5)
  return einsum("h i j, h j d -> h i d", weights, v)
         + einsum("h i j, (clamp(j - i, -5, 5) + 5) d -> h i d", weights, rv)
})attn",
                                          lengthsTo(150), t == "f16" ? kHalf : kWide);
    EXPECT_TRUE(isFused(program));
  }
  EXPECT_TRUE(isFused(expectRight(R"attn(size N <= 100
kernel buckets(q, k, v : f16[2, N, 16], t, s, u : f16[32, 16]) -> f16[2, N, 16] {
  score   = einsum("h i d, h j d -> h i j", q, k) + einsum("h i d, (t5_bucket(j - i, 32)) d -> h i j", q, t)
            + einsum("h j d, (t5_bucket(i - j, 32)) d -> h i j", k, s)
  weights = softmax(score * 0.25 where j <= i + 7)
  return einsum("h i j, h j d -> h i d", weights, v) + einsum("h i j, (t5_bucket(j - i, 32)) d -> h i d", weights, u)
})attn",
                                  lengthsTo(100), kHalf)));
  // VITS: a window of offsets, and nothing outside it; DeBERTa's many clipped rows.
  EXPECT_TRUE(isFused(expectRight(R"attn(size N <= 100
kernel window(q, k, v : f16[2, N, 16], rk, rv : f16[9, 16]) -> f16[2, N, 16] {
  score   = einsum("h i d, h j d -> h i j", q, k)
            + einsum("h i d, (j - i + 4) d -> h i j", q, rk, where = abs(j - i) <= 4)
  weights = softmax(score * 0.25)
  return einsum("h i j, h j d -> h i d", weights, v)
         + einsum("h i j, (j - i + 4) d -> h i d", weights, rv, where = abs(j - i) <= 4)
})attn",
                                  lengthsTo(100), kHalf)));
  EXPECT_TRUE(isFused(expectRight(R"attn(size N <= 100
kernel wide(q, k, v : f16[2, N, 16], rk : f16[161, 16], rv : f16[2, N, 16]) -> f16[2, N, 16] {
  score   = einsum("h i d, h j d -> h i j", q, k) + einsum("h i d, (clamp(j - i, -80, 80) + 80) d -> h i j", q, rk)
  weights = softmax(score * 0.25)
  return einsum("h i j, h j d -> h i d", weights, v) + einsum("h i j, h j d -> h i d", weights, rv)
})attn",
                                  lengthsTo(100), kHalf)));
}

/// Rows that the length itself picks for the values are read for each pair: the result is right, and does not go by
/// rows.
TEST(GpuLengths, OfRowsOfAWholeTableInTheValues) {
  EXPECT_TRUE(isFused(expectRight(R"attn(size N <= 70
kernel whole(q, k, v : f16[2, N, 16], t, u : f16[2*N - 1, 16]) -> f16[2, N, 16] {
  score   = einsum("h i d, h j d -> h i j", q, k) + einsum("h i d, (j - i + N - 1) d -> h i j", q, t)
  weights = softmax(score * 0.25)
  return einsum("h i j, h j d -> h i d", weights, v) + einsum("h i j, (j - i + N - 1) d -> h i d", weights, u)
})attn",
                                  lengthsTo(70), kHalf)));
}

/// A table is as long as the length, and functions of positions pick the first half of its rows: no row behind its end
/// is read.
TEST(GpuLengths, OfRowsThatTheLengthEnds) {
  for (std::string row : {"abs(j - i) // 2", "max(i, j) // 2", "max(i, j) // 2 + 1"})
    EXPECT_TRUE(isFused(expectRight(R"attn(size N <= 100
kernel half(q, k, v : f16[2, N, 16], r : f16[N + 1, 16]) -> f16[2, N, 16] {
  score = einsum("h i d, h j d -> h i j", q, k) + einsum("h i d, ()attn" + row + R"attn() d -> h i j", q, r)
  return einsum("h i j, h j d -> h i d", softmax(score * 0.25), v)
})attn",
                                    lengthsTo(100), kHalf)))
        << row;
  EXPECT_TRUE(isFused(expectRight(R"attn(size N <= 100
kernel keys(q, k, v : f16[2, N, 16], r : f16[N, 16]) -> f16[2, N, 16] {
  score = einsum("h i d, h j d -> h i j", q, k) + einsum("h j d, (abs(j - i) // 2) d -> h i j", k, r)
  return einsum("h i j, h j d -> h i d", softmax(score * 0.25), v)
})attn",
                                  lengthsTo(100), kHalf)));
}

/// Rows of the axes of a map whose height is the length: looked up for each score, or once if a tile is inside a row of
/// the map, or has whole rows of it.
TEST(GpuLengths, OfRowsOfMapsInScoresAndValues) {
  for (auto [width, keys] : {std::pair(7, 64), std::pair(8, 32), std::pair(16, 16)}) {
    std::vector<Lengths> all;
    for (int64_t height : {1, 2, 5, 8, 9})
      all.push_back({{"H", height}});
    GpuOptions options;
    options.keys = keys;
    EXPECT_TRUE(isFused(expectRight("param W = " + std::to_string(width) + R"attn(
size H <= 9
kernel map(q, k, v : f16[2, H*W, 16], rh, rw : f16[9, 16], u : f16[9, 16]) -> f16[2, H*W, 16] {
  score   = einsum("h i d, h j d -> h i j", q, k)
            + einsum("h (iy ix) d, (clamp(jy - iy, -4, 4) + 4) d -> h (iy ix) (jy jx)", q, rh, ix = W, jx = W, jy = H)
            + einsum("h (iy ix) d, (clamp(jx - ix, -4, 4) + 4) d -> h (iy ix) (jy jx)", q, rw, ix = W, jx = W, jy = H)
  weights = softmax(score * 0.25)
  return einsum("h i j, h j d -> h i d", weights, v)
         + einsum("h (iy ix) (jy jx), (clamp(jy - iy, -4, 4) + 4) d -> h (iy ix) d", weights, u, ix = W, jx = W)
})attn",
                                    all, kHalf, options)));
  }
}

/// Rows picked by index operands whose range depends on the length. An element outside the range counts as the nearest
/// one inside it at this length, and nothing outside the table is read.
TEST(GpuLengths, OfRangesOfIndexOperands) {
  const char *text = R"attn(size N <= 100
kernel picked(q, k, v : f16[2, N, 16], table : f16[2*N + 1, 16], last : i32[2, N] in 0..2*N) -> f16[2, N, 16] {
  score = einsum("h i d, h j d -> h i j", q, k) + einsum("h i d, (last[h, j]) d -> h i j", q, table)
  return einsum("h i j, h j d -> h i d", softmax(score * 0.25), v)
})attn";
  expectRight(text, lengthsTo(100), kHalf);
  GpuLayer layer(text);
  GpuOptions options;
  options.lengths = {{"N", 33}};
  auto set = [](double last) {
    return [last](const std::string &name, std::vector<double> &values) {
      if (name == "last")
        values.assign(values.size(), last);
    };
  };
  options.change = set(66), options.changeForKernel = set(200);
  GpuOutcome outcome = layer.lower(options);
  ASSERT_TRUE(outcome.lowered) << outcome.messages;
  layer.interpret(options, outcome);
  EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
  EXPECT_LE(outcome.error, kHalf);
}
