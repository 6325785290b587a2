// Tests term classes: the analysis of terms, the order of the registry, and classes from plugins.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Analysis/TermClass.h"
#include <gtest/gtest.h>

namespace {
using namespace mlir;
using namespace skewer;
using namespace skewer::attn;

class Classes : public ::testing::Test {
protected:
  Classes() { context.loadDialect<AttnDialect, func::FuncDialect>(); }

  /// Returns the analysis of the only term of an attention over this space.
  TermAnalysis analysisOf(const std::string &term, const std::string &types, bool map = true) {
    std::string arguments, name = "abc";
    std::string list = types;
    size_t begin = 0, count = 0;
    while (!list.empty() && begin <= list.size()) {
      size_t end = list.find(", ", begin);
      arguments +=
          std::string(", %") + name[count++] + ": " + list.substr(begin, end == std::string::npos ? end : end - begin);
      if (end == std::string::npos)
        break;
      begin = end + 2;
    }
    std::string space =
        map ? "\"b h (iy ix) (jy jx)\" sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64} value "
              "\"b h (jy jx) e -> b h (iy ix) e\""
            : "\"b h i j\" value \"b h j e -> b h i e\"";
    std::string text = "func.func @f(%v: tensor<?x2x6x8xf32>" + arguments +
                       ") -> tensor<?x2x6x8xf32> {\n  %o = attn.attention " + space + " (%v) score {\n    attn.term " +
                       term + (types.empty() ? "" : " : " + types) +
                       "\n  } : tensor<?x2x6x8xf32> -> tensor<?x2x6x8xf32>\n  return %o : tensor<?x2x6x8xf32>\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    TermAnalysis analysis;
    if (module)
      module->walk([&](TermOp op) { analysis = analyse(op); });
    return analysis;
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const std::string kQuery = "tensor<?x2x6x8xf32>";

TEST_F(Classes, Content) {
  auto a = analysisOf("\"b h (jy jx) d, b h (iy ix) d\"(%a, %b) scale 1.0", kQuery + ", " + kQuery);
  EXPECT_EQ(a.kind, TermKind::Content);
  EXPECT_EQ(a.query, 1);
  EXPECT_EQ(a.other, 0);
  EXPECT_TRUE(a.queryLeading && a.otherLeading);
  EXPECT_EQ(a.depth, 8);
  // Absolute logits: a row for each key, the same for all heads.
  a = analysisOf("\"b h i d, j d\"(%a, %b) scale 1.0", kQuery + ", tensor<6x8xf32>", false);
  EXPECT_EQ(a.kind, TermKind::Content);
  EXPECT_FALSE(a.otherLeading);
}

TEST_F(Classes, OffsetOfWholePositions) {
  auto a = analysisOf("\"b h i d, h (j - i + 5) d\"(%a, %b) scale 1.0", kQuery + ", tensor<2x11x8xf32>", false);
  EXPECT_EQ(a.kind, TermKind::OffsetQuery);
  EXPECT_EQ(a.offset.query, "i");
  EXPECT_EQ(a.offset.key, "j");
  EXPECT_EQ(a.offset.sign, 1);
  EXPECT_EQ(a.offset.constant, 5);
  EXPECT_EQ(a.rowDimension, 1);
  EXPECT_EQ(a.rows, 11);
  EXPECT_EQ(a.queryExtent, 6);
  EXPECT_TRUE(a.otherLeading);
  EXPECT_FALSE(a.guarded);
  a = analysisOf("\"b h i d, (i - j + 5) d\"(%a, %b) scale 1.0 where \"j <= i\"", kQuery + ", tensor<11x8xf32>", false);
  EXPECT_EQ(a.kind, TermKind::OffsetQuery);
  EXPECT_EQ(a.offset.sign, -1);
  EXPECT_TRUE(a.guarded);
}

TEST_F(Classes, OffsetOfAnAxis) {
  auto a = analysisOf("\"b h (iy ix) d, (ix - jx + 2) d\"(%a, %b) scale 1.0", kQuery + ", tensor<5x8xf32>");
  EXPECT_EQ(a.kind, TermKind::AxisOffsetQuery);
  EXPECT_EQ(a.offset.query, "ix");
  EXPECT_EQ(a.offset.key, "jx");
  EXPECT_EQ(a.offset.sign, -1);
  EXPECT_EQ(a.offset.constant, 2);
  EXPECT_EQ(a.keyExtent, 3);
  // Rows minus columns is no offset of one axis.
  a = analysisOf("\"b h (iy ix) d, (jx - iy + 1) d\"(%a, %b) scale 1.0", kQuery + ", tensor<4x8xf32>");
  EXPECT_NE(a.kind, TermKind::AxisOffsetQuery);
  a = analysisOf("\"b h (jy jx) d, (jy - iy + 1) d\"(%a, %b) scale 1.0", kQuery + ", tensor<3x8xf32>");
  EXPECT_EQ(a.kind, TermKind::OffsetKey);
}

TEST_F(Classes, FunctionsOfTheOffset) {
  auto a =
      analysisOf("\"b h i d, (clamp(j - i, -2, 2) + 2) d\"(%a, %b) scale 1.0", kQuery + ", tensor<5x8xf32>", false);
  EXPECT_EQ(a.kind, TermKind::OffsetFunction);
  EXPECT_EQ(a.rowDimension, 0);
  a = analysisOf("\"b h i d, (min(j + i, 5)) d\"(%a, %b) scale 1.0", kQuery + ", tensor<6x8xf32>", false);
  EXPECT_EQ(a.kind, TermKind::PositionRow) << "i + j is no offset";
  EXPECT_EQ(a.className, "row picked by positions");
}

TEST_F(Classes, Scalars) {
  auto a = analysisOf("\"h (3*jy - 3*iy + jx - ix + 5)\"(%a) scale 1.0", "tensor<2x11xf32>");
  EXPECT_EQ(a.kind, TermKind::ScalarOffset);
  EXPECT_EQ(a.rowDimension, 1);
  a = analysisOf("\"h (jy - iy + 1) (jx - ix + 2)\"(%a) scale 1.0", "tensor<2x3x5xf32>");
  EXPECT_EQ(a.kind, TermKind::ScalarOffset);
  EXPECT_EQ(a.rowDimension, -1) << "two rows: one an axis";
  EXPECT_EQ(analysisOf("\"i j\"(%a) scale 1.0", "tensor<6x6xf32>", false).kind, TermKind::Materialised);
  EXPECT_EQ(analysisOf("\"b j\"(%a) scale 1.0", "tensor<?x6xf32>", false).kind, TermKind::KeyOnly);
  EXPECT_EQ(analysisOf("\"b h i\"(%a) scale 1.0", "tensor<?x2x6xf32>", false).kind, TermKind::QueryOnly);
  EXPECT_EQ(analysisOf("\"\"() times \"i*j\" scale 1.0", "", false).kind, TermKind::Position);
}

TEST_F(Classes, NumbersOfMapAxes) {
  auto a = analysisOf("\"b h (iy ix) jx\"(%a) scale 1.0", "tensor<?x2x6x3xf32>");
  EXPECT_EQ(a.kind, TermKind::AxisScalar);
  EXPECT_EQ(a.className, "scalar of map axes");
  EXPECT_EQ(a.rows, 3);
  EXPECT_TRUE(a.otherLeading);
  // Any function of the query and of the axis, of several operands.
  EXPECT_EQ(analysisOf("\"h (iy*jy + ix), b h (iy ix)\"(%a, %b) scale 1.0", "tensor<2x9xf32>, tensor<?x2x6xf32>").kind,
            TermKind::AxisScalar);
  EXPECT_EQ(analysisOf("\"b h (iy ix) jx\"(%a) scale 1.0 where \"0 < iy\"", "tensor<?x2x6x3xf32>").kind,
            TermKind::AxisScalar);
  EXPECT_NE(analysisOf("\"b h (iy ix) jx\"(%a) scale 1.0 where \"iy < jy\"", "tensor<?x2x6x3xf32>").kind,
            TermKind::AxisScalar)
      << "the guard depends on the other axis";
  EXPECT_EQ(analysisOf("\"h (jx - ix + 2)\"(%a) scale 1.0", "tensor<2x5xf32>").kind, TermKind::ScalarOffset);
  EXPECT_EQ(analysisOf("\"h jx\"(%a) scale 1.0", "tensor<2x3xf32>").kind, TermKind::KeyOnly);
  EXPECT_NE(analysisOf("\"b h (iy ix) (jy jx)\"(%a) scale 1.0", "tensor<?x2x6x6xf32>").kind, TermKind::AxisScalar);
}

class NothingButBatches : public TermClass {
public:
  llvm::StringRef name() const override { return "batches"; }
  std::optional<TermAnalysis> match(const attn::Term &term) const override {
    if (term.scale != 42)
      return std::nullopt;
    TermAnalysis analysis;
    analysis.kind = TermKind::Custom;
    return analysis;
  }
  std::string describe(const attn::Term &, const TermAnalysis &) const override { return "from outside"; }
};

TEST_F(Classes, TheFirstMatchInOrderWins) {
  TermClasses::of(context.getOrLoadDialect<AttnDialect>()).add(std::make_unique<NothingButBatches>(), 50);
  auto a = analysisOf("\"b h i d, b h j d\"(%a, %b) scale 42.0", kQuery + ", " + kQuery, false);
  EXPECT_EQ(a.kind, TermKind::Custom);
  EXPECT_EQ(a.className, "batches");
  module->walk([](TermOp op) { EXPECT_EQ(describe(op), "from outside"); });
  a = analysisOf("\"b h i d, b h j d\"(%a, %b) scale 1.0", kQuery + ", " + kQuery, false);
  EXPECT_EQ(a.className, "content");
  EXPECT_EQ(a.ofPlugin, nullptr);
}

} // namespace
