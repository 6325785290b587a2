// Tests the kernels that prepare data from `const` operands alone, once. The interpreter compares every such program
// with a whole call, bit by bit (GpuTesting.cpp).
#include "tests/unit/GpuTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

constexpr double kHalf = 3e-3, kSingle = 2e-5;

/// Returns the titles of the launches; those that prepare begin with a star.
std::string titles(const GpuOutcome &outcome) {
  std::string result;
  for (const gpu::GpuLaunch &launch : outcome.program.launches)
    result += (result.empty() ? "" : " ") + std::string(launch.prepares ? "*" : "") + launch.title;
  return result;
}

/// Returns a layer with a bias that a network computes from coordinates, as in SwinV2. It does not depend on the
/// queries.
std::string networkBias(const std::string &type, const std::string &isConst) {
  return "param N = 20, heads = 2, dim = 16, hidden = 24\nsize batch\nkernel biased(q, k, v : " + type +
         "[batch, heads, N, dim], " + isConst + "places : " + type + "[2*N - 1, 3], " + isConst + "w1 : " + type +
         "[hidden, 3], " + isConst + "w2 : " + type + "[heads, hidden]) -> " + type +
         "[batch, heads, N, dim] {\n"
         "  table   = einsum(\"r c, m c -> m r\", places, w1)\n"
         "  bias    = einsum(\"m r, h m -> h r\", relu(table), w2)\n"
         "  content = einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5\n"
         "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(content + bias[h, j - i + N - 1]), v)\n}\n";
}

TEST(GpuPrepared, ATableOfANetwork) {
  GpuOutcome outcome = expectOnEngines(networkBias("f16", "const "), kHalf);
  EXPECT_GT(outcome.preparedBytes, 0);
  EXPECT_EQ(titles(outcome).find("attention"), titles(outcome).rfind("attention"));
  for (const gpu::GpuLaunch &launch : outcome.program.launches)
    EXPECT_EQ(launch.prepares, launch.title != "attention") << launch.title;
  expectOnEngines(networkBias("f32", "const "), kSingle);
  // Without `const`, every call computes it.
  outcome = expectOnEngines(networkBias("f16", ""), kHalf);
  EXPECT_EQ(outcome.preparedBytes, 0);
  EXPECT_EQ(titles(outcome).find('*'), std::string::npos) << titles(outcome);
}

/// Weights that are products of weights (MLA's absorbed ones), and projections by them at each call.
TEST(GpuPrepared, AProductOfWeightsBesideProjections) {
  std::string text = "param N = 18, heads = 2, dim = 16, c = 24\nsize batch\n"
                     "kernel absorbed(x : f32[batch, N, c], const w_q, w_k : f32[heads, dim, c], y : f32[batch, N, c])"
                     " -> f32[batch, heads, N, c] {\n"
                     "  w       = einsum(\"h d c, h d e -> h c e\", w_q, w_k)\n"
                     "  q       = einsum(\"b i c, h c e -> b h i e\", x, w)\n"
                     "  content = einsum(\"b h i e, b j e -> b h i j\", q, y) * dim^-0.5\n"
                     "  return einsum(\"b h i j, b j c -> b h i c\", softmax(content where j <= i), y)\n}\n";
  GpuOutcome outcome = expectOnEngines(text, kSingle);
  EXPECT_EQ(outcome.preparedBytes, 2 * 24 * 24 * 4);
  EXPECT_EQ(llvm::count(titles(outcome), '*'), 1) << titles(outcome);
  EXPECT_TRUE(llvm::StringRef(titles(outcome)).starts_with("*")) << titles(outcome);
}

/// A fused attention of `const` operands alone is prepared too, even with keys in parts; data with run-time sizes is
/// not.
TEST(GpuPrepared, AnAttentionOfConstOperands) {
  std::string text = "param N = 16, M = 300, dim = 16\nsize batch\n"
                     "kernel pooled(const seeds : f16[N, dim], const bank : f16[M, dim], x : f16[batch, N, dim])"
                     " -> f32[batch, N, dim] {\n"
                     "  tokens = einsum(\"i j, j d -> i d\", softmax(einsum(\"i d, j d -> i j\", seeds, bank)),"
                     " bank)\n"
                     "  return x + tokens[None, :, :]\n}\n";
  GpuOptions options;
  options.keyParts = 2;
  GpuOutcome outcome = expectOnEngines(text, kHalf, options);
  EXPECT_EQ(titles(outcome), "*attention *join elementwise");
  EXPECT_GT(outcome.preparedBytes, 0);
}

/// Data that depends on run-time lengths is made in each call.
TEST(GpuPrepared, NothingOfRunTimeLengths) {
  std::string text = "param heads = 2, dim = 16, hidden = 8\nsize N <= 40\n"
                     "kernel biased(q, k, v : f16[heads, N, dim], const a : f16[16, hidden],"
                     " const b : f16[hidden, heads]) -> f16[heads, N, dim] {\n"
                     "  table   = einsum(\"r m, m h -> h r\", a, b)\n"
                     "  content = einsum(\"h i d, h j d -> h i j\", q, k) * dim^-0.5\n"
                     "  return einsum(\"h i j, h j d -> h i d\", "
                     "softmax(content + table[h, min(abs(j - i), 15)]), v)\n}\n";
  GpuOptions options;
  options.lengths = {{"N", 23}};
  GpuOutcome outcome = expectOnEngines(text, kHalf, options);
  EXPECT_EQ(outcome.preparedBytes, 0);
  EXPECT_EQ(titles(outcome).find('*'), std::string::npos) << titles(outcome);
}

} // namespace
