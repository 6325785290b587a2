// Tests scores that go through a function, and weights without a softmax, in tiles and by rows.
#include "tests/unit/GpuLayers.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Returns a layer with `weights` of the scores `s`, divided by `by` if it is not empty.
std::string weighted(int64_t n, int64_t dim, const std::string &weights, const std::string &type = "f32",
                     bool divided = false) {
  return "param N = " + std::to_string(n) + ", heads = 2, dim = " + std::to_string(dim) +
         "\nsize batch\nkernel layer(q, k, v : " + type + "[batch, heads, N, dim], rate : f32[heads] ~ 0.1) -> " +
         type +
         "[batch, heads, N, dim] {\n  s = einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5 + alibi(rate)\n" +
         "  w = " + weights + "\n  return einsum(\"b h i j, b h j d -> b h i d\", w, v)" +
         (divided ? " / sum(w, -1)[..., None]" : "") + "\n}\n";
}

TEST(GpuWeights, CappedScores) {
  for (const char *type : {"f32", "f16", "bf16"})
    expectOnEngines(weighted(50, 24, "softmax(5 * tanh(s / 5) where j <= i)", type),
                type[0] == 'b'   ? kBrain
                : type[1] == '1' ? kHalf
                                 : kWide,
                tileOf(32, 16));
}
/// Short functions are right for large scores too: a cap that all scores reach, and weights of 0 and 1.
TEST(GpuWeights, FunctionsOfLargeScores) {
  for (const char *weights :
       {"softmax(3 * tanh(40 * s))", "sigmoid(60 * s)", "tanh(100 * s) * 0.5", "exp(-abs(30 * s))"})
    for (const char *type : {"f32", "bf16"})
      expectOnEngines(weighted(50, 24, weights, type), type[0] == 'b' ? kBrain : kWide, tileOf(32, 16));
}
/// Quotients of numbers above 2^126, whose reciprocals are no normal numbers.
TEST(GpuWeights, QuotientsOfLargeAndSmallNumbers) {
  for (const char *weights : {"exp(min(s, 2) + 86) / (1 + exp(min(s, 2) + 86))", "s / 3e-37 * 2e-37",
                              "1 / (1 + exp(-s)) - 3 / (2 + exp(s + 84))"})
    for (const char *type : {"f32", "bf16"})
      expectOnEngines(weighted(50, 24, weights, type), type[0] == 'b' ? kBrain : kWide, tileOf(32, 16));
}
TEST(GpuWeights, Sigmoid) { expectOnEngines(weighted(70, 16, "sigmoid(s - log(N)) * (j <= i)"), kWide, tileOf(64, 32)); }
TEST(GpuWeights, SquaredReluDividedByItsSum) {
  expectOnEngines(weighted(45, 16, "max(s + 4, 0)^2", "f32", true), kWide, tileOf(32, 16, 1, false));
}
TEST(GpuWeights, LinearUnderAMaskOfElements) {
  expectOnEngines(weighted(40, 16, "(s if (i + j) % 3 != 1 else 0)"), kWide, tileOf(32, 32));
}
TEST(GpuWeights, OfBrainFloats) { expectOnEngines(weighted(40, 16, "sigmoid(s)", "bf16"), kBrain, tileOf(32, 32)); }

TEST(GpuWeights, ByRows) {
  GpuOptions rows = tileOf(32, 32);
  rows.fuse = false;
  expectOnEngines(weighted(37, 12, "softmax(5 * tanh(s / 5) where j <= i)"), kWide, rows);
  expectOnEngines(weighted(37, 12, "sigmoid(s) * (j <= i)", "f32", true), kWide, rows);
}
/// A weight of a softmax is at most 1; other weights may leave the range of f16.
TEST(GpuWeights, DirectOnesOfHalvesGoByRowsUnlessTheyAreBounded) {
  for (const char *weights :
       {"max(100 * s, 0)^2", "s", "exp(s)", "s * sigmoid(s)", "1 / tanh(s)", "70000 * sigmoid(s)"}) {
    GpuLayer compiled(weighted(40, 16, weights, "f16"));
    GpuOutcome outcome = compiled.run(tileOf(32, 32));
    ASSERT_TRUE(outcome.lowered) << outcome.messages;
    EXPECT_EQ(outcome.ir.find("nvvm.mma.sync"), std::string::npos) << weights;
  }
  for (const char *weights : {"sigmoid(s)", "sigmoid(-3 * s) if j <= i else 0", "(1 - tanh(s)) / 2 * sigmoid(s)",
                              "min(max(s, 0), 6)^2", "exp(min(s, 1))", "erf(s) - 3"}) {
    GpuOutcome outcome = expectOnEngines(weighted(40, 16, weights, "f16"), kHalf, tileOf(32, 32));
    EXPECT_NE(outcome.ir.find("nvvm.mma.sync"), std::string::npos) << weights;
  }
}
/// A score may be a function of several sums of terms; the first has the products. Times far from 0 are subtracted
/// before they meet a score.
TEST(GpuWeights, SeveralSums) {
  GpuOptions options = tileOf(32, 32);
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "t")
      for (double &value : values)
        value = 4096 + std::round(8 * value) / 8;
  };
  for (const char *weights : {"s * exp(-abs(i - j) / 8)", "softmax(s + (t[b, h, i] - t[b, h, j]) where j <= i)",
                              "softmax(s - (t[b, h, i] - t[b, h, j])^2 / 8)", "sigmoid(s * (t[b, h, i] - t[b, h, j]))",
                              "softmax(s * (t[b, h, i] - 4096) + (t[b, h, j] - t[b, h, i]) * t[b, h, j] / 4096)"})
    for (bool fuse : {true, false}) {
      std::string text = weighted(40, 16, weights);
      text.replace(text.find(", rate"), 0, ", t : f32[batch, heads, N]");
      options.fuse = fuse;
      GpuOutcome outcome = expectOnEngines(text, kWide, options);
      EXPECT_EQ(outcome.ir.find("nvvm.mma.sync") != std::string::npos, fuse) << weights;
    }
}
/// Tests a base of 0, whose power of 0 is 1, and a base below 0, whose odd powers are below 0.
TEST(GpuWeights, PowersOfOffsets) {
  for (bool fuse : {true, false}) {
    GpuOptions options = tileOf(32, 32);
    options.fuse = fuse;
    expectOnEngines(weighted(40, 16, "s * ((-0.8 - abs(rate[h])) * (h % 2))^(i - j) * (j <= i)"), kWide, options);
    expectOnEngines(weighted(40, 16, "s * (0.8 + abs(rate[h]))^(i - j) * (j <= i)"), kWide, options);
  }
}
TEST(GpuWeights, NumbersOfHiddenKeysDoNotCount) {
  GpuOptions options = tileOf(32, 16);
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "v")
      values[values.size() - 3] = std::numeric_limits<double>::quiet_NaN(); // in the last key, which only one row sees
  };
  for (bool fuse : {true, false}) {
    options.fuse = fuse;
    GpuLayer compiled(weighted(40, 16, "sigmoid(s) * (j <= i)"));
    GpuOutcome outcome = compiled.run(options);
    ASSERT_TRUE(outcome.lowered) << outcome.messages;
    for (auto [got, expected] : llvm::zip(outcome.got, outcome.expected))
      EXPECT_EQ(std::isnan(got), std::isnan(expected));
  }
}

/// Weights as a result: wide values have several blocks of columns, and one of them stores the weights.
std::string returned(int64_t n, int64_t dim, const std::string &weights, const std::string &type = "f32") {
  return "param N = " + std::to_string(n) + ", heads = 2, dim = " + std::to_string(dim) +
         "\nsize batch\nkernel layer(q, k, v : " + type +
         "[batch, heads, N, dim]) -> (weights : f32[batch, heads, N, N], " + "out : " + type +
         "[batch, heads, N, dim]) {\n  s = einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5\n" +
         "  w = " + weights + "\n  return w, einsum(\"b h i j, b h j d -> b h i d\", w, v)\n}\n";
}

TEST(GpuWeights, ReturnedOnesAreStoredByRows) {
  const std::string texts[] = {returned(37, 12, "softmax(s)"), returned(70, 16, "softmax(s where j + 3 < i)"),
                               returned(33, 8, "sigmoid(s) if j <= i else 0"), returned(40, 300, "softmax(s)"),
                               returned(40, 16, "softmax(s where j <= i)", "f16")};
  for (const std::string &text : texts) {
    GpuOutcome outcome = expectOnEngines(text, text.find("f16") == std::string::npos ? kWide : kHalf, tileOf(32, 32));
    EXPECT_EQ(outcome.program.launches.size(), 1u) << text; // the attention makes both
  }
}

} // namespace
