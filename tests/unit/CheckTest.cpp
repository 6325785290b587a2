// Tests the comparison of a result: differences as a share of the largest value, NaN and infinities element by element,
// and the name of the worst place.
#include "codegen/Compiler/Compiler.h"
#include "tools/skewer/Check.h"
#include <cmath>
#include <gtest/gtest.h>
#include <utility>

using namespace skewer;
using namespace skewer::driver;

namespace {
const float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = INFINITY;

Comparison compare(std::vector<double> expected, std::vector<float> got, std::vector<int64_t> shape) {
  return compareWith(Array{std::move(shape), std::move(expected)}, ElementType::F32, got.data());
}

TEST(Check, TheErrorIsAShareOfTheLargestValue) {
  Comparison c = compare({1, -8, 2, 0}, {1, -8, 2.5, 0.25}, {2, 2});
  EXPECT_DOUBLE_EQ(c.error, 0.5 / 8);
  EXPECT_EQ(c.mismatches, 0);
  EXPECT_EQ(c.where, "[1, 0]: got 2.5, expected 2");
  EXPECT_EQ(c.rows, 2);
  EXPECT_EQ(c.allRows, 2);
  EXPECT_TRUE(c.within(0.0625));
  EXPECT_FALSE(c.within(0.06));
}

TEST(Check, EqualIsWithoutError) {
  Comparison c = compare({0, 0}, {0, -0.0f}, {2});
  EXPECT_EQ(c.error, 0);
  EXPECT_TRUE(c.within(0));
}

TEST(Check, NaNMustBeNaN) {
  EXPECT_TRUE(compare({NAN, 1}, {kNaN, 1}, {2}).within(0));
  Comparison one = compare({NAN, 1}, {0, 1}, {2});
  EXPECT_EQ(one.mismatches, 1);
  EXPECT_FALSE(one.within(1e30)) << "no tolerance forgives it";
  Comparison other = compare({1, 1}, {1, kNaN}, {2});
  EXPECT_EQ(other.mismatches, 1);
  EXPECT_NE(other.where.find("[1]: got nan, expected 1"), std::string::npos) << other.where;
}

TEST(Check, InfinitiesHaveASign) {
  EXPECT_TRUE(compare({INFINITY, -INFINITY}, {kInfinity, -kInfinity}, {2}).within(0));
  EXPECT_EQ(compare({INFINITY, -INFINITY}, {kInfinity, kInfinity}, {2}).mismatches, 1);
  EXPECT_EQ(compare({-INFINITY, 3}, {-1e30f, 3}, {2}).mismatches, 1) << "large is not infinite";
}

TEST(Check, InfiniteValuesDoNotHideErrors) {
  Comparison c = compare({INFINITY, 2, 1}, {kInfinity, 2, 1.5f}, {3});
  EXPECT_DOUBLE_EQ(c.error, 0.25) << "the largest finite value counts";
}

TEST(Check, BeyondTheTypeIsInfinite) {
  Comparison c = compare({4.06e38, -1e300, 2, 1}, {kInfinity, -kInfinity, 2, 1.5f}, {4});
  EXPECT_EQ(c.mismatches, 0) << "f32 has no other number for them";
  EXPECT_DOUBLE_EQ(c.error, 0.25) << "a number that the type does not hold is not the largest";
  EXPECT_EQ(textOf(c.expected), "2 infinite elements");
  EXPECT_EQ(compare({4.06e38, 1}, {-kInfinity, 1}, {2}).mismatches, 1) << "infinities have a sign";
  EXPECT_EQ(compare({4.06e38, 1}, {1e38f, 1}, {2}).mismatches, 1);
  EXPECT_EQ(compare({1e38, 1}, {kInfinity, 1}, {2}).mismatches, 1) << "f32 holds 1e38";
  std::vector<uint16_t> half = {0x7c00, 0x3c00}, brain = {0x7f80, 0x3f80}; // inf and 1
  EXPECT_TRUE(compareWith({{2}, {70000, 1}}, ElementType::F16, half.data()).within(0));
  EXPECT_EQ(compareWith({{2}, {60000, 1}}, ElementType::F16, half.data()).mismatches, 1);
  EXPECT_TRUE(compareWith({{2}, {3.4e38, 1}}, ElementType::BF16, brain.data()).within(0));
}

TEST(Check, AFewRoundingsDecideAtTheEndOfTheType) {
  Comparison c = compare({0x1.fffffcp127, 1}, {kInfinity, 1}, {2});
  EXPECT_EQ(c.mismatches, 0);
  EXPECT_NEAR(c.error, 0x1.8p-24, 0x1p-30) << "what the number lacks to be infinite";
  c = compare({0x1.00001p128, 1}, {0x1.fffffep127f, 1}, {2});
  EXPECT_EQ(c.mismatches, 0);
  EXPECT_NEAR(c.error, 0x1p-25, 0x1p-30);
}

TEST(Check, OfZeroEveryDifferenceIsWhole) {
  Comparison c = compare({0, 0}, {0, 1e-6f}, {2});
  EXPECT_NEAR(c.error, 1e-6, 1e-12);
}

TEST(Check, HalvesAreReadAsHalves) {
  std::vector<uint16_t> half = {0x3c00, 0xc000}, brain = {0x3f80, 0xc000}; // 1 and -2
  Array expected{{2}, {1, -2}};
  EXPECT_EQ(compareWith(expected, ElementType::F16, half.data()).error, 0);
  EXPECT_EQ(compareWith(expected, ElementType::BF16, brain.data()).error, 0);
}

TEST(Check, CountsWhatIsNoNumber) {
  Comparison c = compare({NAN, 1, INFINITY}, {kNaN, kNaN, kInfinity}, {3});
  EXPECT_EQ(c.mismatches, 1);
  EXPECT_EQ(textOf(c.expected), "1 NaN and 1 infinite elements");
  EXPECT_EQ(textOf(c.got), "2 NaN and 1 infinite elements");
  EXPECT_EQ(textOf(countNonFinite({1, -INFINITY})), "1 infinite element");
  EXPECT_EQ(textOf(countNonFinite({1, 2})), "no element");
}

/// A layer in the language, compared with results that the test makes.
struct Checked {
  explicit Checked(const std::string &text)
      : compilation(Compilation::createFromText(text, "layer.attn", {}, *findTarget("x86-64-v3"))) {
    kernel = &compilation->kernels.front();
    signature = signatureOf(kernel->einsumFunction());
    operands = llvm::cantFail(prepareOperands(signature, {}, {}, 1));
  }
  /// Returns the reference's result, rounded to f32, with each element moved by `change` of its row, column and value.
  Comparison judge(llvm::function_ref<double(double)> change, bool stopsWithin = false) {
    std::vector<reference::Tensor> inputs;
    for (const Array &input : operands.inputs)
      inputs.push_back({input.shape, input.values});
    reference::Interpreter interpreter(kernel->einsumFunction(), std::move(inputs));
    std::vector<float> got;
    const std::vector<int64_t> &shape = operands.outputShapes[0];
    for (int64_t row = 0; row < shape[0]; ++row)
      for (double value : interpreter.row({row}).value_or(std::vector<double>()))
        got.push_back(static_cast<float>(change(value)));
    Judgement how{/*rows=*/1 << 20};
    how.stopsWithin = stopsWithin;
    return llvm::cantFail(
        compareWithReference(kernel->einsumFunction(), operands, ElementType::F32, got.data(), how));
  }
  double tolerance() {
    return judge([](double x) { return x; }).tolerance;
  }
  std::unique_ptr<Compilation> compilation;
  const Kernel *kernel;
  KernelPlan signature;
  Operands operands;
};

std::string attention(const std::string &scores, const std::string &more = "") {
  return "param N = 64, dim = 64\nkernel f(q, k, v : f32[N, dim]" + more +
         ") -> f32[N, dim] {\n  s = einsum(\"i d, j d -> i j\", q, k)\n  return einsum(\"i j, j d -> i d\", softmax(" +
         scores + "), v)\n}\n";
}

TEST(Tolerance, FollowsFromTheScores) {
  double usual = Checked(attention("s * dim^-0.5")).tolerance(), large = Checked(attention("s")).tolerance(),
         immense = Checked(attention("s + 3000*j")).tolerance();
  EXPECT_GT(usual, 2e-7);
  EXPECT_LT(usual, 3e-6);
  EXPECT_GT(large, 1.5 * usual);
  EXPECT_GT(Checked(attention("s + 3.7*(j + 5000)")).tolerance(), 20 * usual) << "scores of thousands keep 12 bits";
  EXPECT_LT(immense, 4e-6) << "large alone is not inexact: one key has all of the weight";
}

TEST(Tolerance, FollowsFromTheTypes) {
  std::string text = attention("s * dim^-0.5");
  auto with = [&](const std::string &type) {
    std::string other = text;
    for (size_t at; (at = other.find("f32")) != std::string::npos;)
      other.replace(at, 3, type);
    return Checked(other).tolerance();
  };
  EXPECT_NEAR(with("f16"), 2e-3, 1.2e-3);
  EXPECT_NEAR(with("bf16"), 1.6e-2, 1e-2);
}

TEST(Tolerance, FollowsFromThePartialSums) {
  // Each number that is added after a large term is rounded as the sum is.
  auto with = [](const std::string &large) {
    std::string text = "param N = 200\nkernel f(x : f32[16, N], w : f32[N, 32]) -> f32[16, 32] {\n"
                       "  y = einsum(\"i j -> i j\", x)\n  return einsum(\"i j, j d -> i d\", y * (100 if ";
    return Checked(text + large + " else 1), w)\n}\n").tolerance();
  };
  EXPECT_GT(with("j < 1"), 2 * with("j >= N - 1"));
}

TEST(Tolerance, WhatOnlyMovesElementsIsExact) {
  EXPECT_EQ(Checked("kernel f(x : f32[8, 6]) -> f32[6, 8] { return einsum(\"i j -> j i\", x) }").tolerance(), 3 * 0x1p-24);
}

TEST(Tolerance, IsNeverLessThanARoundingOfTheResult) {
  auto least = [](const std::string &operand, const std::string &result, ElementType type, bool isOnGpu) {
    Checked layer("kernel f(x : " + operand + "[8, 6]) -> " + result + "[6, 8] { return einsum(\"i j -> j i\", x) }");
    Judgement how{/*rows=*/1 << 20, /*seed=*/1, /*flops=*/0, isOnGpu};
    return llvm::cantFail(toleranceOf(layer.kernel->einsumFunction(), layer.operands, type, how, 1));
  };
  EXPECT_EQ(least("f16", "f16", ElementType::F16, false), 0x1p-11);
  EXPECT_EQ(least("bf16", "bf16", ElementType::BF16, false), 0x1p-8);
  // On a GPU, products have the operands' bits, whatever the result's type: as much as for a result of their type,
  // four times the most that one rounding does.
  const double kRoundings = 4 * 0.42 * std::sqrt(3);
  EXPECT_EQ(least("f16", "f32", ElementType::F32, false), 3 * 0x1p-24);
  EXPECT_NEAR(least("f16", "f32", ElementType::F32, true), kRoundings * 0x1p-11, 1e-9);
  EXPECT_NEAR(least("bf16", "f32", ElementType::F32, true), kRoundings * 0x1p-8, 1e-9);
  EXPECT_NEAR(least("bf16", "f16", ElementType::F16, true), kRoundings * 0x1p-8, 1e-9);
}

TEST(Tolerance, NumbersBelowTheNormalOnesAreWholeSteps) {
  auto with = [](const std::string &body, ElementType type, double largest) {
    std::string name = type == ElementType::F16 ? "f16" : "f32";
    Checked layer("kernel f(x : " + name + "[8, 6]) -> " + name + "[8, 6] { return " + body + " }");
    return llvm::cantFail(
        toleranceOf(layer.kernel->einsumFunction(), layer.operands, type, Judgement{/*rows=*/1 << 20}, largest));
  };
  constexpr double kHalfStep = 0x1p-25, kSmall = 3e-6; // about as large as the largest number
  EXPECT_EQ(with("x", ElementType::F16, kSmall), kHalfStep / kSmall);
  EXPECT_EQ(with("x", ElementType::F32, kSmall), 3 * 0x1p-24);
  EXPECT_EQ(with("x", ElementType::F16, 0x1p-14), 0x1p-11) << "the smallest normal number";
  double product = with("x * 0.000001", ElementType::F16, kSmall);
  EXPECT_GT(product, 3 * kHalfStep / kSmall);
  EXPECT_LE(product, 4 * kHalfStep / kSmall);
  EXPECT_LT(with("x * 0.000001", ElementType::F32, kSmall), 1e-6);
  // A number that rounds to 0 is off by no more than its own size.
  EXPECT_LE(with("x * 0.000000001", ElementType::F16, 3e-9), 10);
}

TEST(Tolerance, IsTheSameForTheSameLayer) {
  EXPECT_EQ(Checked(attention("s")).tolerance(), Checked(attention("s")).tolerance());
}

TEST(Tolerance, LostBitsAreFound) {
  for (const char *scores : {"s * dim^-0.5", "s", "s + 3.7*(j + 5000)"}) {
    Checked layer(attention(scores));
    Comparison rounded = layer.judge([](double x) { return x; });
    EXPECT_LE(rounded.error, 0.5 * rounded.tolerance) << scores;
  }
  // A plain layer, for which kernels have an error of 5e-7 of the largest value: two bits less.
  Checked layer(attention("s * dim^-0.5"));
  Comparison coarse = layer.judge([&](double x) { return std::rint(x * 0x1p18) * 0x1p-18; });
  EXPECT_FALSE(coarse.within(coarse.tolerance)) << coarse.error << " of " << coarse.tolerance;
}

TEST(Tolerance, ThatStopsWithinGivesTheVerdictOfTheWhole) {
  Checked layer(attention("s"));
  double whole = layer.tolerance();
  int passed = 0, failed = 0;
  for (double share : {0.0, 0.1, 0.5, 0.9, 1.1, 3.0}) {
    // Moves the first number of the result by a share of the largest value, as errors are counted.
    double largest = layer.judge([](double x) { return x; }).largest;
    auto moved = [&](bool stopsWithin) {
      bool isFirst = true;
      return layer.judge([&](double x) { return std::exchange(isFirst, false) ? x + share * whole * largest : x; },
                         stopsWithin);
    };
    Comparison all = moved(false), some = moved(true);
    EXPECT_EQ(some.within(some.tolerance), all.within(all.tolerance)) << share;
    EXPECT_EQ(some.error, all.error);
    EXPECT_LE(some.tolerance, all.tolerance);
    if (!all.within(all.tolerance))
      EXPECT_EQ(some.tolerance, all.tolerance) << share;
    (all.within(all.tolerance) ? passed : failed) += 1;
  }
  EXPECT_EQ(passed, 4);
  EXPECT_EQ(failed, 2);
}

TEST(Tolerance, TensorCoresHaveMoreRoom) {
  Checked layer(attention("s"));
  auto of = [&](bool isOnGpu) {
    Judgement how{/*rows=*/1 << 20, /*seed=*/1, /*flops=*/0, isOnGpu};
    return llvm::cantFail(toleranceOf(layer.kernel->einsumFunction(), layer.operands, ElementType::F32, how, 1));
  };
  EXPECT_GT(of(true), 2 * of(false));
}
} // namespace
