// Tests where a score is divided into a function and the sums of terms that it takes.
#include "passes/Fusion/ScoreFunction.h"
#include "dialect/IR/Attn.h"
#include "dialect/Language/Language.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Fusion/WeightSource.h"
#include "passes/Pipelines/Pipelines.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

namespace {
using namespace mlir;
using namespace skewer;
using namespace skewer::attn;

/// Fuses a layer, and returns its only attention.
struct Formed {
  explicit Formed(const std::string &body, const std::string &more = "") : context(MLIRContext::Threading::DISABLED) {
    context
        .loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, tensor::TensorDialect>();
    std::string text = "param N = 12, heads = 2, dim = 8\nkernel layer(q, k, v : f32[heads, N, dim]" + more +
                       ") -> f32[heads, N, dim] {\n  s = einsum(\"h i d, h j d -> h i j\", q, k) * dim^-0.5\n" + body +
                       "}\n";
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
    module = language::importSource(sources, {}, &context, llvm::errs());
    EXPECT_TRUE(module) << text;
    if (!module)
      return;
    PassManager manager(&context);
    addFusionPipeline(manager);
    EXPECT_TRUE(succeeded(manager.run(*module)));
    module->walk([&](AttentionOp op) {
      EXPECT_FALSE(attention) << "two attentions";
      attention = op;
    });
  }

  /// Returns the names of the function's operations, in order.
  std::string operations() {
    std::string names;
    if (attention && !attention.getThrough().empty())
      for (Operation &op : attention.getThrough().front().without_terminator())
        if (!isa<arith::ConstantOp>(op))
          names += (names.empty() ? "" : " ") + op.getName().getStringRef().str();
    return names;
  }
  std::vector<uint64_t> sumsOfTerms() {
    std::vector<uint64_t> sums;
    if (attention)
      for (TermOp term : attention.getScore().getOps<TermOp>())
        sums.push_back(term.getSum());
    return sums;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  AttentionOp attention;
};

const std::string kRate = ", rate : f32[heads]";
const std::string kProduct = "  return einsum(\"h i j, h j d -> h i d\", w, v)\n";

TEST(ScoreFunction, PlainSoftmaxHasNone) {
  Formed formed("  w = softmax(s + alibi(rate) where j <= i)\n" + kProduct, kRate);
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.isPlainSoftmax());
  EXPECT_EQ(formed.sumsOfTerms(), (std::vector<uint64_t>{0, 0}));
}
TEST(ScoreFunction, CapBeforeTheSoftmax) {
  Formed formed("  w = softmax(30 * tanh((s + alibi(rate)) / 30) where j <= i)\n" + kProduct, kRate);
  ASSERT_TRUE(formed.attention);
  EXPECT_FALSE(formed.attention.getDirect());
  EXPECT_EQ(formed.operations(), "math.tanh arith.mulf");
  EXPECT_EQ(formed.sumsOfTerms(), (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(*formed.attention.getMask(), "j <= i");
}
/// The sum is the last tensor on which the whole function depends: x, and not x / sqrt(2) next to x / 2.
TEST(ScoreFunction, OneSumThatIsReadTwice) {
  Formed formed("  w = 0.5 * s * (1 + erf(s / 2^0.5))\n" + kProduct);
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.getDirect());
  EXPECT_EQ(formed.attention.getSums(), 1);
  EXPECT_NE(formed.operations().find("math.erf"), std::string::npos);
}
TEST(ScoreFunction, DecayIsASecondSum) {
  Formed formed("  w = s * exp((j - i) * rate[h]) * (j <= i)\n" + kProduct, kRate);
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.getDirect());
  EXPECT_EQ(formed.operations(), "math.exp arith.mulf");
  EXPECT_EQ(formed.sumsOfTerms(), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(*formed.attention.getMask(), "j <= i");
}
/// Values are compared inside a term; the result of the comparison is the second sum of a choice.
TEST(ScoreFunction, KeysThatAComparisonHides) {
  Formed formed("  w = softmax(s if near[j] <= far[i] else -inf where j <= i)\n" + kProduct, ", near, far : f32[N]");
  ASSERT_TRUE(formed.attention);
  EXPECT_EQ(formed.operations(), "arith.cmpf arith.select");
  EXPECT_EQ(formed.sumsOfTerms(), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(*formed.attention.getMask(), "j <= i");
}
/// A bracket without a product is computed by itself: a difference is a sum of two terms, other arithmetic is part of
/// the function.
TEST(ScoreFunction, BracketsAreSumsOfTheirOwn) {
  Formed formed("  w = softmax(s + (near[i] - near[j]))\n" + kProduct, ", near : f32[N]");
  ASSERT_TRUE(formed.attention);
  EXPECT_EQ(formed.operations(), "arith.addf");
  EXPECT_EQ(formed.sumsOfTerms(), (std::vector<uint64_t>{0, 1, 1}));
  Formed square("  w = softmax(s - (near[i] - near[j])^2 / 8)\n" + kProduct, ", near : f32[N]");
  ASSERT_TRUE(square.attention);
  EXPECT_EQ(square.sumsOfTerms(), (std::vector<uint64_t>{0, 1, 1}));
}
TEST(ScoreFunction, SeveralSums) {
  Formed formed("  w = softmax(s * (near[i] - far[j]) + near[j] * (near[i] + far[i] - far[j]))\n" + kProduct,
                ", near, far : f32[N]");
  ASSERT_TRUE(formed.attention);
  EXPECT_GT(formed.attention.getSums(), 2);
  EXPECT_LE(formed.attention.getSums(), 6);
}
/// A term that the text adds to the scores by itself stays a term.
TEST(ScoreFunction, TermsOneAfterAnother) {
  Formed formed("  w = softmax(s + near[i] * far[j] - far[j])\n" + kProduct, ", near, far : f32[N]");
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.isPlainSoftmax());
}
TEST(ScoreFunction, WeightsThatAComparisonCuts) {
  Formed formed("  w = s if s > rate[h] else 0\n" + kProduct, kRate);
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.getDirect());
}
TEST(ScoreFunction, DecayBesideAFunctionIsASecondSum) {
  Formed formed("  w = sigmoid(s) * exp((j - i) * rate[h]) * (j <= i)\n" + kProduct, kRate);
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.getDirect());
  EXPECT_EQ(formed.sumsOfTerms(), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(*formed.attention.getMask(), "j <= i");
}
TEST(ScoreFunction, TermsBehindTheFunctionAreASecondSum) {
  Formed formed("  rel = einsum(\"h i d, (j - i + N - 1) d -> h i j\", q, table)\n"
                "  w = softmax(5 * tanh(s / 5) + alibi(rate) - rel)\n" +
                    kProduct,
                kRate + ", table : f32[2*N - 1, dim]");
  ASSERT_TRUE(formed.attention);
  EXPECT_EQ(formed.sumsOfTerms(), (std::vector<uint64_t>{0, 1, 1}));
  EXPECT_EQ(formed.operations(), "math.tanh arith.mulf arith.addf");
}
TEST(ScoreFunction, MaskedScoresAreTheirOwnWeights) {
  Formed formed("  w = s * (j <= i)\n" + kProduct);
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.getDirect());
  EXPECT_TRUE(formed.attention.getThrough().empty());
}
TEST(ScoreFunction, TheSumOfDirectWeightsIsASecondResult) {
  Formed formed("  w = exp(s)\n  return einsum(\"h i j, h j d -> h i d\", w, v) / sum(w, -1)[..., None]\n");
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.getTotal());
}
TEST(ScoreFunction, SumsOverOtherKeysAreNoTotal) {
  Formed formed("  w = exp(s)\n"
                "  o = einsum(\"h i j, h j d -> h i d\", w, v, where = j <= i)\n"
                "  return o / einsum(\"h i j -> h i\", w, where = j <= i + 1)[..., None]\n");
  EXPECT_FALSE(formed.attention);
}
TEST(ScoreFunction, HiddenWeightsGoIntoSeveralProducts) {
  Formed formed("  w = sigmoid(s) * (j <= i)\n"
                "  return einsum(\"h i j, h j d -> h i d\", w, v) + "
                "einsum(\"h i j, (j - i + N - 1) d -> h i d\", w, table)\n",
                ", table : f32[2*N - 1, dim]");
  ASSERT_TRUE(formed.attention);
  EXPECT_EQ(*formed.attention.getMask(), "j <= i");
}
TEST(ScoreFunction, TheLogarithmOfCappedScoresIsOfTheCap) {
  Formed formed("  t = 5 * tanh(s / 5)\n  w = softmax(t)\n"
                "  return einsum(\"h i j, h j d -> h i d\", w, v) * exp(logsumexp(t))[..., None]\n");
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.getLse());
  EXPECT_EQ(formed.operations(), "math.tanh arith.mulf");
}

// Layers that are no attention without a softmax.
TEST(ScoreFunction, ProductsInARowAreNoWeights) { EXPECT_FALSE(Formed("  w = s\n" + kProduct).attention); }
/// Queries may be a product through a function, as weights are: the attention weighs values, and does not make queries.
TEST(ScoreFunction, QueriesThroughAFunctionAreNoWeights) {
  for (const char *between : {"max(t, 0)", "max(t, 0) * exp((j - i) * rate[h]) * (j <= i)"}) {
    Formed formed("  x = max(einsum(\"h i c, h d c -> h i d\", q, project), 0)\n"
                  "  t = einsum(\"h i d, h j d -> h i j\", x, k)\n  w = " +
                      std::string(between) + "\n" + kProduct,
                  kRate + ", project : f32[heads, dim, dim]");
    ASSERT_TRUE(formed.attention) << between;
    formed.module->walk([&](EinsumOp op) {
      EXPECT_NE(cast<RankedTensorType>(op.getType()).getShape(), ArrayRef<int64_t>({2, 12, 12})) << between;
    });
  }
}
TEST(ScoreFunction, WeightsThatOthersReadAreAResult) {
  Formed formed("  w = sigmoid(s)\n  return einsum(\"h i j, h j d -> h i d\", w, v) + sum(w * w, -1)[..., None]\n");
  ASSERT_TRUE(formed.attention);
  EXPECT_TRUE(formed.attention.getWeights());
  EXPECT_FALSE(formed.attention.getTotal());
}
TEST(ScoreFunction, WeightsThatAConditionHidesFromTheProductAloneAreHeld) {
  EXPECT_FALSE(Formed("  w = exp(s)\n  return einsum(\"h i j, h j d -> h i d\", w, v, where = j <= i) + "
                      "sum(w * w, -1)[..., None]\n")
                   .attention);
}
TEST(ScoreFunction, ProductsWithTheSameWeightsAreColumns) {
  Formed formed("  w = sigmoid(s)\n  return einsum(\"h i j, h j d -> h i d\", w, v) + sum(w, -1)[..., None] * "
                "einsum(\"h i j, h j d, h i d -> h i d\", w, k, q)\n");
  ASSERT_TRUE(formed.attention);
  EXPECT_FALSE(formed.attention.getWeights());
  EXPECT_EQ(cast<RankedTensorType>(formed.attention.getValue().getType()).getShape().back(), 16);
}
TEST(ScoreFunction, TwoContentsAreNoFunctionOfOne) {
  EXPECT_FALSE(Formed("  t = einsum(\"h i d, h j d -> h i j\", k, q)\n  w = tanh(s) * tanh(t)\n" + kProduct).attention);
}
/// The guard of one summand is no guard of the whole.
TEST(ScoreFunction, GuardsInsideAreNoMask) {
  Formed formed("  w = sigmoid(s * (j <= i))\n" + kProduct);
  ASSERT_TRUE(formed.attention);
  EXPECT_FALSE(formed.attention.getMask());
  EXPECT_EQ(*(*formed.attention.getScore().getOps<TermOp>().begin()).getGuard(), "j <= i");
}

TEST(ScoreFunction, GuardsBetweenTwoFunctionsAreNeither) {
  EXPECT_FALSE(Formed("  w = sigmoid(tanh(s) * (j <= i))\n" + kProduct).attention);
}

//===- Where weights come from ------------------------------------------------------------------===//

/// A layer as written, and the einsum whose result is the layer's.
struct Written {
  explicit Written(const std::string &text) : context(MLIRContext::Threading::DISABLED) {
    context
        .loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, tensor::TensorDialect>();
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
    module = language::importSource(sources, {}, &context, llvm::errs());
    EXPECT_TRUE(module) << text;
    if (module)
      module->walk([&](func::ReturnOp end) { product = end.getOperand(0).getDefiningOp<EinsumOp>(); });
    EXPECT_TRUE(product) << text;
  }
  std::optional<WeightSource> source() { return product ? directSourceOf(product) : std::nullopt; }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  EinsumOp product;
};

const std::string kHeads = "param N = 12, heads = 2, dim = 8\n"
                           "kernel layer(q, k, v : f32[heads, N, dim]) -> f32[heads, N, dim] {\n"
                           "  s = einsum(\"h i d, h j d -> h i j\", q, k)\n";

TEST(WeightSource, AFunctionOfScoresIsOne) {
  Written layer(kHeads + "  return einsum(\"h i j, h j d -> h i d\", max(s, 0) * max(s, 0), v)\n}\n");
  auto source = layer.source();
  ASSERT_TRUE(source);
  EXPECT_TRUE(source->direct);
  EXPECT_EQ(source->axes, "h i j");
  EXPECT_EQ(source->over, "j");
  EXPECT_FALSE(source->mask);
  EXPECT_EQ(source->weights, layer.product.getInputs()[0]);
  EXPECT_TRUE(source->totals.empty());
}
/// The result depends neither on the operand of the product that holds the weights, nor on the letters.
TEST(WeightSource, WhereverItStands) {
  Written layer(kHeads + "  return einsum(\"x z e, x y z -> x y e\", v, tanh(s))\n}\n");
  auto source = layer.source();
  ASSERT_TRUE(source);
  EXPECT_EQ(source->axes, "x y z");
  EXPECT_EQ(source->over, "z");
  EXPECT_EQ(source->weights, layer.product.getInputs()[1]);
}
/// Finds every sum of the weights over their keys, and no other sum.
TEST(WeightSource, TotalsAreSumsOverTheKeys) {
  Written layer(
      "param N = 12, heads = 2, dim = 8\n"
      "kernel layer(q, k, v : f32[heads, N, dim]) -> (o : f32[heads, N, dim], t : f32[heads, N], u : f32[heads, N]) {\n"
      "  w = exp(einsum(\"h i d, h j d -> h i j\", q, k))\n"
      "  return einsum(\"h i j, h j d -> h i d\", w, v), einsum(\"h i j -> h i\", w, sum = j), "
      "einsum(\"h i j -> h j\", w, sum = i)\n}\n");
  auto source = layer.source();
  ASSERT_TRUE(source);
  ASSERT_EQ(source->totals.size(), 1u);
  EXPECT_EQ(source->totals[0].getSpec(), "h i j -> h i");
}
TEST(WeightSource, ASoftmaxIsNoDirectOne) {
  EXPECT_FALSE(Written(kHeads + "  return einsum(\"h i j, h j d -> h i d\", softmax(s), v)\n}\n").source());
}
/// x · W₁ through a function times W₂ is no attention: all rows have the same values.
TEST(WeightSource, ValuesOfNoHeadAreNone) {
  EXPECT_FALSE(Written("param N = 12, wide = 16, dim = 8\n"
                       "kernel layer(x : f32[N, dim], a, b : f32[wide, dim]) -> f32[N, dim] {\n"
                       "  return einsum(\"i j, j d -> i d\", tanh(einsum(\"i d, j d -> i j\", x, a)), b)\n}\n")
                   .source());
}
/// No product of queries and keys: a table is read.
TEST(WeightSource, ATableIsNone) {
  EXPECT_FALSE(Written("param N = 12, heads = 2, dim = 8\n"
                       "kernel layer(t : f32[heads, N, N], v : f32[heads, N, dim]) -> f32[heads, N, dim] {\n"
                       "  return einsum(\"h i j, h j d -> h i d\", tanh(t), v)\n}\n")
                   .source());
}

} // namespace
