// Runs layers as programs of several GPU kernels in the interpreter: the numbers are the float64 reference's, and there
// is no fault.
#include "tests/unit/GpuTesting.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

constexpr double kHalf = 3e-3, kSingle = 2e-5;

std::vector<std::string> titles(const GpuOutcome &outcome) {
  std::vector<std::string> result;
  for (const gpu::GpuLaunch &launch : outcome.program.launches)
    result.push_back(launch.title);
  return result;
}
using Titles = std::vector<std::string>;

const std::string kAttend = "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(content), v)\n}\n";

TEST(GpuStages, TurnedQueriesAndKeys) {
  std::string text = "param N = 70, heads = 2, dim = 32\nsize batch\nkernel turned(q, k, v : f16[batch, heads, N, dim])"
                     " -> f16[batch, heads, N, dim] {\n"
                     "  content = einsum(\"b h i d, b h j d -> b h i j\", rope_half(q), rope_half(k)) * dim^-0.5\n" +
                     kAttend;
  GpuOutcome outcome = expectOnGpu(text, kHalf);
  // The same tables of cosines and sines turn both.
  size_t constants = 0;
  for (size_t at = 0; (at = outcome.ir.find("llvm.mlir.global internal constant", at)) != std::string::npos; ++at)
    ++constants;
  EXPECT_EQ(constants, 2u);
  EXPECT_EQ(titles(outcome), (Titles{"elementwise", "elementwise", "attention"}));
  // Queries and keys are stored in the type of the products, f16.
  EXPECT_EQ(outcome.program.workspace.scaled, 2 * 2 * 70 * 32 * 2);
  EXPECT_GT(outcome.report.matrixSteps, 0);
}
TEST(GpuStages, TablesGivenAndVectorsAdded) {
  std::string text =
      "param N = 50, heads = 2, dim = 16\nsize batch\nkernel turned(q, k, v : bf16[batch, heads, N, dim],"
      " cos, sin : f32[N, dim // 2], u : f32[heads, dim]) -> f32[batch, heads, N, dim] {\n"
      "  content = einsum(\"b h i d, b h j d -> b h i j\", rotate_half(q, cos, sin) + u[:, None], "
      "rotate_half(k, cos, sin)) * dim^-0.5\n" +
      kAttend;
  expectOnGpu(text, 1.5e-2);
}
/// Returns multi-head self-attention with its projections.
std::string module(const std::string &type, const std::string &mask) {
  return "param heads = 2, N = 40, dim = 16, c = heads*dim\nsize batch\nkernel mhsa(x : " + type +
         "[batch, N, c], const w_in : " + type + "[3*c, c], const b_in : f32[3*c], const w_out : " + type +
         "[c, c], const b_out : f32[c]) -> " + type +
         "[batch, N, c] {\n"
         "  thirds = einsum(\"b n c, r c -> b n r\", x, w_in) + b_in\n"
         "  q = rearrange(thirds[:, :, :c], \"b n (h d) -> b h n d\", h = heads)\n"
         "  k = rearrange(thirds[:, :, c:2*c], \"b n (h d) -> b h n d\", h = heads)\n"
         "  v = rearrange(thirds[:, :, 2*c:], \"b n (h d) -> b h n d\", h = heads)\n"
         "  content = einsum(\"b h i d, b h j d -> b h i j\", q, k) * (0.1 * dim^-0.5)\n"
         "  out = einsum(\"b h i j, b h j d -> b h i d\", softmax(content" +
         mask +
         "), v)\n"
         "  return einsum(\"b n c, r c -> b n r\", rearrange(out, \"b h n d -> b n (h d)\"), w_out) + b_out\n}\n";
}
TEST(GpuStages, ModuleWithProjections) {
  for (const char *mask : {"", " where j <= i"}) {
    GpuOutcome outcome = expectOnGpu(module("f16", mask), 5e-3);
    EXPECT_EQ(llvm::count(titles(outcome), "matmul"), 2);
    expectOnGpu(module("f32", mask), kSingle);
  }
}
TEST(GpuStages, AlongAxes) {
  // A thread goes along a line: running sums from both ends, the largest and the least element, comparisons.
  GpuOutcome outcome = expectOnGpu(
      "param N = 37, d = 9\nsize batch\nkernel along(x : f32[batch, N, d], t : f16[N]) -> f32[batch, N, d] {\n"
      "  y    = einsum(\"b n c -> b n c\", x)\n"
      "  late = einsum(\"b m c -> b n c\", x, n = N, where = m > n)\n"
      "  top  = max(y, axis = n)[:, None, :] + min(y, axis = c)[..., None] + mean(y, (n, c))[:, None, None]\n"
      "  return round(3 * y) + sign(y) + (cumsum(y, n) if y > t[:, None] else late) + top * (y <= 0)\n}\n",
      kSingle);
  EXPECT_EQ(llvm::count(titles(outcome), "extremum"), 2);
}
std::string projection(const std::string &type, const std::string &sizes, const std::string &weights,
                       const std::string &subscripts, const std::string &bias) {
  return "param " + sizes + "\nsize batch\nkernel project(x : " + type + "[batch, N, c], w : " + type + "[" + weights +
         "], bias : f32[r]) -> f32[batch, N, r] {\n  return einsum(\"b n c, " + subscripts + " -> b n r\", x, w)" +
         bias + "\n}\n";
}
TEST(GpuStages, ProductsAreOnTensorCores) {
  // Depths of one slice, of several and a rest, and of rows that begin anywhere; ragged rows and columns.
  for (const char *sizes : {"N = 70, c = 128, r = 64", "N = 20, c = 40, r = 72", "N = 33, c = 200, r = 100",
                            "N = 65, c = 100, r = 17", "N = 9, c = 13, r = 30"})
    for (const char *type : {"f16", "bf16", "f32"}) {
      SCOPED_TRACE(std::string(type) + " " + sizes);
      double tolerance = type[0] == 'b' ? 1e-4 : type[1] == '3' ? 1e-5 : 2e-5;
      for (bool turned : {false, true}) {
        GpuOutcome outcome = expectOnGpu(
            projection(type, sizes, turned ? "c, r" : "r, c", turned ? "c r" : "r c", " + bias"), tolerance);
        EXPECT_EQ(titles(outcome), Titles{"matmul"}); // the operations after it are in the same kernel
        EXPECT_GT(outcome.report.matrixSteps, 0);
        EXPECT_EQ(outcome.launch.threads, 128);
      }
    }
  GpuOutcome outcome = expectOnGpu(projection("f16", "N = 130, c = 64, r = 64", "r, c", "r c", ""), 2e-5);
  EXPECT_EQ(outcome.launch.blocks.scaled, 3); // 64 rows each, for each batch row
  EXPECT_EQ(outcome.launch.blocks.factors, std::vector<std::string>{"batch"});
  EXPECT_EQ(outcome.report.matrixSteps, 2 * 3 * 4 * 4 * 8); // 3 blocks of 4 warps, 4 steps of 8 tiles
}
TEST(GpuStages, ProductsInOtherOrders) {
  expectOnGpu(
      "param N = 40, c = 32, heads = 2, dim = 24\nsize batch\nkernel split(x : f16[batch, N, c], w : f16[heads, dim, "
      "c]) -> f16[batch, heads, N, dim] {\n  return einsum(\"b n c, h d c -> b h n d\", x, w)\n}\n",
      1e-3);
  expectOnGpu(
      "param N = 40, c = 32, heads = 2, dim = 24\nsize batch\nkernel join(x : f16[batch, heads, N, dim], w : f16[c, "
      "heads, dim]) -> f32[batch, N, c] {\n  return einsum(\"b h n d, c h d -> b n c\", x, w)\n}\n",
      1e-4);
}
TEST(GpuStages, InfinitiesAndNansOfProducts) {
  GpuOptions options;
  options.size = 1;
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "x") {
      values[40 * 3 + 5] = INFINITY;
      values[40 * 4 + 6] = NAN;
    }
  };
  for (const char *type : {"f16", "f32"}) {
    GpuOutcome outcome = expectOnGpu(projection(type, "N = 20, c = 40, r = 72", "r, c", "r c", ""), 2e-5, options);
    EXPECT_TRUE(std::isinf(outcome.got[72 * 3]));
    EXPECT_TRUE(std::isnan(outcome.got[72 * 4]));
    EXPECT_TRUE(std::isfinite(outcome.got[72 * 5]));
  }
}
TEST(GpuStages, SeveralAttentions) {
  std::string text =
      "param N = 40, M = 24, heads = 2, dim = 16\nsize batch\nkernel two(q, k, v : f16[batch, heads, N, dim], k2, v2 : "
      "f16[batch, heads, M, dim]) -> f16[batch, heads, N, dim] {\n"
      "  first = einsum(\"b h i j, b h j d -> b h i d\", softmax(einsum(\"b h i d, b h j d -> b h i j\", q, k) * "
      "dim^-0.5 where j <= i), v)\n"
      "  second = einsum(\"b h i d, b h j d -> b h i j\", first, k2) * dim^-0.5\n"
      "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(second), v2)\n}\n";
  GpuOutcome outcome = expectOnGpu(text, kHalf);
  EXPECT_EQ(llvm::count(titles(outcome), "attention"), 2);
}
TEST(GpuStages, ResultsInTheOrderThatIsWanted) {
  // The stores merge heads and move rows, so that no kernel of its own does.
  for (const char *type : {"f16", "f32"})
    for (const char *order : {"b h i d -> b i (h d)", "b h i d -> i b h d", "b h i d -> b (h i d)"}) {
      SCOPED_TRACE(std::string(type) + " " + order);
      bool merges = order[11] == 'b' && order[13] == 'i', moves = order[11] == 'i';
      std::string shape = merges ? "[2, 50, 48]" : moves ? "[50, 2, 3, 16]" : "[2, 2400]";
      std::string tensor = std::string(type) + "[2, 3, 50, 16]";
      GpuOutcome outcome = expectOnGpu("kernel merged(q, k, v : " + tensor + ") -> " + type + shape +
                                           " {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k) * 0.25\n"
                                           "  out = einsum(\"b h i j, b h j d -> b h i d\", softmax(content), v)\n"
                                           "  return rearrange(out, \"" +
                                           order + "\")\n}\n",
                                       type[1] == '3' ? kSingle : kHalf);
      EXPECT_EQ(titles(outcome), Titles{"attention"});
      EXPECT_EQ(outcome.program.workspace.scaled, 0);
    }
}
TEST(GpuStages, FunctionsOfNumbers) {
  // Every function of the language, over a range where it is not flat.
  for (const char *function : {"exp(x)", "log(abs(x) + 0.1)", "sqrt(abs(x))", "rsqrt(abs(x) + 1)", "tanh(x)",
                               "sin(x * 20)", "cos(x * 20)", "erf(x)", "sigmoid(x)", "(abs(x) + 1)^1.7"}) {
    SCOPED_TRACE(function);
    GpuOutcome outcome = expectOnGpu(
        "param N = 300\nkernel f(x : f32[N]) -> f32[N] {\n  return " + std::string(function) + "\n}\n", 2e-5);
    EXPECT_EQ(outcome.program.launches.size(), 1u);
    EXPECT_EQ(outcome.launch.blocks.scaled, 2);
  }
}
TEST(GpuStages, AnglesOfPositionsInF64) {
  // Cosines of products of positions and numbers, which a step of f64 tells from those of f32.
  std::string text = "param N = 600, speeds = 5\nscheme wave(slope : [h], speed : [k]) = "
                     "einsum(\"h, k i j -> h i j\", slope, cos((i - j) * speed[k]))\n"
                     "kernel waves(q, k, v : f32[1, 2, N, 8], slope : f32[2]) -> f32[1, 2, N, 8] {\n"
                     "  turns   = tabulate(100 * 10000^(-k / speeds), k = speeds)\n"
                     "  content = einsum(\"b h i d, b h j d -> b h i j\", q, k) + wave(slope, turns)\n" +
                     kAttend;
  expectOnGpu(text, 1e-5);
}
/// Angles of run-time positions and of the caller's frequencies: no buffer of f32 lies between them and their cosines.
TEST(GpuStages, AnglesOfGivenFrequencies) {
  GpuOutcome outcome = expectOnGpu(
      "param N = 40, P = 9\nsize batch\n"
      "scheme angles(f : [p], i : [b, n]) = einsum(\"p b n -> b n p\", f[p] * i[b, n])\n"
      "kernel turns(ids : i32[batch, N] in 0..131071, freq : f32[P])"
      " -> (c : f32[batch, N, P], s : f32[batch, N, P]) {\n"
      "  return cos(angles(freq, ids)), sin(angles(freq, ids))\n}\n",
      kSingle);
  EXPECT_EQ(outcome.program.launches.size(), 2u);
}
TEST(GpuStages, MapsOfElements) {
  for (const char *body :
       {"concat(x, y, dim = 1)", "pad(x, (1, 2), (0, 3))", "x[1:, 2:30]", "rearrange(x, \"a (b c) -> c (a b)\", b = 4)",
        "einsum(\"a b -> a\", x)", "softmax(x)", "einsum(\"a b, c b -> a c\", x, y)"}) {
    SCOPED_TRACE(body);
    std::string shape = std::string(body).find("concat") == 0                     ? "7, 64"
                        : std::string(body).find("pad") == 0                      ? "10, 35"
                        : std::string(body).find("x[") == 0                       ? "6, 28"
                        : std::string(body).find("rearr") == 0                    ? "8, 28"
                        : std::string(body).find("a b -> a") != std::string::npos ? "7"
                        : std::string(body).find("softmax") == 0                  ? "7, 32"
                                                                                  : "7, 7";
    expectOnGpu("kernel f(x, y : f32[7, 32]) -> f32[" + shape + "] {\n  return " + body + "\n}\n", kSingle);
  }
}
std::string single(const std::string &more, const std::string &score) {
  return "param N = 45, M = 70, heads = 2, dim = 20, width = 40\nsize batch\nkernel layer(q : f32[batch, heads, N, "
         "dim], k : "
         "f32[batch, heads, M, dim], v : f32[batch, heads, M, width]" +
         more + ") -> f32[batch, heads, N, width] {\n  content = (einsum(\"b h i d, b h j d -> b h i j\", q, k)" +
         score + "\n" + kAttend;
}
TEST(GpuStages, AttentionsByRows) {
  GpuOptions rows;
  rows.fuse = false;
  for (const char *score : {") * dim^-0.5", ") * dim^-0.5 where j <= i", ") * dim^-0.5 where (i + j) % 3 == 0",
                            " + einsum(\"b h i d, (j - i + N - 1) d -> b h i j\", q, table, j = M)) * dim^-0.5"}) {
    GpuOutcome outcome = expectOnGpu(single(", table : f32[N + M - 1, dim]", score), kSingle, rows);
    EXPECT_EQ(titles(outcome), Titles{"rows"});
    EXPECT_EQ(outcome.launch.threads, 256);
    EXPECT_EQ(outcome.program.workspace.scaled + outcome.program.workspace.fixed, 0);
  }
}
TEST(GpuStages, RowsOfWideValues) {
  GpuOutcome outcome =
      expectOnGpu("param N = 10, M = 40\nkernel wide(q : f16[N, 16], k : f16[M, 16], v : f16[M, 1100]) -> "
                  "f16[N, 1100] {\n  return einsum(\"i j, j d -> i d\", softmax(einsum(\"i d, j d -> i j\", "
                  "q, k) * 0.25 where j <= i), v)\n}\n",
                  2e-3);
  EXPECT_EQ(titles(outcome), Titles{"rows"});
  EXPECT_SAYS(outcome.launch.note, "its values are 1100 wide");
}
TEST(GpuStages, RowsWithoutKeysAndOddValues) {
  GpuOptions options;
  options.fuse = false;
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "v")
      values[16 * 39 + 3] = NAN;
  };
  GpuOutcome outcome = expectOnGpu(
      "param N = 40, dim = 16\nkernel layer(q, k, v : f32[N, dim]) -> (out : f32[N, dim], lse : f32[N]) {\n  "
      "score = einsum(\"i d, j d -> i j\", q, k)\n  return einsum(\"i j, j d -> i d\", softmax(score where j < "
      "i), v), logsumexp(score where j < i)\n}\n",
      kSingle, options);
  EXPECT_EQ(outcome.got[0], 0);                         // row 0 sees nothing
  EXPECT_TRUE(std::isfinite(outcome.got[16 * 39 + 3])); // key 39 is seen by no row
}
TEST(GpuStages, TermsOfTheValues) {
  expectOnGpu(
      "param N = 40, dim = 16\nkernel shaw(q, k, v : f16[N, dim], table : f16[9, dim]) -> f16[N, dim] {\n  weights = "
      "softmax(einsum(\"i d, j d -> i j\", q, k) * dim^-0.5)\n  return einsum(\"i j, j d -> i d\", weights, v) + "
      "einsum(\"i j, (clamp(j - i, -4, 4) + 4) d -> i d\", weights, table)\n}\n",
      kHalf);
}
TEST(GpuStages, TableOfScoresOfTheCaller) {
  GpuOutcome outcome = expectOnGpu(
      "param N = 70, heads = 2, dim = 16\nsize batch\nkernel layer(q, k, v : f16[batch, heads, N, dim], bias : "
      "f32[heads, N, "
      "N]) -> f16[batch, heads, N, dim] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5 + "
      "bias[h, i, j]\n" +
          kAttend,
      kHalf);
  EXPECT_EQ(titles(outcome), Titles{"attention"});
  EXPECT_EQ(outcome.program.workspace.scaled + outcome.program.workspace.fixed, 0);
}
TEST(GpuStages, PartsBeginWhereTheOriginsSay) {
  auto part = [](const std::string &type, const std::string &score) {
    return "kernel part(q : " + type + "[2, 40, 32], k, v : " + type + "[2, 50, 32], table : " + type +
           "[199, 32], small : " + type + "[9, 32]) -> " + type +
           "[2, 40, 32] {\n  part i = 40 of 100 from q0\n  part j = 50 of 100 from k0\n"
           "  content = einsum(\"h i d, h j d -> h i j\", q, k)\n"
           "  return einsum(\"h i j, h j d -> h i d\", softmax((content + " +
           score + "), v)\n}\n";
  };
  for (auto [q0, k0] : {std::pair(0, 0), std::pair(60, 50), std::pair(7, 33), std::pair(55, 3)}) {
    GpuOptions options;
    options.change = [q0 = q0, k0 = k0](const std::string &name, std::vector<double> &values) {
      if (name == "q0" || name == "k0")
        values[0] = name == "q0" ? q0 : k0;
    };
    for (const char *score : {"einsum(\"h i d, (j - i + 99) d -> h i j\", q, table, j = 50)) * 32^-0.5",
                              "einsum(\"h i d, (i - j + 99) d -> h i j\", q, table, j = 50)) * 32^-0.5 where j <= i",
                              "einsum(\"h i d, (clamp(j - i, -4, 4) + 4) d -> h i j\", q, small, j = 50)) * 32^-0.5 "
                              "where abs(j - i) <= 9"}) {
      SCOPED_TRACE(score);
      GpuOutcome outcome = expectOnGpu(part("f16", score), kHalf, options);
      EXPECT_EQ(titles(outcome), Titles{"attention"});
    }
    options.fuse = false;
    expectOnGpu(part("f32", "einsum(\"h i d, (j - i + 99) d -> h i j\", q, table, j = 50)) * 32^-0.5 where j <= i"),
                kSingle, options);
  }
}
TEST(GpuStages, ConstantsOfTheSpecAreRead) {
  expectOnGpu(
      "param N = 30, dim = 16\nkernel layer(q, k, v : f16[N, dim]) -> f16[N, dim] {\n  places = "
      "sincos1d_concatenated(N, dim)\n  score = einsum(\"i d, j d -> i j\", q, k) + einsum(\"i d, j d -> i j\", q, "
      "places)\n  return einsum(\"i j, j d -> i d\", softmax(score * dim^-0.5), v)\n}\n",
      kHalf);
}

TEST(GpuStages, OperandsOfEightBits) {
  struct Scales {
    const char *declared, *key, *value;
  };
  for (std::string type : {"i8", "f8e4m3"}) {
    for (Scales scales :
         {Scales{"", "kn * 0.01", "vn"},
          {", ks, vs : f32[heads] ~ 0.01", "kn * ks[:, None, None]", "vn * vs[:, None, None]"},
          {", ks, vs : f32[batch, heads, N] ~ 0.01", "kn * ks[..., None]", "vn * vs[..., None]"},
          {", ks, vs : f32[batch, heads, N // 4] ~ 0.01", "kn * ks[b, h, j // 4]", "vn * vs[b, h, j // 4]"}}) {
      SCOPED_TRACE(type + " " + scales.key);
      std::string text = "param Nq = 20, N = 72, heads = 2, dim = 16\nsize batch\n"
                         "kernel bytes(q : f32[batch, heads, Nq, dim], k, v : " +
                         type + "[batch, heads, N, dim]" + scales.declared + ") -> f32[batch, heads, Nq, dim] {\n" +
                         "  kn = einsum(\"b h j d -> b h j d\", k)\n  vn = einsum(\"b h j d -> b h j d\", v)\n" +
                         "  s = einsum(\"b h i d, b h j d -> b h i j\", q, " + scales.key + ") * 0.25\n" +
                         "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(s), " + scales.value + ")\n}\n";
      GpuOutcome outcome = expectOnGpu(text, kSingle);
      EXPECT_EQ(titles(outcome).back(), "attention");
      EXPECT_GT(outcome.program.launches.back().rows, 0);
    }
    expectOnGpu("param M = 20, C = 40, E = 24\nkernel linear(x : f32[M, C], w : " + type +
                    "[E, C], s : f32[E] ~ 0.01) -> f32[M, E] {\n  return einsum(\"m c, e c -> m e\", x, w) * s\n}\n",
                kSingle);
  }
}

/// If a condition leaves zeros, an operand does not count there, even if it is NaN. A constant cannot be NaN, so that
/// its sum goes by tensor cores.
TEST(GpuStages, ZerosOfAConditionHideNoConstants) {
  auto gates = [](const std::string &operand, const std::string &table) {
    return "param N = 37\nkernel f(x : f32[N, N]" + operand +
           ") -> f32[N, N] {\n  gates = sigmoid(einsum(\"i k -> i k\", x)) * (k <= i)\n"
           "  return min(einsum(\"i k, j k -> i j\", gates, " +
           table + "), 7)\n}\n";
  };
  GpuOutcome constant = expectOnGpu(gates("", "tabulate((j + 2*k) % 5, j = N, k = N)"), kSingle);
  EXPECT_EQ(titles(constant), (Titles{"elementwise", "matmul"}));
  EXPECT_GT(constant.report.matrixSteps, 0);
  GpuOptions hidden; // elements that the condition removes may be anything
  hidden.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "t")
      for (size_t row = 0; row < 37; ++row)
        values[row * 37 + 36] = NAN; // of key 36, which the last query alone sees
  };
  GpuOutcome given = expectOnGpu(gates(", t : f32[N, N]", "t"), kSingle, hidden);
  EXPECT_EQ(llvm::count(titles(given), "matmul"), 0);
  EXPECT_EQ(given.report.matrixSteps, 0);
  EXPECT_EQ(llvm::count_if(given.got, [](double value) { return std::isnan(value); }), 37);
}

/// An operand that a sum reads once, and reduces eight times, is computed where it is multiplied.
TEST(GpuStages, WhatASumReadsOnceIsComputedOnTheWay) {
  auto interpolation = [](const std::string &subscripts) {
    return "param N = 13, M = 11\nsize batch\n"
           "kernel f(x : f32[batch, N, N], table : f32[batch, N, M]) -> f32[batch, N, N] {\n"
           "  at   = 2 + x\n"
           "  near = max(1 - abs(einsum(\"b i j -> b i j r\", at, r = M) - tabulate(r, r = M)), 0)\n"
           "  return einsum(\"" +
           subscripts + "\", near, table)\n}\n";
  };
  GpuOutcome outcome = expectOnGpu(interpolation("b i j r, b i r -> b i j"), kSingle);
  EXPECT_EQ(outcome.program.launches.back().title, "einsum");
  EXPECT_LT(outcome.program.workspace.scaled, 13 * 13 * 11 * 4) << "the hats are held in memory";
}

/// The operand of an extremum (here the largest of a row's sums) is computed where it is compared.
TEST(GpuStages, WhatAnExtremumReadsIsComputedOnTheWay) {
  GpuOutcome outcome = expectOnGpu("param M = 37, N = 70\nsize batch\n"
                                   "kernel f(x : f32[batch, M], y : f32[batch, N]) -> f32[batch, M] {\n"
                                   "  return max(x[:, :, None] * y[:, None, :] - y[:, None, :], axis = -1)\n}\n",
                                   kSingle);
  EXPECT_EQ(outcome.program.launches.size(), 1u);
  EXPECT_LT(outcome.program.workspace.scaled, 37 * 70 * 4) << "the sums are held in memory";
}

/// Contextual positions (CoPE) need a running sum of gates by tensor cores, hat functions that are not held in memory,
/// and a fused attention.
TEST(GpuStages, PositionsThatCountGates) {
  GpuOutcome outcome = expectOnGpu(
      "param N = 37, heads = 2, dim = 16, npos = 19\nsize batch\n"
      "kernel cope(q, k, v : f32[batch, heads, N, dim], const table : f32[npos, dim] ~ 0.3)"
      " -> f32[batch, heads, N, dim] {\n"
      "  logits   = einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5\n"
      "  gates    = sigmoid(logits) * (j <= i)\n"
      "  pos      = min(einsum(\"b h i k, j k -> b h i j\", gates, tabulate(j <= k, j = N, k = N)), npos - 1)\n"
      "  rows     = einsum(\"b h i d, r d -> b h i r\", q, table)\n"
      "  near     = max(1 - abs(einsum(\"b h i j -> b h i j r\", pos, r = npos) - tabulate(r, r = npos)), 0)\n"
      "  position = einsum(\"b h i j r, b h i r -> b h i j\", near, rows)\n"
      "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(logits + position where j <= i), v)\n}\n",
      kSingle);
  EXPECT_GT(outcome.report.matrixSteps, 0);
  EXPECT_LT(outcome.program.workspace.scaled, 2 * 37 * 37 * 19 * 4) << "the hats are held in memory";
}

} // namespace
