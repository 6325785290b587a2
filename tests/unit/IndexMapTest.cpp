// Tests the index maps of pad, reshape, slice, skew, gather and rearrange: each against the operation's meaning on a
// tensor with numbered elements, and chains against the index expressions that the literature derives by hand.
#include "dialect/IR/Attn.h"
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace {
using namespace mlir;
using namespace skewer;
using namespace skewer::subscript;

/// Elements in row-major order.
struct Numbers {
  std::vector<int64_t> shape, elements;
};

Numbers iota(std::vector<int64_t> shape) {
  Numbers n{shape, {}};
  int64_t size = 1;
  for (int64_t s : shape)
    size *= s;
  for (int64_t k = 0; k < size; ++k)
    n.elements.push_back(k);
  return n;
}

std::vector<int64_t> unflatten(int64_t flat, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

class IndexMapTest : public ::testing::Test {
protected:
  IndexMapTest() { context.loadDialect<attn::AttnDialect, func::FuncDialect>(); }

  /// Returns the index maps of a straight chain of operations, in order. `%0` is the chain's input.
  std::vector<attn::IndexMapOpInterface> chain(const std::string &inputType, const std::string &body) {
    std::string text = "func.func @f(%x: " + inputType + ") {\n" + body + "\nreturn }";
    module = parseSourceString<ModuleOp>(text, &context);
    std::vector<attn::IndexMapOpInterface> ops;
    if (!module) {
      ADD_FAILURE() << "does not parse: " << text;
      return ops;
    }
    module->walk([&](attn::IndexMapOpInterface op) { ops.push_back(op); });
    return ops;
  }

  /// Returns the shape of a value, with `runtime` for run-time sizes.
  static std::vector<int64_t> shapeOf(Value value, int64_t runtime) {
    std::vector<int64_t> shape = attn::shapeOf(value);
    for (int64_t &size : shape)
      size = size == kRuntime ? runtime : size;
    return shape;
  }

  /// Returns the result of one operation on `input`, by its index map.
  static Numbers apply(attn::IndexMapOpInterface op, const Numbers &input) {
    attn::IndexMap map = op.getIndexMap();
    Numbers result = iota(shapeOf(op->getResult(0), input.shape.empty() ? 1 : input.shape[0]));
    EXPECT_EQ(map.subscripts.size(), input.shape.size());
    for (int64_t &element : result.elements) {
      Assignment at;
      std::vector<int64_t> index = unflatten(element, result.shape);
      for (size_t d = 0; d < index.size(); ++d)
        at["d" + std::to_string(d)] = index[d];
      auto inside = evaluate(map.inside, at);
      if (!inside) {
        ADD_FAILURE() << "'inside' has no value";
        return result;
      }
      if (!*inside) {
        element = int64_t(map.padding);
        continue;
      }
      int64_t flat = 0;
      for (size_t d = 0; d < map.subscripts.size(); ++d) {
        auto subscript = evaluate(map.subscripts[d], at);
        if (!subscript || *subscript < 0 || *subscript >= input.shape[d]) {
          ADD_FAILURE() << "subscript " << d << ", " << print(map.subscripts[d]) << ", leaves the operand";
          return result;
        }
        flat = flat * input.shape[d] + *subscript;
      }
      element = input.elements[flat];
    }
    return result;
  }

  /// Returns the result of a chain on a numbered operand.
  Numbers run(const std::string &inputType, const std::string &body, int64_t runtime = 2) {
    auto ops = chain(inputType, body);
    Numbers value;
    for (size_t k = 0; k < ops.size(); ++k) {
      if (k == 0)
        value = iota(shapeOf(ops[0].getMappedOperand(), runtime));
      value = apply(ops[k], value);
    }
    return value;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(IndexMapTest, PadPutsTheConstantOutside) {
  auto r =
      run("tensor<2x2xf32>", "%0 = attn.pad %x low [1, 0] high [0, 1] value -7.0 : tensor<2x2xf32> to tensor<3x3xf32>");
  EXPECT_EQ(r.elements, (std::vector<int64_t>{-7, -7, -7, 0, 1, -7, 2, 3, -7}));
}

TEST_F(IndexMapTest, PadLeavesRuntimeDimensionsAlone) {
  auto r = run("tensor<?x1xf32>", "%0 = attn.pad %x low [0, 1] high [0, 0] : tensor<?x1xf32> to tensor<?x2xf32>", 3);
  EXPECT_EQ(r.elements, (std::vector<int64_t>{0, 0, 0, 1, 0, 2}));
}

TEST_F(IndexMapTest, ReshapeKeepsTheOrderOfElements) {
  const std::pair<const char *, const char *> cases[] = {
      {"4x6", "24"},  {"24", "4x6"},  {"4x6", "6x4"},    {"2x3x4", "4x3x2"},   {"1x6", "6"},
      {"6", "1x6x1"}, {"2x1x3", "6"}, {"5x4x6", "5x24"}, {"5x4x6", "5x3x2x4"}, {"1x1", "1"},
      {"3x4", "3x4"}, {"4x9", "6x6"}, {"1", "1x1x1"},    {"2x6x1", "3x4"},     {"7x2x3", "7x3x2"}};
  for (auto [from, to] : cases) {
    std::string a = std::string("tensor<") + from + "xf32>", b = std::string("tensor<") + to + "xf32>";
    Numbers r = run(a, "%0 = attn.reshape %x : " + a + " to " + b);
    EXPECT_EQ(r.elements, iota(r.shape).elements) << from << " to " << to;
  }
}

TEST_F(IndexMapTest, ReshapeToAndFromRankZero) {
  EXPECT_EQ(run("tensor<1x1xf32>", "%0 = attn.reshape %x : tensor<1x1xf32> to tensor<f32>").elements,
            (std::vector<int64_t>{0}));
  auto ops = chain("tensor<f32>", "%0 = attn.reshape %x : tensor<f32> to tensor<1x1xf32>");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_TRUE(ops[0].getIndexMap().subscripts.empty());
}

TEST_F(IndexMapTest, ReshapeMapsALeadingRuntimeDimensionToItself) {
  auto ops = chain("tensor<?x4x6xf32>", "%0 = attn.reshape %x : tensor<?x4x6xf32> to tensor<?x24xf32>");
  ASSERT_EQ(ops.size(), 1u);
  attn::IndexMap map = ops[0].getIndexMap();
  ASSERT_EQ(map.subscripts.size(), 3u);
  EXPECT_EQ(map.subscripts[0], Expr::symbol("d0"));
  Numbers r = run("tensor<?x4x6xf32>", "%0 = attn.reshape %x : tensor<?x4x6xf32> to tensor<?x24xf32>", 3);
  EXPECT_EQ(r.elements, iota({3, 24}).elements);
}

TEST_F(IndexMapTest, ReshapeLeavesUntouchedDimensionsAsSymbols) {
  auto ops = chain("tensor<3x4x6xf32>", "%0 = attn.reshape %x : tensor<3x4x6xf32> to tensor<3x24xf32>");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].getIndexMap().subscripts[0], Expr::symbol("d0"));
}

TEST_F(IndexMapTest, SliceStepsFromItsOffset) {
  auto r =
      run("tensor<3x7xf32>", "%0 = attn.slice %x offsets [1, 1] strides [1, 3] : tensor<3x7xf32> to tensor<2x2xf32>");
  EXPECT_EQ(r.elements, (std::vector<int64_t>{8, 11, 15, 18}));
}

TEST_F(IndexMapTest, SkewMovesRowsByTheirNumber) {
  auto r = run("tensor<2x3x5xf32>", "%0 = attn.skew %x : tensor<2x3x5xf32> to tensor<2x3x3xf32>");
  ASSERT_EQ(r.elements.size(), 18u);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 3; ++j)
        EXPECT_EQ(r.elements[(b * 3 + i) * 3 + j], (b * 3 + i) * 5 + j - i + 2);
}

TEST_F(IndexMapTest, GatherReplacesADimensionByTheShapeOfTheIndices) {
  auto r = run("tensor<2x3x2xf32>",
               "%0 = attn.gather %x dimension 1 indices dense<[[2, 0, 1], [1, 1, 2]]> : tensor<2x3xi64> "
               ": tensor<2x3x2xf32> to tensor<2x2x3x2xf32>");
  const int64_t indices[2][3] = {{2, 0, 1}, {1, 1, 2}};
  ASSERT_EQ(r.elements.size(), 24u);
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t m = 0; m < 2; ++m)
      for (int64_t n = 0; n < 3; ++n)
        for (int64_t c = 0; c < 2; ++c)
          EXPECT_EQ(r.elements[((a * 2 + m) * 3 + n) * 2 + c], (a * 3 + indices[m][n]) * 2 + c);
}

TEST_F(IndexMapTest, GatherByOneIndexDropsTheDimension) {
  auto r = run("tensor<3x2xf32>",
               "%0 = attn.gather %x dimension 0 indices dense<2> : tensor<i64> : tensor<3x2xf32> to tensor<2xf32>");
  EXPECT_EQ(r.elements, (std::vector<int64_t>{4, 5}));
}

TEST_F(IndexMapTest, GatherBySplatIndices) {
  auto r = run("tensor<3x2xf32>",
               "%0 = attn.gather %x dimension 0 indices dense<1> : tensor<2xi64> : tensor<3x2xf32> to tensor<2x2xf32>");
  EXPECT_EQ(r.elements, (std::vector<int64_t>{2, 3, 2, 3}));
}

TEST_F(IndexMapTest, RearrangeSplitsMergesPermutesAndRepeats) {
  auto r =
      run("tensor<2x6x1xf32>", "%0 = attn.rearrange \"b (y x) 1 -> (x b) k y\" sizes {y = 2 : i64, k = 2 : i64} %x "
                               ": tensor<2x6x1xf32> to tensor<6x2x2xf32>");
  ASSERT_EQ(r.elements.size(), 24u);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t y = 0; y < 2; ++y)
      for (int64_t x = 0; x < 3; ++x)
        for (int64_t k = 0; k < 2; ++k)
          EXPECT_EQ(r.elements[((x * 2 + b) * 2 + k) * 2 + y], b * 6 + y * 3 + x);
}

TEST_F(IndexMapTest, RearrangeWithARuntimeBatch) {
  auto r =
      run("tensor<?x2x3xf32>", "%0 = attn.rearrange \"b h d -> b (d h)\" %x : tensor<?x2x3xf32> to tensor<?x6xf32>");
  ASSERT_EQ(r.elements.size(), 12u);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t d = 0; d < 3; ++d)
        EXPECT_EQ(r.elements[b * 6 + d * 2 + h], b * 6 + h * 3 + d);
}

/// Returns the subscripts of a whole chain, simplified over the last result's positions.
std::vector<Expr> compose(std::vector<attn::IndexMapOpInterface> ops, const std::optional<Expr> &guard = std::nullopt) {
  Domain domain;
  std::vector<int64_t> shape = attn::shapeOf(ops.back()->getResult(0));
  std::vector<Expr> current;
  for (size_t d = 0; d < shape.size(); ++d) {
    current.push_back(Expr::symbol("d" + std::to_string(d)));
    domain["d" + std::to_string(d)] = {0, shape[d] - 1};
  }
  for (size_t k = ops.size(); k-- > 0;) {
    Substitution substitution;
    for (size_t d = 0; d < current.size(); ++d)
      substitution["d" + std::to_string(d)] = current[d];
    attn::IndexMap map = ops[k].getIndexMap();
    EXPECT_TRUE(simplify(substitute(map.inside, substitution), domain, guard).isConstant(1));
    current.clear();
    for (const Expr &subscript : map.subscripts)
      current.push_back(simplify(substitute(subscript, substitution), domain, guard));
  }
  return current;
}

Expr canonical(const char *text, int64_t size) {
  return simplify(*parse(text), {{"d0", {0, size - 1}}, {"d1", {0, size - 1}}});
}

TEST_F(IndexMapTest, RelativeToAbsoluteByPadAndReshapeIsTheSkew) {
  auto ops = chain("tensor<14x27xf32>", R"(
    %0 = attn.pad %x low [0, 0] high [0, 1] : tensor<14x27xf32> to tensor<14x28xf32>
    %1 = attn.reshape %0 : tensor<14x28xf32> to tensor<392xf32>
    %2 = attn.pad %1 low [0] high [13] : tensor<392xf32> to tensor<405xf32>
    %3 = attn.reshape %2 : tensor<405xf32> to tensor<15x27xf32>
    %4 = attn.slice %3 offsets [0, 13] strides [1, 1] : tensor<15x27xf32> to tensor<14x14xf32>)");
  ASSERT_EQ(ops.size(), 5u);
  auto subscripts = compose(ops);
  EXPECT_EQ(subscripts[0], Expr::symbol("d0"));
  EXPECT_EQ(subscripts[1], canonical("d1 - d0 + 13", 14)) << print(subscripts[1]);
}

TEST_F(IndexMapTest, RelShiftIsTheSkew) {
  auto ops = chain("tensor<8x15xf32>", R"(
    %0 = attn.pad %x low [0, 1] high [0, 0] : tensor<8x15xf32> to tensor<8x16xf32>
    %1 = attn.reshape %0 : tensor<8x16xf32> to tensor<16x8xf32>
    %2 = attn.slice %1 offsets [1, 0] strides [1, 1] : tensor<16x8xf32> to tensor<15x8xf32>
    %3 = attn.reshape %2 : tensor<15x8xf32> to tensor<8x15xf32>
    %4 = attn.slice %3 offsets [0, 0] strides [1, 1] : tensor<8x15xf32> to tensor<8x8xf32>)");
  ASSERT_EQ(ops.size(), 5u);
  auto subscripts = compose(ops);
  EXPECT_EQ(subscripts[0], Expr::symbol("d0")) << print(subscripts[0]);
  EXPECT_EQ(subscripts[1], canonical("d1 - d0 + 7", 8)) << print(subscripts[1]);
}

TEST_F(IndexMapTest, TheCausalSkewOfMusicTransformerIsOneOnlyUnderItsMask) {
  auto ops = chain("tensor<8x8xf32>", R"(
    %0 = attn.pad %x low [0, 1] high [0, 0] : tensor<8x8xf32> to tensor<8x9xf32>
    %1 = attn.reshape %0 : tensor<8x9xf32> to tensor<9x8xf32>
    %2 = attn.slice %1 offsets [1, 0] strides [1, 1] : tensor<9x8xf32> to tensor<8x8xf32>)");
  ASSERT_EQ(ops.size(), 3u);
  auto subscripts = compose(ops, parse("d1 <= d0"));
  EXPECT_EQ(subscripts[0], Expr::symbol("d0")) << print(subscripts[0]);
  EXPECT_EQ(subscripts[1], canonical("d1 - d0 + 7", 8)) << print(subscripts[1]);
}
// A builder fills in what a person would have written.
TEST(InferTypes, AreThoseThatTheVerifierWants) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"mlir(
    func.func @f(%x: tensor<?x4x7xf32>, %h: tensor<3x5xf16>) {
      %pad = attn.pad %x low [0, 1, 0] high [0, 2, 3] : tensor<?x4x7xf32> to tensor<?x7x10xf32>
      %skew = attn.skew %x : tensor<?x4x7xf32> to tensor<?x4x4xf32>
      %rows = attn.gather %h dimension 0 indices dense<[[1, 2], [0, 1]]> : tensor<2x2xi64> : tensor<3x5xf16> to tensor<2x2x5xf16>
      %both = attn.concat %x, %skew dimension 2 : (tensor<?x4x7xf32>, tensor<?x4x4xf32>) -> tensor<?x4x11xf32>
      %soft = attn.softmax "b i j" over "j" (%x) : tensor<?x4x7xf32>
      %lse = attn.logsumexp "b (y z) j" over "y z" sizes {y = 2 : i64} (%x) : tensor<?x4x7xf32> -> tensor<?x7xf32>
      return
    })mlir",
                                            &context);
  ASSERT_TRUE(module);
  int count = 0;
  module->walk([&](InferTypeOpInterface op) {
    ++count;
    SmallVector<Type> types;
    EXPECT_TRUE(succeeded(op.inferReturnTypes(&context, op.getLoc(), op->getOperands(), op->getAttrDictionary(),
                                              op->getPropertiesStorage(), op->getRegions(), types)));
    EXPECT_EQ(TypeRange(types), TypeRange(op->getResultTypes())) << op->getName().getStringRef().str();
  });
  EXPECT_EQ(count, 6);
}
} // namespace
