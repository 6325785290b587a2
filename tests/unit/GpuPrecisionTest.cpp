// Tests sums of tensor cores, which truncate instead of rounding: the interpreter's sums against published
// measurements, and kernels of f32 with many keys and deep matrix products against their tolerance.
#include "codegen/GPU/Interpreter/Numbers.h"
#include "codegen/GPU/Interpreter/TensorCore.h"
#include "tests/unit/GpuLayers.h"
#include <random>

using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::testing;

namespace {

/// Returns sum + Σ x × y, with products of this many at once.
float added(float sum, std::vector<std::pair<float, float>> products, unsigned atOnce = 4) {
  products.resize(llvm::alignTo(products.size(), atOnce));
  std::vector<Term> left, right;
  for (auto [x, y] : products)
    left.push_back(Term::of(x)), right.push_back(Term::of(y));
  return multiplyAdd(left.data(), right.data(), 1, unsigned(products.size()), atOnce, sum);
}

// Fasi et al. 2021, section 3: numbers that distinguish the ways of adding.
TEST(TensorCore, ProductsAreExact) {
  float x = 1 + 0x1p-10f; // of 11 bits: the product has 21
  EXPECT_EQ(added(0, {{x, x}}), 1 + 0x1p-9f + 0x1p-20f);
  EXPECT_EQ(added(-1, {{x, x}}), 0x1p-9f + 0x1p-20f);
}
TEST(TensorCore, ResultsAreCutOff) {
  constexpr float kUnit = 0x1p-23f; // of 1
  EXPECT_EQ(added(1, {{kUnit / 2, 1}, {kUnit / 4, 1}}), 1) << "round to nearest would give the number behind 1";
  EXPECT_EQ(added(-1, {{-kUnit / 2, 1}, {-kUnit / 4, 1}}), -1) << "toward 0, not downward";
  EXPECT_EQ(added(2, {{3, kUnit}}), 2 + 2 * kUnit);
  EXPECT_EQ(added(-2, {{-3, kUnit}}), -2 - 2 * kUnit);
}
TEST(TensorCore, TermsKeepTwoGuardBits) {
  // Four terms of a quarter of a unit are one; of an eighth each is cut off before it is added.
  std::vector<std::pair<float, float>> quarters(4, {0x1p-25f, 1}), eighths(4, {0x1p-26f, 1});
  EXPECT_EQ(added(1, quarters), 1 + 0x1p-23f);
  EXPECT_EQ(added(1, eighths), 1);
  // Added to 0 they are not small.
  EXPECT_EQ(added(0, eighths), 0x1p-24f);
}
TEST(TensorCore, TheOrderDoesNotMatter) {
  for (int place = 0; place < 4; ++place) {
    std::vector<std::pair<float, float>> products(4, {0x1p-25f, 1});
    products[size_t(place)] = {1, 1};
    EXPECT_EQ(added(0x1p-25f, products), 1 + 0x1p-23f);
  }
}
TEST(TensorCore, TheLargestTermIsFoundByExponents) {
  // 1.5 × 1.5 = 2.25 is aligned by 2^0, and so keeps a bit more than a sum that begins with 2.25.
  EXPECT_EQ(added(0, {{1.5f, 1.5f}, {0x1p-25f, 1}, {-1.5f, 1}, {-0.75f, 1}}), 0x1p-25f);
  EXPECT_EQ(added(2.25f, {{0x1p-25f, 1}, {-1.5f, 1}, {-0.75f, 1}}), 0);
}
TEST(TensorCore, LongProductsAreChains) {
  // The sum is truncated between the halves: 1 and two quarters of a unit, twice, give 1; all at once they give a unit
  // more.
  std::vector<std::pair<float, float>> quarters{{0x1p-25f, 1}, {0x1p-25f, 1}, {0, 0}, {0, 0},
                                                {0x1p-25f, 1}, {0x1p-25f, 1}, {0, 0}, {0, 0}};
  EXPECT_EQ(added(1, quarters, 4), 1);
  EXPECT_EQ(added(1, quarters, 8), 1 + 0x1p-23f);
}
TEST(TensorCore, OddNumbers) {
  float infinity = INFINITY;
  EXPECT_EQ(added(1, {{infinity, 1}, {1, 1}}), infinity);
  EXPECT_EQ(added(-infinity, {{1, 1}}), -infinity);
  EXPECT_TRUE(std::isnan(added(-infinity, {{infinity, 1}})));
  EXPECT_TRUE(std::isnan(added(0, {{infinity, 0}})));
  EXPECT_EQ(added(0, {{0x1p100f, 0x1p100f}}), infinity);
  EXPECT_EQ(added(0, {}), 0);
  EXPECT_EQ(added(0, {{0x1p-80f, 0x1p-60f}}), 0x1p-140f) << "subnormal results are kept";
  EXPECT_EQ(added(0x1p-149f, {{0x1p-126f, 0x1p-126f}}), 0x1p-149f);
  EXPECT_EQ(added(0, {{0x1p-80f, 0x1p-80f}}), 0);
}
/// The sum differs from the exact one by no more than the truncated units.
TEST(TensorCore, NoFurtherThanWhatIsCutOff) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<std::pair<float, float>> products(4);
    float sum = normal(random);
    double exact = sum, largest = std::fabs(sum);
    for (auto &[x, y] : products) {
      x = fromTf32(bitsOf(normal(random)));
      y = fromTf32(bitsOf(normal(random)));
      exact += double(x) * y;
      largest = std::max(largest, std::fabs(double(x) * y));
    }
    // Five terms below a quarter of a unit each, and the result below one of its own.
    double unit = std::ldexp(1, std::ilogb(largest) - 23);
    EXPECT_LE(std::fabs(added(sum, products) - exact), unit * 5 / 4 + std::ldexp(1, std::ilogb(exact) - 23));
  }
}

//===- Kernels ------------------------------------------------------------------===//

std::string attention(int64_t queries, int64_t keys, int64_t dim, const std::string &more = "",
                      const std::string &score = "content") {
  return "param N = " + std::to_string(queries) + ", M = " + std::to_string(keys) + ", dim = " + std::to_string(dim) +
         "\nkernel layer(q : f32[N, dim], k, v : f32[M, dim]" + more +
         ") -> f32[N, dim] {\n  content = einsum(\"i d, j d -> i j\", q, k)\n"
         "  return einsum(\"i j, j d -> i d\", softmax((" +
         score + ") * dim^-0.5), v)\n}\n";
}
/// Values of one sign, for which truncations add up.
void oneSign(const std::string &name, std::vector<double> &values) {
  for (double &value : values)
    value = name == "q" ? value : 1 + value / 4;
}

// The limit is half of the tolerance of f32. One chain over all keys was off by 2.3e-5 in the first case, and by 3.7e-5
// with values of one sign.
TEST(GpuPrecision, ManyKeys) {
  GpuOptions options = tileOf(16, 32);
  expectOnGpu(attention(16, 2048, 64), kWide / 2, options);
  options.change = oneSign;
  expectOnGpu(attention(16, 2048, 64), kWide / 2, options);
}
TEST(GpuPrecision, ManyKeysWithWhatIsAddedToThem) {
  std::string text =
      "param N = 16, M = 1024, dim = 32\n"
      "kernel layer(q : f32[N, dim], k, v, e : f32[M, dim], near, far : f32[N + M - 1, dim]) -> f32[N, dim] "
      "{\n  content = einsum(\"i d, j d -> i j\", q, k)\n"
      "  position = einsum(\"i d, (j - i + N - 1) d -> i j\", q, near, j = M)\n"
      "  weights = softmax((content + position) * dim^-0.5)\n"
      "  return einsum(\"i j, j d -> i d\", weights, v) + einsum(\"i j, j d -> i d\", weights, e)\n"
      "    + einsum(\"i j, (j - i + N - 1) d -> i d\", weights, far)\n}\n";
  GpuOptions options = tileOf(16, 32);
  expectOnGpu(text, kWide / 2, options);
  options.change = oneSign;
  expectOnGpu(text, kWide / 2, options);
}
// Queries, keys and values of f32 are multiplied as f32, also beside tables and biases of fewer bits.
TEST(GpuPrecision, TablesOfFewerBitsTakeNoDigitsFromTheOthers) {
  for (std::string type : {"bf16", "f16"})
    for (const char *query : {"q", "q + tanh(q)"})
      expectOnGpu("param N = 40, dim = 32\nkernel layer(q, k, v : f32[N, dim], c : i32[N] in 0..4, t : " + type +
                      "[5, dim], u : " + type + "[dim], near, far : " + type +
                      "[2*N - 1, dim]) -> f32[N, dim] {\n  r = " + query +
                      "\n  content = einsum(\"i d, j d -> i j\", r + u, k)\n"
                      "  position = einsum(\"i d, (j - i + N - 1) d -> i j\", r, near, j = N)\n"
                      "  picked = einsum(\"i d, (c[j]) d -> i j\", r + u, t, j = N)\n"
                      "  weights = softmax((content + position + picked) * dim^-0.5)\n"
                      "  return einsum(\"i j, j d -> i d\", weights, v)\n"
                      "    + einsum(\"i j, (j - i + N - 1) d -> i d\", weights, far)\n}\n",
                  kWide, tileOf(16, 16));
}
// If the values, or a factor of each product, have fewer bits, all are multiplied in that type.
TEST(GpuPrecision, ValuesOfFewerBitsAreMultipliedAsTheyAre) {
  const std::string text =
      "param N = 40, dim = 32\nkernel layer(q, k : f32[N, dim], v : bf16[N, dim]) -> f32[N, dim] {\n"
      "  content = einsum(\"i d, j d -> i j\", q, k)\n"
      "  return einsum(\"i j, j d -> i d\", softmax(content * dim^-0.5), v)\n}\n";
  GpuOutcome outcome = expectOnGpu(text, kBrain, tileOf(16, 16));
  EXPECT_GT(outcome.error, kWide);
}
// A chain over a whole head, 256 wide, was off by 7.8e-6.
TEST(GpuPrecision, WideHeads) {
  for (int64_t dim : {128, 256}) {
    GpuOptions options = tileOf(16, 16);
    options.keepQueries = dim <= 128;
    expectOnGpu(attention(16, 128, dim), kWide / 4, options);
  }
}
// One chain over the depth was off by 6.9e-5.
TEST(GpuPrecision, DeepProducts) {
  std::string text = "param N = 16, D = 4096\nkernel layer(x : f32[N, D], w : f32[64, D]) -> f32[N, 64] {\n"
                     "  return einsum(\"i d, o d -> i o\", x, w)\n}\n";
  GpuOptions options;
  EXPECT_GT(expectOnGpu(text, kWide / 4, options).report.matrixSteps, 0);
  options.change = oneSign;
  expectOnGpu(text, kWide / 4, options);
}
// A weight of 3e-40 would be denormal, so it is 0, and the huge value that it belongs to adds nothing.
TEST(GpuPrecision, WeightsThatWouldBeDenormal) {
  for (bool fuse : {true, false}) {
    std::string text = "param dim = 16\nkernel layer(q : f32[1, dim], k, v : f32[2, dim]) -> f32[1, dim] {\n"
                       "  content = einsum(\"i d, j d -> i j\", q, k)\n"
                       "  return einsum(\"i j, j d -> i d\", softmax(content), v)\n}\n";
    GpuOptions options = tileOf(16, 16);
    options.fuse = fuse;
    options.change = [](const std::string &name, std::vector<double> &values) {
      for (size_t n = 0; n < values.size(); ++n)
        values[n] = name == "v" ? (n < 16 ? 1 : 1e38) : name == "q" ? n == 0 : n == 16 ? -91 : 0;
    };
    GpuLayer compiled(text);
    GpuOutcome outcome = compiled.run(options);
    EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
    EXPECT_EQ(outcome.report.matrixSteps > 0, fuse);
    EXPECT_EQ(outcome.got, std::vector<double>(16, 1));
    if (fuse)
      EXPECT_NE(outcome.ir.find("preserve-sign"), std::string::npos);
  }
}
// For f16, whose own rounding is larger, chains are long but limited: an unlimited chain would lose 1.2e-4 here.
TEST(GpuPrecision, VeryManyKeysInHalf) {
  std::string text = "param M = 65536, dim = 16\nkernel layer(q : f16[1, dim], k, v : f16[M, dim]) -> f32[1, dim] {\n"
                     "  content = einsum(\"i d, j d -> i j\", q, k)\n"
                     "  return einsum(\"i j, j d -> i d\", softmax(content), v)\n}\n";
  GpuOptions options = tileOf(16, 64);
  options.change = [](const std::string &name, std::vector<double> &values) {
    for (double &value : values)
      value = name == "q" ? 0 : 1 + value / 4;
  };
  EXPECT_GT(expectOnGpu(text, kWide / 2, options).report.matrixSteps, 0);
}

} // namespace

//===- Scores of any size -----------------------------------------------------------===//

namespace {
/// Biases of whole numbers added to `offset`, all of which f32 holds.
GpuOptions withBiases(GpuOptions options, double offset) {
  options.change = [offset](const std::string &name, std::vector<double> &values) {
    for (size_t k = 0; name == "a" && k < values.size(); ++k)
      values[k] = offset + double(k * 5 % 11) - 5;
  };
  return options;
}
GpuOptions inParts(GpuOptions options, int64_t parts) {
  options.keyParts = parts;
  return options;
}
} // namespace

/// Tests a common part of a row's scores. From 2^20 on, powers of two leave no digits after the point.
TEST(GpuPrecision, WhatAllScoresHaveInCommonCostsNothing) {
  std::string text = attention(14, 96, 16, ", a : f32[N, M]", "0 * content + a");
  for (double offset : {0.0, 100.0, -65536.0, 1e6, -8e6})
    for (int64_t parts : {1, 3}) {
      SCOPED_TRACE(std::to_string(offset) + " in " + std::to_string(parts));
      expectOnGpu(text, 1e-6, inParts(withBiases(tileOf(16, 16), offset), parts));
    }
}
/// The maximum grows in each of several tiles and parts, beyond the range in which it is subtracted first.
TEST(GpuPrecision, MaximaThatGrow) {
  std::string text = attention(14, 96, 16, ", a : f32[N, M]", "0 * content + a + 80000 * j");
  expectOnGpu(text, 1e-6, withBiases(tileOf(16, 16), -3e5));
  expectOnGpu(text, 1e-6, inParts(withBiases(tileOf(16, 16), -3e5), 3));
  std::string slow = attention(14, 96, 16, ", a : f32[N, M]", "0 * content + a + j // 16");
  double between = 4 * 726816; // a quarter of it times log2(e) is 2^20
  expectOnGpu(slow, 1e-6, withBiases(tileOf(16, 16), between));
  expectOnGpu(slow, 1e-6, inParts(withBiases(tileOf(16, 16), between), 3));
}
/// If all keys have the lowest number of f32, the result is the mean; next to other keys they have no weight.
TEST(GpuPrecision, LowestNumbersInMasks) {
  for (const char *type : {"f32", "f16"})
    for (const char *number : {"-3.4028234663852886e38", "-2.38e38"}) {
      std::string hidden = kPlain + " + (0 if j > i + 14 else " + number + ")";
      std::string text = layer(sizes(13, 24, 16, 16), "", hidden, type);
      SCOPED_TRACE(text);
      double most = type == std::string("f32") ? kWide : kHalf;
      expectOnGpu(text, most, tileOf(16, 16));
      expectOnGpu(text, most, inParts(tileOf(16, 16), 2));
    }
  GpuOptions options = tileOf(16, 16);
  options.change = [](const std::string &name, std::vector<double> &values) {
    for (size_t k = 0; name == "a" && k < values.size(); ++k)
      values[k] = k == 5 ? 3e38 : 0;
  };
  expectOnGpu(attention(14, 40, 16, ", a : f32[M]", "content + a"), kWide, options);
}
