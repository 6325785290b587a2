// Tests the forms of terms in the order of a layer, and the layers that add table rows to keys.
#include "passes/Analysis/StridedShape.h"
#include "AttentionTesting.h"
#include "passes/Analysis/TermForm.h"
#include <fmt/format.h>

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Makes the same layer with an offset term whose queries are those of the content.
std::string moduleOf(const std::string &more = "", const std::string &mask = "", const std::string &content = "0.25",
                     const std::string &offset = "0.25", const char *queries = "%q") {
  return "func.func @f(%q: tensor<2x40x8xf32>, %p: tensor<2x40x8xf32>, %v: tensor<2x48x8xf32>, %t: tensor<87x8xf32>, "
         "%b: tensor<2x48xf32>) -> tensor<2x40x8xf32> attributes {attn.kernel} {\n"
         "  %o = attn.attention \"h i j\"" +
         mask +
         " value \"h j e -> h i e\" (%v) score {\n"
         "    attn.term \"h i d, h j d\" (%q, %v) scale " +
         content +
         " : tensor<2x40x8xf32>, tensor<2x48x8xf32>\n"
         "    attn.term \"h i d, (j - i + 39) d\" (" +
         std::string(queries) + ", %t) scale " + offset + " : tensor<2x40x8xf32>, tensor<87x8xf32>\n" + more +
         "  } : tensor<2x48x8xf32> -> tensor<2x40x8xf32>\n  return %o : tensor<2x40x8xf32>\n}\n";
}
template <typename Result>
std::optional<Result> ofShape(const std::string &source, llvm::function_ref<Result(const AttentionShape &)> ask) {
  mlir::MLIRContext context;
  context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  std::optional<Result> found;
  if (module)
    module->walk([&](attn::AttentionOp attention) {
      if (auto shape = shapeOfAttention(attention))
        found = ask(*shape);
    });
  return found;
}
std::optional<bool> addsStrided(const std::string &source) {
  return ofShape<bool>(source, [](const AttentionShape &shape) { return mayAddStrided(shape); });
}

/// Makes a layer with heads h of groups g, a batch whose size may be known at run time, `keys` keys and tables of
/// `axes`.
std::optional<int64_t> headsOfPhaseOf(int64_t groups, int64_t heads, int64_t keys, const std::string &axes = "") {
  std::string batched = fmt::format("tensor<?x{}x{}x{}x64xf32>", groups, heads, keys), sizes;
  for (char axis : axes)
    sizes += axis == ' ' ? "" : fmt::format("{}x", axis == 'g' ? groups : heads);
  std::string table = fmt::format("tensor<{}{}x64xf32>", sizes, 2 * keys - 1);
  std::string source = fmt::format(R"ir(
func.func @f(%q: {0}, %k: {0}, %t: {1}) -> {0} attributes {{attn.kernel}} {{
  %o = attn.attention "b g h i j" value "b g h j e -> b g h i e" (%k) score {{
    attn.term "b g h i d, b g h j d" (%q, %k) scale 0.125 : {0}, {0}
    attn.term "b g h i d, {2}(j - i + {3}) d" (%q, %t) scale 0.125 : {0}, {1}
  }} : {0} -> {0}
  return %o : {0}
}})ir",
                                   batched, table, axes, keys - 1);
  return ofShape<int64_t>(source, [](const AttentionShape &shape) { return headsOfPhase(shape, 16); });
}

TEST(StridedShape, HeadsThatShareATableTakeTurnsAtItsPhases) {
  EXPECT_EQ(headsOfPhaseOf(2, 3, 64), 6) << "all but the batch";
  EXPECT_EQ(headsOfPhaseOf(2, 3, 64, "h "), 1) << "the innermost have tables of their own";
  EXPECT_EQ(headsOfPhaseOf(2, 3, 64, "g "), 3) << "up to the first that has one";
  EXPECT_EQ(headsOfPhaseOf(2, 4, 1024), 4) << "5 heads' keys and values may be held, and 4 divide 8";
  EXPECT_EQ(headsOfPhaseOf(1, 7, 1024), 1) << "7 has no other divisor below 6";
  EXPECT_EQ(headsOfPhaseOf(1, 8, 8192), 1) << "the keys of one head alone are more";
}

TEST(StridedShape, IsOneContentAndOneOffsetOfTheSameQueries) {
  EXPECT_EQ(addsStrided(moduleOf()), true);
  EXPECT_EQ(addsStrided(moduleOf("", " where \"j <= i\"")), true) << "an interval is none of its business";
  EXPECT_EQ(addsStrided(moduleOf("", " where \"(i + j) mod 2 == 0\"")), false);
  EXPECT_EQ(addsStrided(moduleOf("    attn.term \"h j\" (%b) scale 1.0 : tensor<2x48xf32>\n")), false);
  EXPECT_EQ(addsStrided(moduleOf("", "", "0.25", "0.25", "%p")), false) << "other queries";
  EXPECT_EQ(addsStrided(moduleOf("", "", "0.25", "0.375")), true) << "the table's share is packed into it";
  EXPECT_EQ(addsStrided(moduleOf("", "", "0.25", "0.5")), false) << "which would make it large";
  EXPECT_EQ(addsStrided(moduleOf("", "", "1.0", "1.0")), false) << "scores of a deviation above 2";
}

TEST(TermForm, TermsStandInTheOrderOfTheLayer) {
  AttentionText layer = contentLayer();
  layer.score.push_back({"h j", {"2x48"}});
  layer.score.push_back({"h i d, (j - i + 39) d", {"2x40x8", "87x8"}});
  layer.score.push_back({"h i d, ((i + j) mod 7) d", {"2x40x8", "7x8"}});
  layer.score.push_back({"h i j", {"2x40x48"}});
  layer.values = {{"(j - i + 39) e", {"87x8"}}};
  layer.mask = " where \"j <= i + 5 and (i + j) mod 3 < 2\"";
  ParsedAttention attention(layer);
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  std::vector<TermForm> forms = formsOf(*shape);
  ASSERT_EQ(forms.size(), 6u);
  EXPECT_TRUE(forms[0].as<ContentTerm>());
  EXPECT_TRUE(forms[1].as<OtherTerm>());
  ASSERT_TRUE(forms[2].as<RowTerm>() && forms[3].as<RowTerm>());
  EXPECT_EQ(forms[2].as<RowTerm>()->kind, RowKind::Linear);
  EXPECT_NE(forms[3].as<RowTerm>()->kind, RowKind::Linear);
  EXPECT_TRUE(forms[4].as<OtherTerm>());
  EXPECT_TRUE(forms[5].as<ValueTerm>());
  EXPECT_EQ(forms[1].number, 0u);
  EXPECT_EQ(forms[4].number, 1u) << "the second of its form";
  EXPECT_EQ(forms[4].as<OtherTerm>(), &shape->others[1]);
  EXPECT_EQ(forms[2].as<ContentTerm>(), nullptr);
  EXPECT_EQ(forms[5].sum(), 0u);
  std::vector<TermForm> masks = maskFormsOf(*shape);
  ASSERT_EQ(masks.size(), 1u) << "the interval is no part that a strategy computes";
  EXPECT_TRUE(masks[0].as<MaskPart>());
}
} // namespace
