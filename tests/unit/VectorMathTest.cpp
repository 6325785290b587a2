// Tests functions that kernels compute in vectors, over numbers of all exponents and at every width: their errors in
// units in the last place, the ends of their ranges, and exact results there.
#include "passes/Emit/VectorMath.h"
#include "EmittedTesting.h"
#include "passes/Emit/IntegerLanes.h"
#include <cmath>

using namespace skewer;
using skewer::testing::runEmitted;

namespace {
using Function = mlir::Value (*)(VectorBuilder &, mlir::Value);
using Meaning = long double (*)(long double);

struct Width {
  const char *target;
  bool fuses; // has FMA
};
/// Returns the vector widths of this machine.
std::vector<Width> widths() {
  std::vector<Width> some;
  for (Width width : {Width{"x86-64-v2", false}, {"x86-64-v3", true}, {"x86-64-v4", true}})
    if (findTarget(width.target)->lanes <= hostTarget().lanes)
      some.push_back(width);
  return some;
}

/// Computes a function of numbers in emitted code, which reads them from a table in a loop, so that nothing is computed
/// at compile time.
std::vector<float> valuesOf(std::vector<float> arguments, Function function, const char *target) {
  while (arguments.size() % 16)
    arguments.push_back(0);
  std::vector<int32_t> bits(arguments.size());
  std::memcpy(bits.data(), arguments.data(), bits.size() * 4);
  return runEmitted(
      int64_t(arguments.size()),
      [&](VectorBuilder &b, mlir::Value out) {
        mlir::Value table = integerTable(b, bits);
        b.loop(b.index(0), b.index(int64_t(arguments.size())), b.lanes, [&](mlir::Value n) {
          mlir::Value x = mlir::arith::BitcastOp::create(b.builder, b.vector, loadIntegers(b, table, n));
          b.store(function(b, x), out, n);
        });
      },
      target);
}

/// Returns numbers of both signs: each power of two of a float, its neighbours, and some numbers between it and the
/// next.
std::vector<float> allMagnitudes() {
  std::vector<float> numbers;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    float power = std::ldexp(1.0f, exponent);
    for (float x : {power, std::nextafter(power, INFINITY), std::nextafter(power, 0.0f)})
      numbers.insert(numbers.end(), {x, -x});
    for (float x = 1.03125f; x < 2 && exponent >= -126; x += 0.0546875f)
      numbers.insert(numbers.end(), {x * power, -x * power});
  }
  numbers.insert(numbers.end(), {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN});
  return numbers;
}

/// Returns every n-th number of a range.
std::vector<float> steps(double low, double high, double step) {
  std::vector<float> numbers;
  for (double x = low; x <= high; x += step)
    numbers.push_back(float(x));
  return numbers;
}

/// Returns the error in units in the last place of the right value. Below the normal numbers, 0 and f32's own value are
/// right.
long double unitsOff(float got, long double expected) {
  if (std::isnan(expected) || std::isinf(float(expected)))
    return got == float(expected) || (std::isnan(got) && std::isnan(expected)) ? 0 : INFINITY;
  if (std::abs(expected) < 0x1p-126L)
    return std::abs(got) <= 0x1p-126f ? 0 : INFINITY;
  int exponent;
  std::frexp(expected, &exponent);
  return std::abs(got - expected) / std::ldexp(1.0L, exponent - 24);
}

/// Returns 0 for a number that counts as 0 in a kernel.
float counted(float x) { return std::abs(x) < 0x1p-126f ? 0 : x; }

/// Checks that no value is off by more than this many units, with FMA and without it.
void expectUnits(const std::vector<float> &arguments, Function function, Meaning meaning, long double fused,
                 long double unfused) {
  for (const Width &width : widths()) {
    SCOPED_TRACE(width.target);
    std::vector<float> got = valuesOf(arguments, function, width.target);
    size_t worst = 0;
    long double most = 0;
    for (size_t n = 0; n < arguments.size(); ++n)
      if (long double units = unitsOff(got[n], meaning(counted(arguments[n]))); !(units <= most))
        most = units, worst = n;
    EXPECT_LE(most, width.fuses ? fused : unfused) << arguments[worst] << " gives " << got[worst];
  }
}

mlir::Value weight(VectorBuilder &b, mlir::Value x) { return expOfWeight(b, x); }

//===- Exponentials ------------------------------------------------------------===//

TEST(VectorMath, Exponentials) {
  expectUnits(allMagnitudes(), vectorExp, std::exp, 1, 1.3L);
  expectUnits(steps(-87.3, 88.7, 0.0078125 * 3), vectorExp, std::exp, 1, 1.3L);
}
/// Tests the last 200 floats before the result leaves the normal numbers, and before it leaves the finite ones.
TEST(VectorMath, ExponentialsAtTheEnds) {
  std::vector<float> arguments;
  for (float end : {-87.3365448f, 88.7228394f}) {
    float x = end;
    for (int n = 0; n < 100; ++n)
      x = std::nextafter(x, -INFINITY);
    for (int n = 0; n < 200; ++n, x = std::nextafter(x, INFINITY))
      arguments.push_back(x);
  }
  // Just above the first end the result may be 2^-126 less a unit, which is 0.
  for (const Width &width : widths()) {
    std::vector<float> got = valuesOf(arguments, vectorExp, width.target);
    for (size_t n = 0; n < arguments.size(); ++n)
      EXPECT_TRUE(unitsOff(got[n], std::exp((long double)(arguments[n]))) <= 1.3L ||
                  (arguments[n] < -87.3365f && got[n] == 0))
          << arguments[n] << " gives " << got[n];
  }
}

/// Weights are exponentials of differences from the largest score: 1 at that score, 0 for hidden keys. With FMA a
/// smaller weight has a larger error, because its multiple of log2(e) is rounded once.
TEST(VectorMath, Weights) {
  expectUnits(steps(-4, 0, 0.000244140625 * 3), weight, std::exp, 1, 1.2L);
  expectUnits(steps(-16, -4, 0.0009765625 * 3), weight, std::exp, 1.4L, 1.2L);
  expectUnits(steps(-87.3, -16, 0.00390625 * 3), weight, std::exp, 4.5L, 1.2L);
  for (const Width &width : widths()) {
    std::vector<float> ends = {0, -0.0f, -87.3365f, -87.34f, -88, -1e30f, -3.4028235e38f, -INFINITY, NAN, -1e-30f};
    std::vector<float> got = valuesOf(ends, weight, width.target);
    EXPECT_EQ(got[0], 1);
    EXPECT_EQ(got[1], 1);
    EXPECT_GT(got[2], 0);
    for (int n = 3; n < 8; ++n)
      EXPECT_EQ(got[n], 0) << ends[n];
    EXPECT_TRUE(std::isnan(got[8]));
    EXPECT_EQ(got[9], 1);
  }
}

//===- tanh and erf ------------------------------------------------------------===//

/// Checks that a function is odd, bit for bit, zeros included, that it is never above 1, and that it is 1 from `isOne`
/// on. Subnormal numbers may be 0.
void expectSaturates(Function function, float isOne) {
  std::vector<float> arguments = allMagnitudes();
  for (float x = 0.8f * isOne; x < 1.2f * isOne; x *= 1.0001f)
    arguments.insert(arguments.end(), {x, -x});
  for (const Width &width : widths()) {
    SCOPED_TRACE(width.target);
    std::vector<float> got = valuesOf(arguments, function, width.target);
    for (size_t n = 0; n < arguments.size(); n += 2) {
      float x = arguments[n];
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(got[n]) && std::isnan(got[n + 1]));
        continue;
      }
      EXPECT_EQ(got[n], -got[n + 1]) << x;
      EXPECT_EQ(std::signbit(got[n]), std::signbit(x)) << x;
      EXPECT_LE(std::abs(got[n]), 1) << x;
      if (std::abs(x) >= isOne)
        EXPECT_EQ(std::abs(got[n]), 1) << x;
    }
  }
}

TEST(VectorMath, HyperbolicTangents) {
  expectUnits(allMagnitudes(), vectorTanh, std::tanh, 2.6L, 3);
  expectUnits(steps(-9.2, 9.2, 0.0009765625 * 3), vectorTanh, std::tanh, 2.6L, 3);
}
TEST(VectorMath, HyperbolicTangentsEndAtOne) { expectSaturates(vectorTanh, 9.02f); }

TEST(VectorMath, ErrorFunction) {
  expectUnits(allMagnitudes(), vectorErf, std::erf, 1.1L, 1.4L);
  expectUnits(steps(-4.2, 4.2, 0.00048828125 * 3), vectorErf, std::erf, 1.1L, 1.4L);
}
TEST(VectorMath, ErrorFunctionEndsAtOne) { expectSaturates(vectorErf, 4); }
} // namespace
