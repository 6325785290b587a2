// Tests that the fusion passes keep the meaning of programs, by the float64 interpreter: on random chains of index
// maps, and on layers whose fused form is written as einsums again.
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Fusion/Summands.h"
#include "passes/Import/FitTable.h"
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "tests/unit/FusionTesting.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace {
using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using skewer::subscript::Expr;

class Fusion : public skewer::testing::RewriteTest {
protected:
  OwningOpRef<ModuleOp> parse(const std::string &text) { return parseSourceString<ModuleOp>(text, &context); }

  bool run(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
    PassManager manager(&context);
    build(manager);
    return succeeded(manager.run(module));
  }

  static void expectClose(const std::vector<double> &actual, const std::vector<double> &expected,
                          const std::string &what) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    ASSERT_FALSE(expected.empty()) << what;
    for (size_t k = 0; k < expected.size(); ++k)
      ASSERT_NEAR(actual[k], expected[k], 1e-12 * (1 + std::abs(expected[k]))) << what << "\nelement " << k;
  }

  /// Rewrites each attention as operations: terms as einsums, the softmax, the product with the values.
  void writeOut(func::FuncOp function) {
    SmallVector<AttentionOp> attentions;
    function.walk([&](AttentionOp op) { attentions.push_back(op); });
    for (AttentionOp op : attentions) {
      OpBuilder builder(op);
      ScoreSpace space = scoreSpace(op);
      auto dimensions = subscript::parseDimensions(std::string_view(op.getSpace()));
      std::vector<int64_t> shape;
      for (const auto &dimension : *dimensions) {
        int64_t size = 1;
        for (const std::string &axis : dimension.axes)
          size *= space.sizes[axis];
        shape.push_back(size);
      }
      auto type = RankedTensorType::get(shape, builder.getF32Type());
      subscript::AxisSizes axes;
      for (const auto *group : {&space.leading, &space.query, &space.key})
        for (const std::string &axis : *group)
          axes[axis] = space.sizes[axis];
      DictionaryAttr sizes = sizesTo(&context, axes);
      auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
      Value sum;
      for (TermOp term : op.getScore().getOps<TermOp>()) {
        Value value;
        if (!term.getInputs().empty())
          value = EinsumOp::create(builder, term.getLoc(), type,
                                   text((term.getSubscripts() + " -> " + op.getSpace()).str()), sizes,
                                   term.getGuardAttr(), term.getInputs());
        if (term.getValue()) {
          Value position =
              PositionOp::create(builder, term.getLoc(), type, op.getSpaceAttr(), term.getValueAttr(), sizes);
          value = value ? arith::MulFOp::create(builder, term.getLoc(), value, position) : position;
        }
        auto scale = DenseElementsAttr::get(type, builder.getF32FloatAttr(term.getScale().convertToDouble()));
        value = arith::MulFOp::create(builder, term.getLoc(), value,
                                      arith::ConstantOp::create(builder, term.getLoc(), scale));
        sum = sum ? arith::AddFOp::create(builder, term.getLoc(), sum, value) : value;
      }
      Value weights = SoftmaxOp::create(builder, op.getLoc(), type, op.getSpaceAttr(),
                                        text(subscript::print({dimensions->back()})), op.getMaskAttr(), sizes, sum);
      auto output = EinsumOp::create(builder, op.getLoc(), op.getResult().getType(),
                                     text((op.getSpace() + ", " + op.getValueSpec()).str()), sizes, StringAttr(),
                                     ValueRange{weights, op.getValue()});
      op.getResult().replaceAllUsesWith(output.getResult());
      op.erase();
    }
  }
};

/// Makes a random chain of index maps on the last two dimensions of "h m n".
class Chain {
public:
  Chain(unsigned seed, int64_t m, int64_t n) : engine(seed), m(m), n(n) {}

  std::string grow(int steps, const std::string &first) {
    std::string text;
    std::string value = first;
    for (int step = 0; step < steps; ++step) {
      std::string result = "%c" + std::to_string(step), from = type(), line;
      switch (below(5)) {
      case 0: {
        int64_t low[2] = {below(3) == 0 ? 1 : 0, below(3)}, high[2] = {below(3) == 0 ? 1 : 0, below(3)};
        m += low[0] + high[0], n += low[1] + high[1];
        line = "attn.pad " + value + " low " + list({0, low[0], low[1]}) + " high " + list({0, high[0], high[1]});
        break;
      }
      case 1:
      case 2: {
        std::vector<int64_t> divisors;
        for (int64_t k = 1; k <= m * n; ++k)
          if (m * n % k == 0)
            divisors.push_back(k);
        int64_t rows = divisors[below(divisors.size())], elements = m * n;
        m = rows, n = elements / rows;
        line = "attn.reshape " + value;
        break;
      }
      case 3: {
        int64_t offsets[2] = {below(std::min<int64_t>(m, 3)), below(std::min<int64_t>(n, 3))};
        int64_t strides[2] = {1, below(4) == 0 ? 2 : 1};
        m = std::max<int64_t>(1, m - offsets[0] - below(2));
        n = (n - offsets[1] + strides[1] - 1) / strides[1];
        line = "attn.slice " + value + " offsets " + list({0, offsets[0], offsets[1]}) + " strides " +
               list({1, strides[0], strides[1]});
        break;
      }
      default:
        std::swap(m, n);
        line = "attn.rearrange \"h x y -> h y x\" " + value;
      }
      text += "  " + result + " = " + line + " : " + from + " to " + type() + "\n";
      value = result;
    }
    last = value;
    return text;
  }
  std::string type() const { return "tensor<2x" + std::to_string(m) + "x" + std::to_string(n) + "xf32>"; }
  std::string last;
  int64_t below(int64_t k) { return std::uniform_int_distribution<int64_t>(0, k - 1)(engine); }

private:
  static std::string list(std::vector<int64_t> numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "[" : ", ") + std::to_string(number);
    return text + "]";
  }
  std::mt19937 engine;
  int64_t m, n;
};

TEST_F(Fusion, RandomChainsOfIndexMapsKeepTheirMeaning) {
  int composed = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Chain chain(seed, 5, 9);
    std::string maps = chain.grow(1 + int(chain.below(6)), "%l");
    std::string text =
        "func.func @chain(%q: tensor<2x5x3xf32>, %t: tensor<9x3xf32>) -> " + chain.type() +
        " {\n  %l = attn.einsum \"h i d, r d -> h i r\"(%q, %t) : (tensor<2x5x3xf32>, tensor<9x3xf32>) -> "
        "tensor<2x5x9xf32>\n" +
        maps + "  return " + chain.last + " : " + chain.type() + "\n}\n";
    auto module = parse(text);
    ASSERT_TRUE(module) << text;
    auto inputs = randomInputs(kernel(*module), seed);
    auto expected = evaluate(kernel(*module), inputs);
    for (bool compose : {false, true}) {
      bool ran = run(*module, [&](OpPassManager &manager) {
        if (compose)
          manager.addNestedPass<func::FuncOp>(createAttnComposeSkew());
        else
          manager.addNestedPass<func::FuncOp>(createAttnRaiseSkew());
      });
      std::string after;
      llvm::raw_string_ostream stream(after);
      module->print(stream);
      ASSERT_TRUE(ran) << text;
      expectClose(evaluate(kernel(*module), inputs), expected, text + after);
    }
    int einsums = 0;
    module->walk([&](EinsumOp) { ++einsums; });
    composed += einsums == 1;
  }
  EXPECT_EQ(composed, 150) << "every chain is one einsum in the end";
}

/// Returns the text of a layer around `score`, the operations that compute `%score`.
std::string layer(const std::string &arguments, const std::string &score, int64_t n, const std::string &mask = "") {
  std::string q = "tensor<2x" + std::to_string(n) + "x4xf32>",
              s = "tensor<2x" + std::to_string(n) + "x" + std::to_string(n) + "xf32>";
  return "func.func @layer(%q: " + q + ", %k: " + q + ", %v: " + q + arguments + ") -> " + q +
         " {\n  %content = attn.einsum \"h i d, h j d -> h i j\"(%q, %k) : (" + q + ", " + q + ") -> " + s + "\n" +
         score + "  %sum = arith.addf %content, %position : " + s + "\n  %p = attn.softmax \"h i j\" over \"j\" " +
         (mask.empty() ? "" : "where \"" + mask + "\" ") + "(%sum) : " + s +
         "\n  %o = attn.einsum \"h i j, h j d -> h i d\"(%p, %v) : (" + s + ", " + q + ") -> " + q +
         "\n  return %o : " + q + "\n}\n";
}
const char *const kScaledMap = R"mlir(
  %half = arith.constant dense<0.5> : tensor<2x6x6xf32>
  %m = attn.rearrange "h (x y) d -> h x y d" sizes {x = 2 : i64} %q : tensor<2x6x4xf32> to tensor<2x2x3x4xf32>
  %l = attn.einsum "h x y d, r d -> h x y r"(%m, %t) : (tensor<2x2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x2x3x5xf32>
  %s = attn.skew %l : tensor<2x2x3x5xf32> to tensor<2x2x3x3xf32>
  %r = attn.rearrange "h x y j -> h (x y) (k j)" sizes {k = 2 : i64} %s : tensor<2x2x3x3xf32> to tensor<2x6x6xf32>
  %position = arith.mulf %r, %half : tensor<2x6x6xf32>
)mlir";
const char *const kScaledMapDirect = R"mlir(
  %half = arith.constant dense<0.5> : tensor<2x6x6xf32>
  %r = attn.einsum "h (a b) d, (c - b + 2) d -> h (a b) (e c)" sizes {a = 2 : i64, b = 3 : i64, c = 3 : i64, e = 2 : i64}
      (%q, %t) : (tensor<2x6x4xf32>, tensor<5x4xf32>) -> tensor<2x6x6xf32>
  %position = arith.mulf %half, %r : tensor<2x6x6xf32>
)mlir";

TEST_F(Fusion, FusedLayersKeepTheirMeaning) {
  struct {
    std::string name, text, term;
  } cases[] = {
      {"music transformer",
       layer(", %t: tensor<6x4xf32>", R"mlir(
  %l = attn.einsum "h i d, r d -> h i r"(%q, %t) : (tensor<2x6x4xf32>, tensor<6x4xf32>) -> tensor<2x6x6xf32>
  %a = attn.pad %l low [0, 0, 1] high [0, 0, 0] : tensor<2x6x6xf32> to tensor<2x6x7xf32>
  %b = attn.reshape %a : tensor<2x6x7xf32> to tensor<2x7x6xf32>
  %position = attn.slice %b offsets [0, 1, 0] strides [1, 1, 1] : tensor<2x7x6xf32> to tensor<2x6x6xf32>
)mlir",
             6, "j <= i"),
       "h i d, (j - i + 5) d"},
      {"key side",
       layer(", %t: tensor<11x4xf32>", R"mlir(
  %position = attn.einsum "h j d, (i - j + 5) d -> h i j" sizes {i = 6 : i64}(%k, %t) : (tensor<2x6x4xf32>, tensor<11x4xf32>) -> tensor<2x6x6xf32>
)mlir",
             6),
       "h j d, (i - j + 5) d"},
      {"one axis of a map", layer(", %t: tensor<5x4xf32>", kScaledMap, 6), "h (iy ix) d, (jx - ix + 2) d"},
      {"bias by gathered offsets",
       layer(", %t: tensor<2x11xf32>", R"mlir(
  %position = attn.gather %t dimension 1 indices dense<[[5,6,7,8,9,10],[4,5,6,7,8,9],[3,4,5,6,7,8],[2,3,4,5,6,7],[1,2,3,4,5,6],[0,1,2,3,4,5]]> : tensor<6x6xi64> : tensor<2x11xf32> to tensor<2x6x6xf32>
)mlir",
             6),
       "h (j - i + 5)"},
      {"first rows of a longer table",
       layer(", %t: tensor<9x4xf32>", R"mlir(
  %rows = attn.slice %t offsets [0, 0] strides [1, 1] : tensor<9x4xf32> to tensor<6x4xf32>
  %position = attn.einsum "h i d, j d -> h i j"(%q, %rows) : (tensor<2x6x4xf32>, tensor<6x4xf32>) -> tensor<2x6x6xf32>
)mlir",
             6),
       ""},
      {"a guard that is not the mask",
       layer(", %t: tensor<3x4xf32>", R"mlir(
  %position = attn.einsum "h i d, (j - i + 1) d -> h i j" where "abs(j - i) <= 1" sizes {j = 6 : i64}(%q, %t) : (tensor<2x6x4xf32>, tensor<3x4xf32>) -> tensor<2x6x6xf32>
)mlir",
             6, "j <= i + 3"),
       "h i d, (j - i + 1) d"},
      {"a guard alone names the key",
       layer(", %t: tensor<6x4xf32>", R"mlir(
  %position = attn.einsum "h i d, i d -> h i j" where "abs(j - i) <= 1" sizes {j = 6 : i64}(%q, %t) : (tensor<2x6x4xf32>, tensor<6x4xf32>) -> tensor<2x6x6xf32>
)mlir",
             6),
       "h i"},
      {"heads in groups, merged in the queries and in the result", R"mlir(
func.func @grouped(%q: tensor<5x32xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x3xf32>) -> tensor<5x12xf32> {
  %heads = attn.rearrange "n (h d) -> h n d" sizes {h = 4 : i64} %q : tensor<5x32xf32> to tensor<4x5x8xf32>
  %s = attn.einsum "(g r) i d, g j d -> (g r) i j"(%heads, %k) : (tensor<4x5x8xf32>, tensor<2x6x8xf32>) -> tensor<4x5x6xf32>
  %p = attn.softmax "h i j" over "j" where "j <= i"(%s) : tensor<4x5x6xf32>
  %o = attn.einsum "(g r) i j, g j e -> i (g r e)"(%p, %v) : (tensor<4x5x6xf32>, tensor<2x6x3xf32>) -> tensor<5x12xf32>
  return %o : tensor<5x12xf32>
}
)mlir",
       "i (h d), (h floordiv 2) j d"},
      {"a product of tensors stays a tensor",
       layer(", %t: tensor<2x6x6xf32>", R"mlir(
  %again = attn.einsum "h i d, h j d -> h i j"(%k, %q) : (tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> tensor<2x6x6xf32>
  %position = arith.mulf %again, %t : tensor<2x6x6xf32>
)mlir",
             6),
       "h i j"},
  };
  for (const auto &test : cases) {
    auto module = parse(test.text);
    ASSERT_TRUE(module) << test.name << "\n" << test.text;
    auto inputs = randomInputs(kernel(*module), 7);
    auto expected = evaluate(kernel(*module), inputs);
    ASSERT_TRUE(run(*module, addFusionPipeline)) << test.name;
    int attentions = 0, found = 0;
    module->walk([&](AttentionOp) { ++attentions; });
    module->walk([&](TermOp term) { found += term.getSubscripts() == test.term; });
    EXPECT_EQ(attentions, 1) << test.name;
    if (!test.term.empty())
      EXPECT_EQ(found, 1) << test.name;
    writeOut(kernel(*module));
    std::string after;
    llvm::raw_string_ostream stream(after);
    module->print(stream);
    expectClose(evaluate(kernel(*module), inputs), expected, test.name + "\n" + after);
  }
}

TEST_F(Fusion, WrittenInTwoWaysItIsTheSameText) {
  std::string texts[2];
  const char *scores[2] = {kScaledMap, kScaledMapDirect};
  for (int way : {0, 1}) {
    auto module = parse(layer(", %t: tensor<5x4xf32>", scores[way], 6));
    ASSERT_TRUE(module);
    ASSERT_TRUE(run(*module, addFusionPipeline));
    llvm::raw_string_ostream stream(texts[way]);
    module->print(stream);
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0].find("attn.attention"), std::string::npos);
}

TEST(FitTable, FindsWhatTheMatrixSays) {
  const std::vector<std::string> names = {"i", "j"};
  auto matrix = [&](const std::string &text, int64_t queries, int64_t keys) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j)
        values.push_back(*subscript::evaluate(*subscript::parse(text), {{"i", i}, {"j", j}}));
    return values;
  };
  for (const char *text :
       {"j - i + 7", "2*i + 5*j", "clamp(j - i, -2, 3) + 2", "3 - clamp(j - i, -1, 1)", "min(abs(j - i), 4)",
        "(i floordiv 4 - j floordiv 4 + 1)*7 + i mod 4 - j mod 4 + 3", "select(j <= i, 0, 9)"}) {
    auto values = matrix(text, 8, 8);
    auto fitted = fitTable(values, {8, 8}, names);
    ASSERT_TRUE(fitted.has_value()) << text;
    EXPECT_EQ(matrix(subscript::print(*fitted), 8, 8), values) << text << " as " << subscript::print(*fitted);
  }
  EXPECT_FALSE(fitTable({0, 3, 1, 4, 1, 5, 9, 2, 6}, {3, 3}, names).has_value());
  EXPECT_FALSE(fitTable({0, 3, 1}, {3, 3}, names).has_value()) << "too few values";
}

} // namespace
