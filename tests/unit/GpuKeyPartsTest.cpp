// Tests keys that blocks divide among themselves, and the kernel that joins their results; caches in pages. Compares
// the interpreter with the float64 reference.
#include "passes/Gpu/KeyParts.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "tests/unit/GpuTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

constexpr double kHalf = 2e-3, kBrain = 1e-2, kWide = 1e-5;

GpuOptions inParts(int64_t parts, int64_t keys = 16, int64_t rows = 16) {
  GpuOptions options;
  options.rows = rows;
  options.keys = keys;
  options.keyParts = parts;
  return options;
}

/// Returns a layer of heads in groups, each with one cache of keys whose lengths are known at run time.
std::string decode(const std::string &type, int64_t queries, int64_t keys, const std::string &least = "Nq") {
  return "param Nq = " + std::to_string(queries) + ", C = " + std::to_string(keys) +
         R"(, heads = 6, groups = 2, dim = 24
kernel decode(q : )" +
         type + "[2, heads, Nq, dim], k, v : " + type + "[2, groups, C, dim], lengths : i32[2] in " + least +
         R"(..C) -> f32[2, heads, Nq, dim] {
  gq     = rearrange(q, "b (g m) i d -> b g m i d", g = groups)
  scores = einsum("b g m i d, b g j d -> b g m i j", gq, k) * dim^-0.5
  out    = einsum("b g m i j, b g j d -> b g m i d", softmax(scores where j <= lengths[b] - Nq + i), v)
  return rearrange(out, "b g m i d -> b (g m) i d")
}
)";
}

void setLengths(GpuOptions &options, std::vector<double> lengths) {
  options.change = [lengths](const std::string &name, std::vector<double> &values) {
    if (name == "lengths")
      values = lengths;
  };
}

size_t joins(const GpuOutcome &outcome) {
  return size_t(
      llvm::count_if(outcome.program.launches, [](const gpu::GpuLaunch &launch) { return launch.title == "join"; }));
}

} // namespace

TEST(GpuKeyParts, OfEveryTypeAndNumber) {
  for (int64_t parts : {2, 3, 7}) {
    EXPECT_EQ(joins(expectOnEngines(decode("f16", 1, 200), kHalf, inParts(parts))), 1u);
    EXPECT_EQ(joins(expectOnEngines(decode("bf16", 1, 200), kBrain, inParts(parts))), 1u);
    EXPECT_EQ(joins(expectOnEngines(decode("f32", 1, 200), kWide, inParts(parts))), 1u);
  }
  EXPECT_EQ(joins(expectOnEngines(decode("f16", 1, 200), kHalf, inParts(1))), 0u);
}

/// A layer has more parts than are read at once.
TEST(GpuKeyParts, OfManyParts) {
  for (int64_t parts : {32, 34, 37, 48})
    EXPECT_EQ(joins(expectOnEngines(decode("f16", 1, 800), kHalf, inParts(parts))), 1u) << parts;
}
TEST(GpuKeyParts, OfShortAndEmptyRows) {
  for (double length : {0, 1, 15, 16, 17, 33, 199, 200}) {
    GpuOptions options = inParts(4);
    setLengths(options, {length, 200 - length});
    expectOnEngines(decode("f16", 1, 200, "0"), kHalf, options);
  }
}

TEST(GpuKeyParts, OfSeveralQueriesAndSingleBuffers) {
  for (int64_t stages : {1, 2, 3}) {
    GpuOptions options = inParts(3, 32, 32);
    options.stages = stages;
    options.keepQueries = stages != 1;
    expectOnEngines(decode("f16", 5, 150), kHalf, options);
    options.warpRows = 32;
    expectOnEngines(decode("f32", 5, 150), kWide, options);
  }
}

TEST(GpuKeyParts, OfRowsWhoseSumsAreAsked) {
  expectOnEngines(R"attn(param C = 160
kernel withSums(q : f16[3, 4, 16], k, v : f16[3, C, 16], lengths : i32[3] in 0..C)
    -> (out : f16[3, 4, 16], lse : f32[3, 4]) {
  score = einsum("b i d, b j d -> b i j", q, k) * 0.25
  kept  = softmax(score where j < lengths[b])
  return einsum("b i j, b j d -> b i d", kept, v), logsumexp(score where j < lengths[b])
})attn",
                  kHalf, inParts(3));
}

TEST(GpuKeyParts, OfDirectWeights) {
  expectOnEngines(R"attn(param C = 160
kernel gated(q : bf16[3, 4, 16], k, v : bf16[3, C, 16], lengths : i32[3] in 1..C) -> f32[3, 4, 16] {
  score = einsum("b i d, b j d -> b i j", q, k) * 0.25
  return einsum("b i j, b j d -> b i d", sigmoid(score) if j < lengths[b] else 0, v)
})attn",
                  kBrain, inParts(5));
}

TEST(GpuKeyParts, OfTermsAndWindows) {
  // A bias by the distance, a sliding window, and a number of each row that the score goes through.
  expectOnEngines(R"attn(param C = 160
kernel windowed(q : f16[3, 4, 16], k, v : f16[3, C, 16], slope : f32[3]) -> f32[3, 4, 16] {
  score = einsum("b i d, b j d -> b i j", q, k) * 0.25 + slope[b] * (j - i - 150)
  return einsum("b i j, b j d -> b i d", softmax(30 * tanh(score / 30) where j - i <= 150 and j - i > 40), v)
})attn",
                  kHalf, inParts(3));
  // Tiles that a table lists.
  expectOnEngines(R"attn(param C = 192
kernel blocks(q : f16[2, 8, 16], k, v : f16[2, C, 16]) -> f32[2, 8, 16] {
  score = einsum("b i d, b j d -> b i j", q, k) * 0.25
  return einsum("b i j, b j d -> b i d", softmax(score where j floordiv 48 mod 2 == 0), v)
})attn",
                  kHalf, inParts(3));
}

TEST(GpuKeyParts, OfWideValues) {
  GpuOptions options = inParts(2);
  options.columns = 32;
  expectOnEngines(R"attn(param C = 64
kernel wide(q : f16[2, 4, 16], k : f16[2, C, 16], v : f16[2, C, 72]) -> (out : f32[2, 4, 72], lse : f32[2, 4]) {
  score = einsum("b i d, b j d -> b i j", q, k) * 0.25
  return einsum("b i j, b j d -> b i d", softmax(score), v), logsumexp(score)
})attn",
                  kHalf, options);
}

TEST(GpuKeyParts, OfRunTimeSizes) {
  GpuLayer layer(R"attn(size batch
size M <= 9, N <= 140
kernel cross(q : f16[batch, M, 16], k, v : f16[batch, N, 16], ends : i32[batch] in 1..N)
    -> (out : f32[batch, M, 16], lse : f32[batch, M]) {
  score = einsum("b i d, b j d -> b i j", q, k) * 0.25
  return einsum("b i j, b j d -> b i d", softmax(score where j < ends[b]), v), logsumexp(score where j < ends[b])
})attn");
  GpuOptions options = inParts(3);
  options.size = 3;
  GpuOutcome lowered = layer.lower(options);
  ASSERT_TRUE(lowered.lowered) << lowered.messages;
  for (int64_t queries : {1, 8, 9})
    for (int64_t keys : {1, 16, 47, 48, 49, 139, 140}) {
      options.lengths = {{"M", queries}, {"N", keys}};
      GpuOutcome outcome;
      layer.interpret(options, outcome);
      EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
      EXPECT_LE(outcome.error, kHalf) << queries << " queries, " << keys << " keys";
    }
}

TEST(GpuKeyParts, WhatIsHiddenMayBeNaN) {
  GpuOptions options = inParts(4);
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "lengths")
      values = {40, 90};
    if (name != "k" && name != "v")
      return;
    for (size_t n = 0; n < values.size(); ++n) // [2, groups, C, dim]
      if (int64_t key = int64_t(n) / 24 % 200, row = int64_t(n) / (24 * 200 * 2); key > (row ? 90 : 40))
        values[n] = NAN;
  };
  expectOnEngines(decode("f16", 1, 200), kHalf, options);
}

TEST(GpuKeyParts, AreRefusedWhereABlockHasNotAllQueries) {
  GpuLayer layer(decode("f16", 8, 200)); // 24 queries of a group
  GpuOutcome outcome = layer.run(inParts(2));
  EXPECT_FALSE(outcome.lowered);
  EXPECT_NE(
      outcome.messages.find("keys are asked to be in 2 parts, but that is for blocks that have all queries: 24 are "
                            "more than 16 rows"),
      std::string::npos)
      << outcome.messages;
  GpuLayer small(decode("f16", 1, 100));
  outcome = small.run(inParts(9));
  EXPECT_FALSE(outcome.lowered);
  EXPECT_NE(outcome.messages.find("100 keys are 7 steps of 16"), std::string::npos) << outcome.messages;
}

TEST(GpuKeyParts, TakeATileThatHasAllQueries) {
  GpuOptions options = inParts(2, 0, 0);
  options.stages = 0;
  options.keepQueries = std::nullopt;
  GpuOutcome outcome = expectOnEngines(decode("f16", 8, 200), kHalf, options);
  EXPECT_GE(outcome.launch.rows, 24);
  EXPECT_EQ(joins(outcome), 1u);
}

TEST(GpuKeyParts, AreChosenWhereBlocksAreFew) {
  auto chosen = [](const std::string &text, const char *target) {
    GpuLayer layer(text);
    auto shape = layer.shape();
    EXPECT_TRUE(shape) << text;
    return shape ? candidatesOf(*shape, *gpu::findGpuMachine(target), {}).front().tile.keyParts : 0;
  };
  for (const char *target : {"sm_80", "sm_90a"}) {
    EXPECT_GT(chosen(decode("bf16", 1, 4096), target), 4) << target;
    EXPECT_EQ(chosen(decode("bf16", 1, 200), target), 1) << target;    // too few keys
    EXPECT_EQ(chosen(decode("bf16", 256, 4096), target), 1) << target; // too many queries for one block
  }
  // The speed of parts grows with the width of the device.
  GpuLayer layer(decode("bf16", 1, 4096));
  auto shape = layer.shape();
  ASSERT_TRUE(shape);
  gpu::GpuMachine machine = *gpu::findGpuMachine("sm_80");
  gpu::GpuDevice device = gpu::gpuDevicesOf("sm_80").front();
  gpu::GpuPrediction best = candidatesOf(*shape, machine, {}).front();
  gpu::GpuTile whole = best.tile;
  whole.keyParts = 1;
  EXPECT_LT(4 * secondsOn(*shape, best, machine, device),
            secondsOn(*shape, predict(*shape, whole, machine), machine, device));
}

//===- Pages -----------------------------------------------------------------------===//

static std::string paged(const std::string &type, int64_t page, int64_t pages) {
  return "param pages = 40, page = " + std::to_string(page) + ", maxp = " + std::to_string(pages) +
         R"attn(, heads = 4, groups = 2, dim = 24
kernel paged(q : )attn" +
         type + "[2, heads, dim], kc, vc : " + type +
         R"attn([pages, groups, page, dim], block : i32[2, maxp] in 0..pages-1,
             lengths : i32[2] in 1..maxp*page) -> f32[2, heads, dim] {
  gq      = rearrange(q, "b (g m) d -> b g m d", g = groups)
  scores  = einsum("b g m d, (block[b, p]) g s d -> b g m (p s)", gq, kc, p = maxp) * dim^-0.5
  weights = softmax(scores where p*page + s < lengths[b])
  out     = einsum("b g m (p s), (block[b, p]) g s d -> b g m d", weights, vc, p = maxp)
  return rearrange(out, "b g m d -> b (g m) d")
}
)attn";
}

TEST(GpuPages, TilesInAPageAndAcross) {
  struct Case {
    int64_t page, pages, keys;
  };
  for (auto [page, pages, keys] :
       {Case{32, 5, 16}, Case{32, 5, 32}, Case{16, 9, 32}, Case{10, 13, 32}, Case{1, 90, 16}})
    for (int64_t parts : {1, 3}) {
      GpuOutcome outcome = expectOnEngines(paged("f16", page, pages), kHalf, inParts(parts, keys));
      EXPECT_EQ(outcome.program.launches.front().title, "attention") << outcome.program.launches.front().note;
      EXPECT_EQ(joins(outcome), parts == 1 ? 0u : 1u);
    }
  expectOnEngines(paged("f32", 32, 4), kWide, inParts(2));
  GpuOptions single = inParts(1, 32);
  single.stages = 1;
  expectOnEngines(paged("f16", 32, 4), kHalf, single);
}

TEST(GpuPages, KeysGatheredByIndex) {
  // Top-k keys of each query, as sparse attentions gather them.
  expectOnEngines(R"attn(param N = 120, K = 40
kernel gathered(q : f16[3, 4, 16], k, v : f16[N, 16], chosen : i32[3, K] in 0..N-1) -> f32[3, 4, 16] {
  score = einsum("b i d, (chosen[b, t]) d -> b i t", q, k, t = K) * 0.25
  return einsum("b i t, (chosen[b, t]) d -> b i d", softmax(score), v, t = K)
})attn",
                  kHalf, inParts(1));
}

TEST(GpuPages, KeysThatEachQueryNames) {
  // Each query has keys of its own, and all heads share them: the heads are rows of one tile (DeepSeek-V3.2).
  GpuOutcome outcome = expectOnEngines(R"attn(param N = 37, K = 23, heads = 4, c = 32, r = 8
kernel dsa(q : bf16[2, N, heads, c + r], kv : bf16[2, N, c + r], top : i32[2, N, K] in 0..N-1) -> f32[2, N, heads, c] {
  s = einsum("b i h d, b (top[b, i, t]) d -> b i h t", q, kv) * 24^-0.5
  w = softmax(s where top[b, i, t] <= i)
  return einsum("b i h t, b (top[b, i, t]) d -> b i h d", w, kv[:, :, :c])
})attn",
                                       kBrain, inParts(1));
  EXPECT_TRUE(llvm::any_of(outcome.program.launches, [](const gpu::GpuLaunch &launch) { return launch.rows > 0; }));
}

TEST(GpuKeyParts, OfLatentsThatAllHeadsShare) {
  // The latent is key and value, next to a key of positions (DeepSeek-V2, absorbed).
  GpuOutcome outcome = expectOnEngines(R"attn(param Nq = 3, Nk = 89, heads = 5, latent = 40, rd = 8
kernel mla(q : f16[2, heads, Nq, latent], q_pe : f16[2, heads, Nq, rd], c : f16[2, Nk, latent], k_pe : f16[2, Nk, rd],
           lengths : i32[2] in Nq..Nk) -> f32[2, heads, Nq, latent] {
  scores = (einsum("b h i c, b j c -> b h i j", q, c) + einsum("b h i r, b j r -> b h i j", q_pe, k_pe)) * 0.2
  return einsum("b h i j, b j c -> b h i c", softmax(scores where j <= lengths[b] - Nq + i), c)
})attn",
                                       kHalf, inParts(3, 16, 16));
  EXPECT_EQ(joins(outcome), 1u);
}

TEST(GpuPages, WithBiasesWindowsAndCaps) {
  const std::string head = R"attn(param pages = 11, page = 16, maxp = 6, heads = 4, groups = 2, dim = 24, Nq = 3
kernel paged(q : f16[2, Nq, heads, dim], kc, vc : f16[pages, page, groups, dim], block : i32[2, maxp] in 0..pages-1,
             lengths : i32[2] in Nq..maxp*page)attn",
                    query = R"attn() -> f32[2, Nq, heads, dim] {
  gq    = rearrange(q, "b i (g m) d -> b g m i d", g = groups)
  score = einsum("b g m i d, (block[b, p]) s g d -> b g m i (p s)", gq, kc, p = maxp) * dim^-0.5
)attn",
                    tail = R"attn(
  out   = einsum("b g m i (p s), (block[b, p]) s g d -> b g m i d", weights, vc, p = maxp)
  return rearrange(out, "b g m i d -> b i (g m) d")
})attn";
  const std::pair<const char *, const char *> layers[] = {
      {", slope : f32[heads]", "  sl = rearrange(slope, \"(g m) -> g m\", g = groups)\n"
                               "  weights = softmax(score + sl[g, m] * (p*page + s - lengths[b] + Nq - i) where p*page "
                               "+ s <= lengths[b] - Nq + i)"},
      {"", "  weights = softmax(20 * tanh(score / 20) where p*page + s <= lengths[b] - Nq + i and "
           "p*page + s > lengths[b] - Nq + i - 30)"},
      {"", "  weights = softmax(score where p*page + s <= lengths[b] - Nq + i and (p + i) % 3 != 1)"}};
  for (const auto &[more, weights] : layers)
    for (int64_t parts : {1, 4}) {
      GpuOutcome outcome = expectOnEngines(head + more + query + weights + tail, kHalf, inParts(parts));
      EXPECT_TRUE(llvm::any_of(outcome.program.launches, [](const gpu::GpuLaunch &launch) { return launch.rows > 0; }))
          << weights << outcome.program.launches.front().note;
    }
}

TEST(GpuPages, BlocksThatAreChosenForEachHead) {
  expectOnEngines(R"attn(param N = 96, B = 16, T = 3
kernel chosen(q : f32[2, 4, 5, 20], k, v : f32[2, N, 20], blocks : i32[2, 4, T] in 0..N/B-1) -> f32[2, 4, 5, 20] {
  score = einsum("b h i d, b (B*blocks[b, h, t] + s) d -> b h i (t s)", q, k, t = T, s = B) * 20^-0.5
  return einsum("b h i (t s), b (B*blocks[b, h, t] + s) d -> b h i d", softmax(score), v, t = T, s = B)
})attn",
                  kWide, inParts(2));
}

/// A hidden value is NaN, so one block computes its rows again, with fewer keys in a step. It must take the keys of its
/// own part. The masks give an interval of tiles, a list of tiles, and both ends of the keys.
TEST(GpuKeyParts, BlocksThatComputeAgainHaveTheirPart) {
  unsigned order = 0;
  for (const char *mask : {"j < n[b]", "j < n[b] and j >= n[b] - 70", "j <= i + 100", "(i + j // 24) % 3 != 1",
                           "(i // 8 + j // 24) % 3 != 1 and j < n[b]"})
    for (int64_t keys : {144, 150})
      for (int64_t parts : {2, 3, 5}) {
        std::string text = "param Nq = 20, N = " + std::to_string(keys) +
                           ", dim = 16\nkernel again(q : f16[2, Nq, dim], k, v : f16[2, N, dim], n : i32[2] in 90..N) "
                           "-> f16[2, Nq, dim] {\n  s = einsum(\"b i d, b j d -> b i j\", q, k) * 0.25\n"
                           "  return einsum(\"b i j, b j e -> b i e\", softmax(s where " +
                           mask + "), v)\n}\n";
        GpuOptions options = onWgmma(inParts(parts), order % 2 ? "wgmma" : "wgmma_ahead");
        options.rows = 64, options.keys = parts == 5 ? 16 : 32 << order % 2;
        options.order = order++;
        options.change = [&](const std::string &name, std::vector<double> &values) {
          if (name == "n")
            values = {113, 97};
          if (name == "v" && mask[0] == 'j') // of the first key that no mask shows to all queries
            values[size_t(16 * 113)] = values[size_t(16 * (keys + 97))] = NAN;
          else if (name == "v")
            values[size_t(16 * 30 + 3)] = NAN;
        };
        expectOnGpu(text, kHalf, options);
      }
}

TEST(GpuKeyParts, OfCachesOfBytesAndOfWhatIsNew) {
  for (std::string type : {"i8", "f8e4m3"})
    expectOnEngines("param Nq = 2, N = 90, heads = 3, dim = 24\n"
                    "kernel bytes(q : f32[2, heads, Nq, dim], k, v : " +
                        type + R"attn([2, heads, N, dim], ks, vs : f32[2, heads, N] ~ 0.01,
             lengths : i32[2] in 0..N) -> f32[2, heads, Nq, dim] {
  s = einsum("b h i d, b h j d -> b h i j", q, k * ks[..., None]) * 24^-0.5
  return einsum("b h i j, b h j e -> b h i e", softmax(s where j < lengths[b]), v * vs[..., None])
})attn",
                    kWide, inParts(3));
  expectOnEngines(R"attn(param Nq = 2, C = 90, heads = 3, dim = 24
kernel appended(q, kn, vn : f16[2, heads, Nq, dim], k, v : f16[2, heads, C, dim]) -> f32[2, heads, Nq, dim] {
  s = einsum("b h i d, b h j d -> b h i j", q, concat(k, kn, dim = 2)) * 24^-0.5
  return einsum("b h i j, b h j e -> b h i e", softmax(s where j <= C + i), concat(v, vn, dim = 2))
})attn",
                  kHalf, inParts(3));
}

TEST(GpuPages, BesideRowsByTheOffset) {
  for (const char *type : {"f16", "f32"}) {
    std::string text = R"(param N = 40, heads = 2, dim = 16
kernel p(q : TYPE[heads, N, dim], k, v : TYPE[heads, 64, dim], r : TYPE[79, dim], pick : i32[40] in 0..63)
    -> f32[heads, N, dim] {
  s = einsum("h i d, h (pick[j]) d -> h i j", q, k) + einsum("h i d, (j - i + 39) d -> h i j", q, r)
  return einsum("h i j, h (pick[j]) d -> h i d", softmax(s * dim^-0.5), v)
})";
    for (size_t at; (at = text.find("TYPE")) != std::string::npos;)
      text.replace(at, 4, type);
    GpuOutcome outcome = expectOnEngines(text, type == std::string("f32") ? kWide : kHalf, inParts(1, 16, 64));
    EXPECT_EQ(outcome.program.launches.front().title, "attention") << outcome.program.launches.front().note;
  }
}

TEST(GpuPages, TilesAreChosenToLieInPages) {
  GpuLayer layer(paged("bf16", 32, 5));
  auto shape = layer.shape();
  ASSERT_TRUE(shape);
  for (const gpu::GpuPrediction &candidate : candidatesOf(*shape, *gpu::findGpuMachine("sm_80"), {}))
    EXPECT_EQ(32 % candidate.tile.keys, 0);
}
