// Tests the choices for a stage: the einsums that are matrix products and running sums, the operands that are computed
// while they are packed, the operands that are transposed, and the stages that are merged.
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/Cpu/Schedule/CpuSchedule.h"
#include "passes/Stages/AlignedOperands.h"
#include "passes/Stages/AttentionShapes.h"
#include "passes/Stages/EqualStages.h"
#include "passes/Stages/Matmul.h"
#include "passes/Stages/PackedOperands.h"
#include "passes/Stages/PrefixSum.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace skewer;

namespace {
class ParsedFunction {
public:
  /// Parses the body's text with these arguments: "%x: tensor<4xf32>, …".
  ParsedFunction(const std::string &arguments, const std::string &body, const std::string &result) {
    context.loadDialect<attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
    std::string text =
        "func.func @f(" + arguments + ") -> " + result + " attributes {attn.kernel} {\n" + body + "\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (module)
      module->walk([&](func::FuncOp found) { function = found; });
  }
  template <typename Op> SmallVector<Op> all() { return SmallVector<Op>(function.getOps<Op>()); }

  func::FuncOp function;

private:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
};

std::string tensorOf(const std::string &shape) { return "tensor<" + shape + "xf32>"; }

/// One einsum of operands of these shapes.
class OneEinsum : public ParsedFunction {
public:
  OneEinsum(const std::string &spec, const std::vector<std::string> &shapes, const std::string &result,
            const std::string &rest = {})
      : ParsedFunction(argumentsOf(shapes),
                       "  %r = attn.einsum \"" + spec + "\" " + rest + " (" + namesOf(shapes) + ") : (" +
                           typesOf(shapes) + ") -> " + tensorOf(result) + "\n  return %r : " + tensorOf(result),
                       tensorOf(result)) {}
  attn::EinsumOp op() { return all<attn::EinsumOp>().front(); }

private:
  static std::string joined(const std::vector<std::string> &shapes, bool names, bool types) {
    std::string text;
    for (size_t k = 0; k < shapes.size(); ++k)
      text += (k ? ", " : "") + (names ? "%x" + std::to_string(k) : std::string()) + (names && types ? ": " : "") +
              (types ? tensorOf(shapes[k]) : std::string());
    return text;
  }
  static std::string argumentsOf(const std::vector<std::string> &shapes) { return joined(shapes, true, true); }
  static std::string namesOf(const std::vector<std::string> &shapes) { return joined(shapes, true, false); }
  static std::string typesOf(const std::vector<std::string> &shapes) { return joined(shapes, false, true); }
};

using Names = std::vector<std::string>;

//===- Matrix products ---------------------------------------------------------===//

TEST(MatmulOf, AProjectionOfAllTokens) {
  OneEinsum einsum("b n c, h d c -> b h n d", {"?x40x96", "3x32x96"}, "?x3x40x32");
  auto matmul = matmulOf(einsum.op());
  ASSERT_TRUE(matmul);
  EXPECT_EQ(matmul->rowsInput, 0u) << "the result's last axis is the weights'";
  EXPECT_EQ(matmul->columnsInput, 1u);
  EXPECT_EQ(matmul->outer, Names{"b"}) << "its size is known at run time";
  EXPECT_EQ(matmul->rowAxes, Names{"n"});
  EXPECT_EQ(matmul->columnAxes, (Names{"h", "d"}));
  EXPECT_EQ(matmul->depthAxes, Names{"c"});
  EXPECT_TRUE(matmul->batch.empty());
  EXPECT_EQ(matmul->rows, 40);
  EXPECT_EQ(matmul->columns, 96);
  EXPECT_EQ(matmul->depth, 96);
  EXPECT_EQ(matmul->columnStride, 96);
  EXPECT_EQ(matmul->columnDepthStride, 1);
  EXPECT_EQ(matmul->rowDepthStride, 1);
}

TEST(MatmulOf, WhoHasTheLastAxisHasTheColumns) {
  OneEinsum einsum("h d c, n c -> d h n", {"3x32x96", "40x96"}, "32x3x40");
  auto matmul = matmulOf(einsum.op());
  ASSERT_TRUE(matmul);
  EXPECT_EQ(matmul->columnAxes, Names{"n"});
  EXPECT_EQ(matmul->columnsInput, 1u);
  OneEinsum swapped("n c, h d c -> d h n", {"40x96", "3x32x96"}, "32x3x40");
  EXPECT_EQ(matmulOf(swapped.op())->columnsInput, 0u);
}

TEST(MatmulOf, BatchesAreProductsOfTheirOwn) {
  OneEinsum einsum("b h i d, b h j d -> b h i j", {"?x4x40x64", "?x4x48x64"}, "?x4x40x48");
  auto matmul = matmulOf(einsum.op());
  ASSERT_TRUE(matmul);
  EXPECT_EQ(matmul->batch, (Names{"b", "h"}));
  EXPECT_EQ(matmul->rowAxes, Names{"i"});
  EXPECT_EQ(matmul->columnAxes, Names{"j"});
  // A worker packs the columns of one product of the batch: 16 MiB at most.
  OneEinsum most("b i d, b j d -> b i j", {"2x8x2048", "2x2048x2048"}, "2x8x2048");
  EXPECT_TRUE(matmulOf(most.op()));
  OneEinsum tooMany("b i d, b j d -> b i j", {"2x8x2049", "2x2048x2049"}, "2x8x2048");
  EXPECT_FALSE(matmulOf(tooMany.op()));
  OneEinsum shared("b i d, j d -> b i j", {"2x8x2049", "2048x2049"}, "2x8x2048");
  EXPECT_TRUE(matmulOf(shared.op())) << "columns that all share are packed once";
}

/// Tests the smallest sizes for which register tiles are used.
TEST(MatmulOf, NotOfFewRowsColumnsOrSteps) {
  auto is = [](int64_t rows, int64_t columns, int64_t depth) {
    std::string n = std::to_string(rows), m = std::to_string(columns), c = std::to_string(depth);
    OneEinsum einsum("n c, c m -> n m", {n + "x" + c, c + "x" + m}, n + "x" + m);
    return matmulOf(einsum.op()).has_value();
  };
  EXPECT_TRUE(is(8, 16, 8));
  EXPECT_FALSE(is(7, 16, 8));
  EXPECT_FALSE(is(8, 15, 8));
  EXPECT_FALSE(is(8, 16, 7));
}

TEST(MatmulOf, StridesAreThoseOfTheColumns) {
  OneEinsum einsum("n (2*c + 1), (m + 3) c -> n m", {"16x32", "40x16"}, "16x32", "sizes {m = 32 : i64}");
  auto matmul = matmulOf(einsum.op());
  ASSERT_TRUE(matmul);
  EXPECT_EQ(matmul->rowDepthStride, 2);
  EXPECT_EQ(matmul->columnStride, 16);
  EXPECT_EQ(matmul->columnBase, 3 * 16);
  // Two axes of the depth without a common stride in the columns' operand.
  OneEinsum uneven("n a c, a m c -> n m", {"16x4x8", "4x32x8"}, "16x32");
  EXPECT_FALSE(matmulOf(uneven.op()));
}

TEST(MatmulOf, NoProductOfTwoFactors) {
  OneEinsum three("n c, c m, m -> n m", {"16x32", "32x64", "64"}, "16x64");
  EXPECT_FALSE(matmulOf(three.op()));
  OneEinsum guarded("n c, c m -> n m", {"16x32", "32x64"}, "16x64", "where \"c <= n\"");
  EXPECT_FALSE(matmulOf(guarded.op()));
  OneEinsum repeated("n c, c m -> n m x", {"16x32", "32x64"}, "16x64x2", "sizes {x = 2 : i64}");
  EXPECT_FALSE(matmulOf(repeated.op())) << "an axis that neither has";
  OneEinsum summed("n c a, c m -> n m", {"16x32x2", "32x64"}, "16x64");
  EXPECT_FALSE(matmulOf(summed.op())) << "an axis of one operand is summed over";
  OneEinsum folded("n c, ((c + m) mod 32) m -> n m", {"16x32", "32x64"}, "16x64");
  EXPECT_FALSE(matmulOf(folded.op())) << "no affine read";
}

//===- Running sums ------------------------------------------------------------===//

std::optional<PrefixSum> runningSum(const std::string &guard, const std::string &spec = "b t -> b i",
                                    const std::string &sizes = "i = 20 : i64") {
  OneEinsum einsum(spec, {"3x20"}, "3x20", "where \"" + guard + "\" sizes {" + sizes + "}");
  return prefixSumOf(einsum.op());
}

TEST(PrefixSumOf, FromBothEndsWithAndWithoutThePosition) {
  struct Form {
    const char *guard;
    bool reversed, exclusive;
  };
  for (Form form : {Form{"t <= i", false, false}, Form{"t < i", false, true}, Form{"i <= t", true, false},
                    Form{"i < t", true, true}, Form{"t - i <= 0", false, false}, Form{"not (i < t)", false, false},
                    Form{"t + 1 <= i", false, true}}) {
    auto sum = runningSum(form.guard);
    ASSERT_TRUE(sum) << form.guard;
    EXPECT_EQ(sum->along, "i");
    EXPECT_EQ(sum->before, "t");
    EXPECT_EQ(sum->reversed, form.reversed) << form.guard;
    EXPECT_EQ(sum->exclusive, form.exclusive) << form.guard;
  }
}

TEST(PrefixSumOf, NotOfOtherConditions) {
  for (const char *guard : {"t <= i + 1", "t + 2 <= i", "abs(t - i) <= 3", "t == i", "2*t <= i", "t <= 7",
                            "t <= i and b <= 1", "t <= i or t == 19"})
    EXPECT_FALSE(runningSum(guard)) << guard;
  OneEinsum all("b t -> b", {"3x20"}, "3");
  EXPECT_FALSE(prefixSumOf(all.op())) << "without a condition";
  OneEinsum two("b t s -> b i", {"3x20x2"}, "3x20", "where \"t <= i\" sizes {i = 20 : i64}");
  EXPECT_FALSE(prefixSumOf(two.op())) << "two axes are summed over";
  OneEinsum shorter("b t -> b i", {"3x20"}, "3x9", "where \"t <= i\" sizes {i = 9 : i64}");
  EXPECT_FALSE(prefixSumOf(shorter.op())) << "as many positions as elements";
  OneEinsum read("b t, b i -> b i", {"3x20", "3x20"}, "3x20", "where \"t <= i\"");
  EXPECT_FALSE(prefixSumOf(read.op())) << "an operand depends on where the sum ends";
}

//===- Operands that are computed while they are packed --------------------------===//

/// Returns whether `%m`, which `body` makes from %q of 2 heads and %k of `keyShape`, is packed: as queries, or as keys
/// that are read as `keys` says.
bool isPacked(const std::string &body, int64_t queries = 40, const std::string &keys = {},
              const std::string &keyShape = "2x48x16") {
  std::string q = tensorOf("2x" + std::to_string(queries) + "x16"), k = tensorOf(keyShape), v = tensorOf("2x48x16");
  std::string spec = keys.empty() ? "h i d, h j d" : "h i d, " + keys;
  ParsedFunction parsed("%q: " + q + ", %k: " + k + ", %v: " + v,
                        body + "\n  %o = attn.attention \"h i j\" value \"h j e -> h i e\" (%v) score {\n" +
                            "    attn.term \"" + spec + "\"(" + (keys.empty() ? "%m, %k" : "%q, %m") +
                            ") scale 1.0 : " + q + ", " + k + "\n  } : " + v + " -> " + q + "\n  return %o : " + q,
                        q);
  attn::AttentionOp attention = parsed.all<attn::AttentionOp>().front();
  auto shape = shapeOfAttention(attention);
  EXPECT_TRUE(shape) << shape.reason();
  if (!shape)
    return false;
  attention.setScheduleAttr(chooseSchedule(attention, *shape, *findTarget("x86-64-v3")));
  AttentionShapes shapes(attention);
  return isPackedOperand(attention, attn::termsOf(attention).front().getInputs()[keys.empty() ? 0 : 1], shapes);
}

TEST(PackedOperands, AdditionsAndScalesAreMadeOnTheWay) {
  EXPECT_TRUE(isPacked("  %m = arith.addf %q, %q : tensor<2x40x16xf32>"));
  EXPECT_TRUE(isPacked("  %n = arith.negf %q : tensor<2x40x16xf32>\n"
                       "  %m = arith.mulf %n, %q : tensor<2x40x16xf32>"));
  EXPECT_FALSE(isPacked("  %m = math.exp %q : tensor<2x40x16xf32>")) << "it costs more than a loop of its own";
  std::string chain = "  %c0 = arith.addf %q, %q : tensor<2x40x16xf32>\n";
  for (int k = 1; k < 13; ++k)
    chain += "  %c" + std::to_string(k) + " = arith.addf %c" + std::to_string(k - 1) + ", %q : tensor<2x40x16xf32>\n";
  EXPECT_TRUE(isPacked(chain + "  %m = arith.mulf %c10, %q : tensor<2x40x16xf32>")) << "twelve operations";
  EXPECT_FALSE(isPacked(chain + "  %m = arith.mulf %c11, %q : tensor<2x40x16xf32>")) << "thirteen";
}

TEST(PackedOperands, RowsAreWhole) {
  auto doubled = [](const std::string &shape) { return "  %m = arith.addf %k, %k : " + tensorOf(shape); };
  EXPECT_TRUE(isPacked(doubled("2x48x16"), 40, "h j d"));
  EXPECT_TRUE(isPacked(doubled("2x48x16"), 40, "h (47 - j) d")) << "in whatever order";
  EXPECT_FALSE(isPacked(doubled("2x48x32"), 40, "h j (d + 16)", "2x48x32")) << "half of a row";
  EXPECT_FALSE(isPacked(doubled("2x16x48"), 40, "h d j", "2x16x48")) << "rows lie along the keys";
}

/// With few queries, keys that all heads share are not computed for each head.
TEST(PackedOperands, KeysThatHeadsShareAreComputedOnce) {
  const char *doubled = "  %m = arith.addf %k, %k : tensor<48x16xf32>";
  EXPECT_TRUE(isPacked(doubled, 40, "j d", "48x16"));
  EXPECT_TRUE(isPacked(doubled, 32, "j d", "48x16"));
  EXPECT_FALSE(isPacked(doubled, 31, "j d", "48x16"));
  EXPECT_TRUE(isPacked("  %m = arith.addf %k, %k : tensor<2x48x16xf32>", 31, "h j d")) << "each head has its own";
}

//===- Equal stages ------------------------------------------------------------===//

/// Returns how many of two products of functions of %x and %w are left when equal ones are merged.
int64_t productsLeft(const std::string &second) {
  ParsedFunction parsed(
      "%x: tensor<9x7xf32>, %y: tensor<9x7xf32>, %w: tensor<7x5xf32>",
      "  %e = math.exp %x : tensor<9x7xf32>\n  %f = " + second + " : tensor<9x7xf32>\n" +
          "  %a = attn.einsum \"n c, c m -> n m\" (%e, %w) : (tensor<9x7xf32>, tensor<7x5xf32>) -> tensor<9x5xf32>\n" +
          "  %b = attn.einsum \"n c, c m -> n m\" (%f, %w) : (tensor<9x7xf32>, tensor<7x5xf32>) -> tensor<9x5xf32>\n" +
          "  %r = arith.mulf %a, %b : tensor<9x5xf32>\n  return %r : tensor<9x5xf32>",
      "tensor<9x5xf32>");
  mergeEqualStages(parsed.function);
  EXPECT_TRUE(succeeded(verify(parsed.function)));
  return int64_t(parsed.all<attn::EinsumOp>().size());
}

TEST(EqualStages, AreMadeOnce) {
  EXPECT_EQ(productsLeft("math.exp %x"), 1) << "with what is folded into them";
  EXPECT_EQ(productsLeft("math.exp %y"), 2) << "of another tensor";
  EXPECT_EQ(productsLeft("math.tanh %x"), 2) << "by another function";
}

TEST(EqualStages, ResultsHaveMemoryOfTheirOwn) {
  ParsedFunction parsed("%x: tensor<9x7xf32>, %w: tensor<7x5xf32>",
                        "  %a = attn.einsum \"n c, c m -> n m\" (%x, %w) : (tensor<9x7xf32>, tensor<7x5xf32>) -> "
                        "tensor<9x5xf32>\n  %b = attn.einsum \"n c, c m -> n m\" (%x, %w) : (tensor<9x7xf32>, "
                        "tensor<7x5xf32>) -> tensor<9x5xf32>\n  return %a, %b : tensor<9x5xf32>, tensor<9x5xf32>",
                        "(tensor<9x5xf32>, tensor<9x5xf32>)");
  mergeEqualStages(parsed.function);
  EXPECT_EQ(parsed.all<attn::EinsumOp>().size(), 2u);
}

//===- Small operands of sums that are turned --------------------------------------===//

/// Returns the text of the einsum after small operands are transposed, and their number.
std::pair<std::string, size_t> aligned(const std::string &spec, const std::vector<std::string> &shapes,
                                       const std::string &result) {
  OneEinsum einsum(spec, shapes, result);
  alignOperands(einsum.function);
  EXPECT_TRUE(succeeded(verify(einsum.function))) << spec;
  return {einsum.op().getSpec().str(), einsum.all<attn::RearrangeOp>().size()};
}

TEST(AlignedOperands, WeightsOfHeadsLieAlongTheSum) {
  auto [spec, turns] = aligned("i j c, c h -> i h j", {"24x24x32", "32x4"}, "24x4x24");
  EXPECT_EQ(turns, 1u);
  EXPECT_EQ(spec, "i j c, h c -> i h j");
}

TEST(AlignedOperands, WhatLiesRightOrIsReadSeldomStays) {
  using Outcome = std::pair<std::string, size_t>;
  EXPECT_EQ(aligned("i j c, h c -> i h j", {"24x24x32", "4x32"}, "24x4x24"), Outcome("i j c, h c -> i h j", 0));
  EXPECT_EQ(aligned("i j c, c h -> i h j", {"24x24x12", "12x4"}, "24x4x24"), Outcome("i j c, c h -> i h j", 0))
      << "a sum of a few steps";
  EXPECT_EQ(aligned("i c, c h -> h i", {"4x32", "32x4"}, "4x4"), Outcome("i c, c h -> h i", 0))
      << "each number is read four times";
  EXPECT_EQ(aligned("i c j, c h -> i h j", {"24x32x24", "32x4"}, "24x4x24"), Outcome("i c j, c h -> i h j", 0))
      << "vectors go along j";
}
} // namespace
