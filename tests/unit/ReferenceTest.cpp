// Compares the float64 reference with numbers computed by hand.
#include "codegen/Reference/Reference.h"
#include "codegen/Reference/IndexText.h"
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tests/unit/RandomExpr.h"
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace {
using namespace mlir;
using namespace skewer::reference;

Tensor filled(std::vector<int64_t> shape, std::function<double(int64_t)> element) {
  Tensor tensor{std::move(shape), {}};
  for (int64_t n = 0; n < tensor.elements(); ++n)
    tensor.values.push_back(element(n));
  return tensor;
}

class ReferenceTest : public ::testing::Test {
protected:
  ReferenceTest() {
    context.loadDialect<skewer::attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect,
                        tensor::TensorDialect>();
  }

  std::unique_ptr<Interpreter> interpret(const std::string &text, std::vector<Tensor> inputs) {
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return nullptr;
    return std::make_unique<Interpreter>(*module->getOps<func::FuncOp>().begin(), std::move(inputs));
  }

  /// Returns all elements of the result, row after row.
  std::vector<double> all(const std::string &text, std::vector<Tensor> inputs) {
    auto interpreter = interpret(text, std::move(inputs));
    if (!interpreter) {
      ADD_FAILURE() << "does not parse: " << text;
      return {};
    }
    std::vector<double> values;
    for (const auto &leading : sampleRows(interpreter->resultShape(), 1 << 20, 1)) {
      auto row = interpreter->row(leading);
      if (!row) {
        ADD_FAILURE() << row.reason;
        return {};
      }
      values.insert(values.end(), row->begin(), row->end());
    }
    return values;
  }

  static void expectNear(const std::vector<double> &actual, const std::vector<double> &expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t n = 0; n < actual.size(); ++n)
      if (std::isnan(expected[n]))
        EXPECT_TRUE(std::isnan(actual[n])) << "element " << n << " is " << actual[n];
      else
        EXPECT_NEAR(actual[n], expected[n], 1e-12) << "element " << n;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Returns the softmax of the given scores, times the values.
std::string softmaxTimesValues(const std::string &mask, int size) {
  std::string n = std::to_string(size), square = "tensor<" + n + "x" + n + "xf32>", values = "tensor<" + n + "x1xf32>";
  return "func.func @f(%s: " + square + ", %v: " + values + ") -> " + values + " {\n" +
         "%p = attn.softmax \"i j\" over \"j\" " + (mask.empty() ? "" : "where \"" + mask + "\" ") +
         "(%s) : " + square + "\n%o = attn.einsum \"i j, j e -> i e\" (%p, %v) : (" + square + ", " + values + ") -> " +
         values + "\nreturn %o : " + values + " }";
}

TEST_F(ReferenceTest, PlainAttention) {
  // q = identity, k = [[ln 2, 0], [0, ln 3]]: scores [[ln 2, 0], [0, ln 3]], weights [[2/3, 1/3], [1/4, 3/4]].
  const char *text =
      R"ir(func.func @f(%q: tensor<2x2xf32>, %k: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %s = attn.einsum "i d, j d -> i j" (%q, %k) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %p = attn.softmax "i j" over "j" (%s) : tensor<2x2xf32>
    %o = attn.einsum "i j, j e -> i e" (%p, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %o : tensor<2x2xf32> })ir";
  expectNear(all(text, {{{2, 2}, {1, 0, 0, 1}}, {{2, 2}, {std::log(2), 0, 0, std::log(3)}}, {{2, 2}, {3, 6, 9, 12}}}),
             {5, 8, 7.5, 10.5});
}

TEST_F(ReferenceTest, RelativeRowsAreOffsets) {
  // Rows 0 … 6 of the table hold -3 … 3, so element (i, j) is q_i·(j - i).
  const char *text = R"ir(func.func @f(%q: tensor<4x1xf32>, %t: tensor<7x1xf32>) -> tensor<4x4xf32> {
    %r = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64} (%q, %t)
      : (tensor<4x1xf32>, tensor<7x1xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32> })ir";
  expectNear(all(text, {{{4, 1}, {1, 10, 100, 1000}}, filled({7, 1}, [](int64_t n) { return n - 3; })}),
             {0, 1, 2, 3, -10, 0, 10, 20, -200, -100, 0, 100, -3000, -2000, -1000, 0});
}

TEST_F(ReferenceTest, TheSkewIsPadReshapeSlice) {
  std::vector<double> byName = all(R"ir(func.func @f(%x: tensor<2x3x5xf32>) -> tensor<2x3x3xf32> {
    %r = attn.skew %x : tensor<2x3x5xf32> to tensor<2x3x3xf32>
    return %r : tensor<2x3x3xf32> })ir",
                                   {filled({2, 3, 5}, [](int64_t n) { return n; })});
  // Row i of three starts at column 2 - i.
  expectNear(byName, {2, 3, 4, 6, 7, 8, 10, 11, 12, 17, 18, 19, 21, 22, 23, 25, 26, 27});
  std::vector<double> written = all(R"ir(func.func @f(%x: tensor<2x3x5xf32>) -> tensor<2x3x3xf32> {
    %a = attn.pad %x low [0, 0, 0] high [0, 0, 1] value 7.0 : tensor<2x3x5xf32> to tensor<2x3x6xf32>
    %b = attn.reshape %a : tensor<2x3x6xf32> to tensor<2x18xf32>
    %c = attn.pad %b low [0, 0] high [0, 2] : tensor<2x18xf32> to tensor<2x20xf32>
    %d = attn.reshape %c : tensor<2x20xf32> to tensor<2x4x5xf32>
    %e = attn.slice %d offsets [0, 0, 2] strides [1, 1, 1] : tensor<2x4x5xf32> to tensor<2x3x3xf32>
    return %e : tensor<2x3x3xf32> })ir",
                                    {filled({2, 3, 5}, [](int64_t n) { return n; })});
  expectNear(written, byName);
}

TEST_F(ReferenceTest, PaddingShowsItsValue) {
  expectNear(all(R"ir(func.func @f(%x: tensor<2xf32>) -> tensor<5xf32> {
    %a = attn.pad %x low [1] high [2] value 7.0 : tensor<2xf32> to tensor<5xf32>
    return %a : tensor<5xf32> })ir",
                 {{{2}, {1, 2}}}),
             {7, 1, 2, 7, 7});
}

TEST_F(ReferenceTest, GatherAndRearrange) {
  expectNear(all(R"ir(func.func @f(%x: tensor<3x2xf32>) -> tensor<2x2x2xf32> {
    %r = attn.gather %x dimension 0 indices dense<[[2, 0], [1, 2]]> : tensor<2x2xi64>
      : tensor<3x2xf32> to tensor<2x2x2xf32>
    return %r : tensor<2x2x2xf32> })ir",
                 {filled({3, 2}, [](int64_t n) { return n; })}),
             {4, 5, 0, 1, 2, 3, 4, 5});
  expectNear(all(R"ir(func.func @f(%x: tensor<2x6xf32>) -> tensor<3x2x2x2xf32> {
    %r = attn.rearrange "a (x y) -> y a r x" sizes {x = 2 : i64, r = 2 : i64} %x : tensor<2x6xf32> to tensor<3x2x2x2xf32>
    return %r : tensor<3x2x2x2xf32> })ir",
                 {filled({2, 6}, [](int64_t n) { return n; })}),
             {0, 3, 0, 3, 6, 9, 6, 9, 1, 4, 1, 4, 7, 10, 7, 10, 2, 5, 2, 5, 8, 11, 8, 11});
}

TEST_F(ReferenceTest, MaskedKeysTakeNoPart) {
  // Scores and values of masked keys may be NaN.
  std::vector<double> scores = {0, kNaN, kNaN, 0, 0, kNaN, 0, 0, std::log(2)};
  expectNear(all(softmaxTimesValues("j <= i", 3), {{{3, 3}, scores}, {{3, 1}, {1, 3, 8}}}), {1, 2, 5});
  expectNear(all(softmaxTimesValues("j <= i", 3), {{{3, 3}, scores}, {{3, 1}, {1, 3, kNaN}}}), {1, 2, kNaN});
  expectNear(all(softmaxTimesValues("j < 2 and j <= i", 3), {{{3, 3}, scores}, {{3, 1}, {1, 3, kNaN}}}), {1, 2, 2});
}

TEST_F(ReferenceTest, AVisibleNaNMakesItsRowNaN) {
  expectNear(all(softmaxTimesValues("", 2), {{{2, 2}, {0, kNaN, 0, 0}}, {{2, 1}, {1, 3}}}), {kNaN, 2});
}

TEST_F(ReferenceTest, EmptyRowsAreZero) {
  expectNear(all(softmaxTimesValues("j < i", 2), {{{2, 2}, {kNaN, 5, 5, kNaN}}, {{2, 1}, {4, kNaN}}}), {0, 4});
}

TEST_F(ReferenceTest, ScaledWeightsKeepTheirMask) {
  const char *text =
      R"ir(func.func @f(%s: tensor<2x2xf32>, %v: tensor<2x1xf32>, %g: tensor<2x2xf32>) -> tensor<2x1xf32> {
    %p = attn.softmax "i j" over "j" where "j <= i" (%s) : tensor<2x2xf32>
    %w = arith.mulf %p, %g : tensor<2x2xf32>
    %o = attn.einsum "i j, j e -> i e" (%w, %v) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
    return %o : tensor<2x1xf32> })ir";
  expectNear(all(text, {{{2, 2}, {0, 0, 0, 0}}, {{2, 1}, {3, kNaN}}, {{2, 2}, {2, kNaN, 1, 1}}}), {6, kNaN});
}

TEST_F(ReferenceTest, AReadBehindTheMaskMayLeaveTheTable) {
  // Row j - i + 1 of two: outside for j > i, which the mask takes away; on the value side as well.
  const char *text = R"ir(func.func @f(%q: tensor<2x1xf32>, %t: tensor<2x1xf32>) -> tensor<2x1xf32> {
    %s = attn.einsum "i d, (j - i + 1) d -> i j" where "j <= i" sizes {j = 2 : i64} (%q, %t)
      : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %p = attn.softmax "i j" over "j" where "j <= i" (%s) : tensor<2x2xf32>
    %o = attn.einsum "i j, (j - i + 1) e -> i e" where "j <= i" (%p, %t)
      : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
    return %o : tensor<2x1xf32> })ir";
  // Row 1 has scores q·[0, ln 3]: weights 1/4, 3/4.
  expectNear(all(text, {{{2, 1}, {5, 1}}, {{2, 1}, {0, std::log(3)}}}), {std::log(3), 0.75 * std::log(3)});
}

TEST_F(ReferenceTest, ARowThatAnExpressionPicksIsALine) {
  // The guard hides products of the second einsum. They are absent, so the rows that they would meet count for nothing.
  constexpr int64_t kCount = 5, kLong = 10;
  const char *text = R"ir(func.func @f(%q: tensor<5x10xf32>, %t: tensor<5x10xf32>) -> tensor<5x5xf32> {
    %s = attn.einsum "i d, (clamp(j - i, -1, 1) + 1) d -> i j" sizes {j = 5 : i64} (%q, %t)
      : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x5xf32>
    %p = attn.einsum "i d, j d -> i j d" where "abs(j - i) < 3" (%q, %q)
      : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x5x10xf32>
    %r = attn.einsum "i j d, (abs(j - i)) d -> i j" (%p, %t) : (tensor<5x5x10xf32>, tensor<5x10xf32>) -> tensor<5x5xf32>
    %o = arith.addf %s, %r : tensor<5x5xf32>
    return %o : tensor<5x5xf32> })ir";
  Tensor q = filled({kCount, kLong}, [](int64_t n) { return double(n % 7) - 2; });
  Tensor t = filled({kCount, kLong}, [](int64_t n) { return double(n % 11) - 3; });
  std::vector<double> expected;
  for (int64_t i = 0; i < kCount; ++i)
    for (int64_t j = 0; j < kCount; ++j) {
      double sum = 0;
      int64_t clamped = std::clamp<int64_t>(j - i, -1, 1) + 1, distance = std::abs(j - i);
      for (int64_t d = 0; d < kLong; ++d) {
        sum += q.values[i * kLong + d] * t.values[clamped * kLong + d];
        if (distance < 3)
          sum += q.values[i * kLong + d] * q.values[j * kLong + d] * t.values[distance * kLong + d];
      }
      expected.push_back(sum);
    }
  expectNear(all(text, {q, t}), expected);
}

TEST_F(ReferenceTest, LinesThatLieApartAreReadFromCopies) {
  // x + x is computed and read along its first dimension, w along its columns backwards, m along its diagonal.
  constexpr int64_t kLong = 12, kRows = 3;
  const char *text =
      R"ir(func.func @f(%x: tensor<12x3xf32>, %w: tensor<12x2xf32>, %m: tensor<12x12xf32>) -> tensor<3x2xf32> {
    %y = arith.addf %x, %x : tensor<12x3xf32>
    %p = attn.einsum "c i, (11 - c) e -> i e" (%y, %w) : (tensor<12x3xf32>, tensor<12x2xf32>) -> tensor<3x2xf32>
    %d = attn.einsum "c i, c c -> i" (%y, %m) : (tensor<12x3xf32>, tensor<12x12xf32>) -> tensor<3xf32>
    %r = attn.rearrange "i -> i e" sizes {e = 2 : i64} %d : tensor<3xf32> to tensor<3x2xf32>
    %s = arith.addf %p, %r : tensor<3x2xf32>
    return %s : tensor<3x2xf32> })ir";
  Tensor x = filled({kLong, kRows}, [](int64_t n) { return double(n % 7) - 2; });
  Tensor w = filled({kLong, 2}, [](int64_t n) { return double(n % 5) - 1; });
  Tensor m = filled({kLong, kLong}, [](int64_t n) { return double(n % 11) - 3; });
  std::vector<double> expected;
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t e = 0; e < 2; ++e) {
      double sum = 0;
      for (int64_t c = 0; c < kLong; ++c)
        sum += 2 * x.values[c * kRows + i] * (w.values[(kLong - 1 - c) * 2 + e] + m.values[c * kLong + c]);
      expected.push_back(sum);
    }
  expectNear(all(text, {x, w, m}), expected);
}

TEST_F(ReferenceTest, ComputedFactorsOfHiddenKeysAreNotRead) {
  // The mask leaves the keys up to the query. Later keys would be read outside the two rows of the table.
  const char *text = R"ir(func.func @f(%s: tensor<10x10xf32>, %t: tensor<10x1xf32>) -> tensor<10x1xf32> {
    %p = attn.softmax "i j" over "j" where "j <= i" (%s) : tensor<10x10xf32>
    %v = attn.einsum "(9 - 9 * (i < j) - (i - j)) e -> i j e" sizes {i = 10 : i64, j = 10 : i64} (%t)
      : (tensor<10x1xf32>) -> tensor<10x10x1xf32>
    %o = attn.einsum "i j, i j e -> i e" (%p, %v) : (tensor<10x10xf32>, tensor<10x10x1xf32>) -> tensor<10x1xf32>
    return %o : tensor<10x1xf32> })ir";
  std::vector<double> expected;
  for (int i = 0; i < 10; ++i) { // the mean of rows 9 - i … 9
    double sum = 0;
    for (int row = 9 - i; row <= 9; ++row)
      sum += row;
    expected.push_back(sum / (i + 1));
  }
  expectNear(all(text, {filled({10, 10}, [](int64_t) { return 0.0; }), filled({10, 1}, [](int64_t n) { return double(n); })}),
             expected);
}

TEST_F(ReferenceTest, PositionsAndFunctions) {
  expectNear(all(R"ir(func.func @f() -> tensor<2x3xf32> {
    %a = attn.position "i j" = "abs(i - j)" : tensor<2x3xf32>
    %two = arith.constant dense<2.0> : tensor<2x3xf32>
    %b = math.exp2 %a : tensor<2x3xf32>
    %c = arith.divf %b, %two : tensor<2x3xf32>
    %d = arith.negf %c : tensor<2x3xf32>
    return %d : tensor<2x3xf32> })ir",
                 {}),
             {-0.5, -1, -2, -1, -0.5, -1});
}

TEST_F(ReferenceTest, ProductsOfAxes) {
  // A map of 1×2 queries and keys: the column offset jx - ix + 1 picks the row.
  expectNear(all(R"ir(func.func @f(%q: tensor<2x1xf32>, %t: tensor<3x1xf32>) -> tensor<2x2xf32> {
    %r = attn.einsum "(iy ix) d, (jx - ix + 1) d -> (iy ix) (jy jx)" sizes {iy = 1 : i64, ix = 2 : i64, jy = 1 : i64, jx = 2 : i64} (%q, %t)
      : (tensor<2x1xf32>, tensor<3x1xf32>) -> tensor<2x2xf32>
    return %r : tensor<2x2xf32> })ir",
                 {{{2, 1}, {1, 2}}, {{3, 1}, {5, 6, 7}}}),
             {6, 7, 10, 12});
}

TEST_F(ReferenceTest, RunTimeSizesComeFromOperands) {
  // A bias of positions, repeated along a batch that only the input knows; "over" a name of several letters.
  const char *text = R"ir(func.func @f(%x: tensor<?x2x2xf32>) -> tensor<?x2x2xf32> {
    %zero = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %n = tensor.dim %x, %zero : tensor<?x2x2xf32>
    %ones = tensor.splat %one[%n] : tensor<?xf32>
    %p = attn.position "iy jy" = "jy - iy" : tensor<2x2xf32>
    %b = attn.einsum "iy jy, batch -> batch iy jy" (%p, %ones) : (tensor<2x2xf32>, tensor<?xf32>) -> tensor<?x2x2xf32>
    %s = arith.addf %x, %b : tensor<?x2x2xf32>
    %w = attn.softmax "batch iy jy" over "jy" (%s) : tensor<?x2x2xf32>
    return %w : tensor<?x2x2xf32> })ir";
  double l = std::log(3);
  // Scores [[1, 1 + ln 3], [1, 1 + ln 3]] in the first of the batch, all equal in the second.
  expectNear(all(text, {{{2, 2, 2}, {1, l, 2, 1 + l, 1, 0, 1, 0}}}), {0.25, 0.75, 0.25, 0.75, 0.5, 0.5, 0.5, 0.5});
}

TEST_F(ReferenceTest, UnknownOperationsAreNamed) {
  auto interpreter = interpret(R"ir(func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %a = math.cbrt %x : tensor<2xf32>
    return %a : tensor<2xf32> })ir",
                               {{{2}, {1, 2}}});
  ASSERT_TRUE(interpreter);
  auto row = interpreter->row({});
  EXPECT_FALSE(row);
  EXPECT_NE(row.reason.find("math.cbrt"), std::string::npos) << row.reason;
}

TEST_F(ReferenceTest, WrongInputsAreRefused) {
  auto interpreter =
      interpret(R"ir(func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> })ir",
                {filled({3, 2}, [](int64_t) { return 0; })});
  auto row = interpreter->row({0});
  EXPECT_FALSE(row);
  EXPECT_NE(row.reason.find("input 0"), std::string::npos) << row.reason;
}

/// Returns the value of an expression of i and j at a point, by the reference's own parser.
int64_t value(const std::string &text, int64_t i, int64_t j) {
  auto expression = parseExpression(text);
  int64_t axes[] = {i, j}, result = -999;
  EXPECT_TRUE(expression) << expression.reason;
  if (!expression)
    return result;
  EXPECT_FALSE(expression->bind({"i", "j"}));
  EXPECT_TRUE(expression->evaluate(axes, result)) << text;
  return result;
}

TEST(ReferenceExpression, ValuesByHand) {
  EXPECT_EQ(value("j - i + 3", 1, 2), 4);
  EXPECT_EQ(value("i - j - 1", 5, 2), 2);
  EXPECT_EQ(value("(i - j) floordiv 2", 0, 3), -2);
  EXPECT_EQ(value("(i - j) mod 4", 0, 3), 1);
  EXPECT_EQ(value("-i mod 4", 1, 0), 3);
  EXPECT_EQ(value("2 * i // 3", 4, 0), 2);
  EXPECT_EQ(value("clamp(j - i, -2, 1) + 2", 0, 9), 3);
  EXPECT_EQ(value("clamp(j - i, -2, 1) + 2", 9, 0), 0);
  EXPECT_EQ(value("min(i, j, 1) + max(i, j)", 4, 7), 8);
  EXPECT_EQ(value("0 <= i < j", 3, 3), 0);
  EXPECT_EQ(value("0 <= i < j", 2, 3), 1);
  EXPECT_EQ(value("not i == j and abs(i - j) <= 4", 1, 5), 1);
  EXPECT_EQ(value("i == 1 or j == 1", 0, 0), 0);
  EXPECT_EQ(value("select(i == 0, 5, 10 floordiv i)", 0, 0), 5);
}

TEST(ReferenceExpression, WhatHasNoValue) {
  int64_t axes[] = {0}, result;
  auto expression = parseExpression("4 floordiv i");
  ASSERT_TRUE(expression);
  ASSERT_FALSE(expression->bind({"i"}));
  EXPECT_FALSE(expression->evaluate(axes, result));
  EXPECT_EQ(parseExpression("4 + i")->bind({"j"})->reason, "'i' is no axis");
  EXPECT_EQ(parseExpression("i +").reason, "an operand is missing at the end in 'i +'");
  EXPECT_EQ(parseExpression("i j").reason, "unexpected text after an index expression in 'i j'");
  EXPECT_FALSE(parseExpression("seg[i"));
  EXPECT_FALSE(parseExpression("seg[]"));
  EXPECT_FALSE(parseExpression(std::string(10000, '(') + "i"));
}

TEST(ReferenceExpression, ReadsIndexOperands) {
  auto seg = std::make_shared<IndexSource>();
  seg->shape = {2, 3};
  seg->values = {10, 11, 12, 20, 21, 22};
  auto expression = parseExpression("seg[i, clamp(j - 1, 0, 2)] - seg[0, 1]");
  ASSERT_TRUE(expression) << expression.reason;
  ASSERT_FALSE(expression->bind({"i", "j"}));
  auto error = expression->bindReads({});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->reason, "there is no index operand 'seg' of 2 dimensions");
  ASSERT_FALSE(expression->bindReads({{"seg", seg}}));
  int64_t result, inside[] = {1, 3}, outside[] = {2, 0};
  ASSERT_TRUE(expression->evaluate(inside, result));
  EXPECT_EQ(result, 22 - 11);
  EXPECT_FALSE(expression->evaluate(outside, result));
}

TEST(ReferenceExpression, AgreesWithTheDialectsEvaluator) {
  namespace subscript = skewer::subscript;
  namespace drawn = subscript::testing;
  drawn::RandomExpr random(7);
  size_t values = 0;
  for (int n = 0; n < 1500; ++n) {
    subscript::Expr e = n % 3 ? random.index(4) : random.predicate(3);
    subscript::Domain domain = random.domain();
    auto own = parseExpression(subscript::print(e));
    ASSERT_TRUE(own) << own.reason;
    ASSERT_FALSE(own->bind({"i", "j", "k"}));
    drawn::forEachPoint(domain, [&](const subscript::Assignment &at) {
      int64_t axes[] = {at.at("i"), at.at("j"), at.at("k")}, result = 0;
      auto expected = subscript::evaluate(e, at);
      bool has = own->evaluate(axes, result);
      ASSERT_EQ(has, expected.has_value()) << drawn::describe(e, domain);
      if (has) {
        ASSERT_EQ(result, *expected) << drawn::describe(e, domain);
      }
      values += has;
    });
  }
  EXPECT_GT(values, 10000u);
}

TEST(ReferenceRows, AllOrSeededWithCorners) {
  EXPECT_EQ(sampleRows({2, 3, 8}, 6, 1).size(), 6u);
  EXPECT_EQ(sampleRows({}, 6, 1).size(), 1u);
  auto rows = sampleRows({2, 5, 7, 8}, 20, 42);
  EXPECT_EQ(rows, sampleRows({2, 5, 7, 8}, 20, 42));
  std::set<std::vector<int64_t>> distinct(rows.begin(), rows.end());
  EXPECT_EQ(distinct.size(), 20u);
  for (int64_t a : {0, 1})
    for (int64_t b : {0, 4})
      for (int64_t c : {0, 6})
        EXPECT_TRUE(distinct.count({a, b, c})) << a << " " << b << " " << c;
}

TEST_F(ReferenceTest, ALongRowIsQuick) {
  auto interpreter =
      interpret(R"ir(func.func @f(%q: tensor<4096x64xf32>, %k: tensor<4096x64xf32>, %v: tensor<4096x64xf32>,
      %a: tensor<8191x64xf32>, %b: tensor<8191x64xf32>) -> tensor<4096x64xf32> {
    %c = attn.einsum "i d, j d -> i j" (%q, %k) : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<4096x4096xf32>
    %x = attn.einsum "i d, (j - i + 4095) d -> i j" sizes {j = 4096 : i64} (%q, %a)
      : (tensor<4096x64xf32>, tensor<8191x64xf32>) -> tensor<4096x4096xf32>
    %y = attn.einsum "i d, (i - j + 4095) d -> i j" sizes {j = 4096 : i64} (%q, %b)
      : (tensor<4096x64xf32>, tensor<8191x64xf32>) -> tensor<4096x4096xf32>
    %s = arith.addf %c, %x : tensor<4096x4096xf32>
    %t = arith.addf %s, %y : tensor<4096x4096xf32>
    %p = attn.softmax "i j" over "j" (%t) : tensor<4096x4096xf32>
    %o = attn.einsum "i j, j e -> i e" (%p, %v) : (tensor<4096x4096xf32>, tensor<4096x64xf32>) -> tensor<4096x64xf32>
    return %o : tensor<4096x64xf32> })ir",
                {filled({4096, 64}, [](int64_t n) { return (n % 7) * 0.01; }),
                 filled({4096, 64}, [](int64_t n) { return (n % 5) * 0.01; }),
                 filled({4096, 64}, [](int64_t n) { return 1 + n % 64; }),
                 filled({8191, 64}, [](int64_t n) { return (n % 3) * 0.01; }),
                 filled({8191, 64}, [](int64_t n) { return (n % 2) * 0.01; })});
  ASSERT_TRUE(interpreter);
  ASSERT_TRUE(interpreter->row({0}));
  auto begin = std::chrono::steady_clock::now();
  auto row = interpreter->row({2000});
  double milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(row);
  for (int64_t e = 0; e < 64; ++e) // every key has the same values, so the weights do not matter
    EXPECT_NEAR((*row)[e], 1 + e, 1e-9);
  RecordProperty("milliseconds", std::to_string(milliseconds));
  EXPECT_LT(milliseconds, 200); // a few in an optimised build
}
} // namespace
