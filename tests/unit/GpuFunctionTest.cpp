// Tests functions of plugins in GPU kernels: as lines by offset, times numbers of the query, for each score, and by
// rows.
#include "dialect/IR/ElementFunction.h"
#include "tests/unit/GpuLayers.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

using Emit = mlir::Value (*)(mlir::OpBuilder &, mlir::Location, mlir::Value);

/// The function f(x·y), where f is the operation under test.
class Function : public attn::ElementFunction {
public:
  Function(double (*meaning)(double), Emit operation) : meaning(meaning), operation(operation) {}
  llvm::StringRef name() const override { return "f"; }
  llvm::ArrayRef<llvm::StringLiteral> arguments() const override {
    static constexpr llvm::StringLiteral names[] = {"x", "y"};
    return names;
  }
  double evaluate(llvm::ArrayRef<double> x) const override { return meaning(x[0] * x[1]); }
  mlir::Value emit(mlir::OpBuilder &b, mlir::Location location, mlir::ValueRange x) const override {
    return operation(b, location, mlir::arith::MulFOp::create(b, location, x[0], x[1]));
  }
  double flops() const override { return 20; }

private:
  double (*meaning)(double);
  Emit operation;
};

template <typename Op> mlir::Value make(mlir::OpBuilder &b, mlir::Location location, mlir::Value x) {
  return Op::create(b, location, x);
}
mlir::Value real(mlir::OpBuilder &b, mlir::Location location, double x) {
  return mlir::arith::ConstantOp::create(b, location, b.getF32FloatAttr(float(x)));
}
/// Applies a function to x / (1 + |x|) if it is defined between -1 and 1, and to 1 + |x| if it takes positive numbers.
template <typename Op> mlir::Value ofFraction(mlir::OpBuilder &b, mlir::Location location, mlir::Value x) {
  mlir::Value size =
      mlir::arith::AddFOp::create(b, location, make<mlir::math::AbsFOp>(b, location, x), real(b, location, 1));
  return Op::create(b, location, mlir::arith::DivFOp::create(b, location, x, size));
}
template <typename Op> mlir::Value ofPositive(mlir::OpBuilder &b, mlir::Location location, mlir::Value x) {
  return Op::create(
      b, location,
      mlir::arith::AddFOp::create(b, location, make<mlir::math::AbsFOp>(b, location, x), real(b, location, 1)));
}
template <double (*F)(double)> double fraction(double x) { return F(x / (1 + std::fabs(x))); }
template <double (*F)(double)> double positive(double x) { return F(1 + std::fabs(x)); }

GpuLayer layerOf(const std::string &text, double (*meaning)(double), Emit operation) {
  return GpuLayer(text, [&](attn::AttnDialect *dialect) {
    attn::ElementFunctions::of(dialect).add(std::make_unique<Function>(meaning, operation));
  });
}

struct Case {
  const char *name;
  double (*meaning)(double);
  Emit operation;
};
double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
const Case kCases[] = {
    {"cos", std::cos, make<mlir::math::CosOp>},
    {"sin", std::sin, make<mlir::math::SinOp>},
    {"tan", fraction<std::tan>, ofFraction<mlir::math::TanOp>},
    {"acos", fraction<std::acos>, ofFraction<mlir::math::AcosOp>},
    {"asin", fraction<std::asin>, ofFraction<mlir::math::AsinOp>},
    {"atan", std::atan, make<mlir::math::AtanOp>},
    {"sinh", fraction<std::sinh>, ofFraction<mlir::math::SinhOp>},
    {"cosh", fraction<std::cosh>, ofFraction<mlir::math::CoshOp>},
    {"tanh", std::tanh, make<mlir::math::TanhOp>},
    {"erf", std::erf, make<mlir::math::ErfOp>},
    {"exp", fraction<std::exp>, ofFraction<mlir::math::ExpOp>},
    {"expm1", fraction<std::expm1>, ofFraction<mlir::math::ExpM1Op>},
    {"log", positive<std::log>, ofPositive<mlir::math::LogOp>},
    {"log1p", positive<std::log1p>, ofPositive<mlir::math::Log1pOp>},
    {"log2", positive<std::log2>, ofPositive<mlir::math::Log2Op>},
    {"sqrt", positive<std::sqrt>, ofPositive<mlir::math::SqrtOp>},
    {"rsqrt", positive<reciprocalRoot>, ofPositive<mlir::math::RsqrtOp>},
    {"floor", std::floor, make<mlir::math::FloorOp>},
    {"ceil", std::ceil, make<mlir::math::CeilOp>},
    {"trunc", std::trunc, make<mlir::math::TruncOp>},
    {"round", std::round, make<mlir::math::RoundOp>},
    {"roundeven", std::nearbyint, make<mlir::math::RoundEvenOp>},
};

/// Every operation that GpuMath.cpp lists gives its value.
TEST(GpuFunction, OperationsOfTheMathDialect) {
  std::string text = layer(sizes(5, 37, 8, 8), ", w : f32[heads]", kPlain + " + f(w[h], i - j)", "f32");
  for (const Case &one : kCases) {
    SCOPED_TRACE(one.name);
    GpuLayer compiled = layerOf(text, one.meaning, one.operation);
    GpuOutcome outcome = compiled.run();
    ASSERT_TRUE(outcome.lowered) << outcome.messages;
    EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
    EXPECT_LE(outcome.error, kWide);
  }
}

/// Tests the places of a function: the strategy and the numbers, fused and by rows, in f16 too.
TEST(GpuFunction, EveryPlaceOfATerm) {
  struct Place {
    const char *more, *score, *strategy;
  };
  const Place places[] = {
      {", w : f32[heads]", "f(w[h], i - j)", "line"},
      {", w : f32[heads]", "w[h] * f(w[h], abs(i - j) // 2)", "line"},
      {", w : f32[heads], g : f32[batch, heads, N]", "g[b, h, i] * f(w[h], j - i)", "gated_line"},
      {", w : f32[batch, heads, N]", "f(w[b, h, i], j - i)", "per_score"},
      {", w : f32[batch, heads, M]", "f(w[b, h, j], i)", "per_score"},
      {", w : f32[heads], g : f32[batch, heads, N]", "g[b, h, i] * f(w[h], i*j % 5)", "per_score"},
  };
  for (const Place &place : places)
    for (const char *type : {"f32", "f16"})
      for (bool fuse : {true, false}) {
        std::string text =
            layer(sizes(19, 70, 16, 16), place.more, kPlain + " + " + place.score, type, " where j <= i + 40");
        SCOPED_TRACE(text);
        GpuLayer compiled = layerOf(text, std::cos, make<mlir::math::CosOp>);
        GpuOptions options;
        options.rows = 16;
        options.keys = 32;
        options.fuse = fuse;
        GpuOutcome outcome = compiled.run(options);
        ASSERT_TRUE(outcome.lowered) << outcome.messages;
        EXPECT_EQ(outcome.launch.rows > 0, fuse) << outcome.launch.note;
        EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
        EXPECT_LE(outcome.error, type == std::string("f32") ? kWide : kHalf);
        if (fuse && type == std::string("f16")) {
          outcome = compiled.run(onWgmma(options));
          ASSERT_TRUE(outcome.lowered) << outcome.messages;
          EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
          EXPECT_LE(outcome.error, kHalf);
        }
        auto shape = compiled.shape();
        ASSERT_TRUE(shape);
        EXPECT_EQ(shape->strategies.back(), place.strategy);
      }
}

/// The functions also work element by element, outside an attention.
TEST(GpuFunction, ElementByElement) {
  std::string text = "kernel layer(x : f32[4, 24]) -> f32[4, 24] {\n  return f(x, 2) + x\n}\n";
  GpuLayer compiled = layerOf(text, std::cos, make<mlir::math::CosOp>);
  GpuOutcome outcome = compiled.run();
  ASSERT_TRUE(outcome.lowered) << outcome.messages;
  EXPECT_LE(outcome.error, kWide);
}

/// Results are exact to 3 units in the last place if they are normal numbers; other results are tested too.
TEST(GpuFunction, ExponentialsOfAnyNumber) {
  GpuOptions options;
  options.change = [](const std::string &, std::vector<double> &values) {
    for (size_t k = 0; k < values.size(); ++k)
      values[k] = float(-87.0 + 175.5 * double(k) / double(values.size()));
    values[0] = INFINITY, values[1] = -INFINITY, values[2] = NAN, values[3] = 0, values[4] = 1000, values[5] = -1000;
  };
  GpuLayer compiled("kernel layer(x : f32[40, 100]) -> f32[40, 100] {\n  return exp(x)\n}\n");
  GpuOutcome outcome = compiled.run(options);
  ASSERT_TRUE(outcome.lowered) << outcome.messages;
  EXPECT_EQ(outcome.got[0], INFINITY);
  EXPECT_EQ(outcome.got[1], 0);
  EXPECT_TRUE(std::isnan(outcome.got[2]));
  EXPECT_EQ(outcome.got[3], 1);
  EXPECT_EQ(outcome.got[4], INFINITY);
  EXPECT_EQ(outcome.got[5], 0);
  for (size_t k = 6; k < outcome.got.size(); ++k)
    EXPECT_NEAR(outcome.got[k] / outcome.expected[k], 1, 3 * 0x1p-24 * 2) << outcome.expected[k];
}

/// Tests numbers of all exponents: the error in units in the last place, that the function is odd and never above 1,
/// and that it is exactly 1 from `isOne` on.
static void expectSaturates(const char *function, double units, double isOne) {
  SCOPED_TRACE(function);
  GpuOptions options;
  std::vector<double> arguments;
  options.change = [&](const std::string &, std::vector<double> &values) {
    for (size_t k = 0; k < values.size(); ++k) {
      int64_t step = int64_t(k / 2) % 1000;
      double size = k < 2000 ? std::ldexp(1 + 0.001 * double(step), int(step % 240) - 120) : 0.0001 + 0.01 * double(step);
      values[k] = float(k % 2 ? -size : size);
    }
    values[0] = INFINITY, values[1] = -INFINITY, values[2] = NAN, values[3] = NAN, values[4] = 0, values[5] = -0.0;
    arguments = values;
  };
  GpuLayer compiled(std::string("kernel layer(x : f32[40, 100]) -> f32[40, 100] {\n  return ") + function + "(x)\n}\n");
  GpuOutcome outcome = compiled.run(options);
  ASSERT_TRUE(outcome.lowered) << outcome.messages;
  for (size_t k = 0; k < outcome.got.size(); ++k) {
    double x = arguments[k], got = outcome.got[k], expected = outcome.expected[k];
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(got));
      continue;
    }
    EXPECT_LE(std::abs(got), 1) << x;
    EXPECT_EQ(got, -outcome.got[k ^ 1]) << x;
    if (std::abs(x) >= isOne)
      EXPECT_EQ(std::abs(got), 1) << x;
    else if (x != 0)
      EXPECT_LE(std::abs(got - expected), units * std::ldexp(1, std::ilogb(expected) - 23)) << x << " gives " << got;
  }
}
TEST(GpuFunction, HyperbolicTangentsEndAtOne) { expectSaturates("tanh", 2.6, 9.02); }
TEST(GpuFunction, ErrorFunctionEndsAtOne) { expectSaturates("erf", 2, 4); }

/// A function without an instruction or a polynomial is refused at its call, with a list of what a GPU takes.
TEST(GpuFunction, OperationsThatAreNotThere) {
  std::string text =
      "size batch\nkernel layer(x : f32[batch, 24]) -> f32[batch, 24] {\n  return x +\n         f(x, 2)\n}\n";
  GpuLayer compiled = layerOf(text, std::cbrt, make<mlir::math::CbrtOp>);
  GpuOutcome outcome = compiled.run();
  EXPECT_FALSE(outcome.lowered);
  EXPECT_NE(outcome.messages.find("test.attn\":4:10"), std::string::npos) << outcome.messages;
  EXPECT_NE(outcome.messages.find("no GPU kernel can hold 'math.cbrt'"), std::string::npos) << outcome.messages;
}

} // namespace
