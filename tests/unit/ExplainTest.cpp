// Tests the counts and records of `explain`: tiles of masks, rows never read, composed operations, predicted work.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "tools/skewer/ExplainText.h"
#include <gtest/gtest.h>

namespace {
using namespace skewer;
using namespace skewer::driver;

/// Returns one kernel's layer, scheduled for a named processor.
struct Layer {
  std::unique_ptr<Compilation> compilation;
  mlir::OwningOpRef<mlir::ModuleOp> scheduled;
  std::optional<LayerFacts> facts;
  std::optional<AttentionShape> shape;

  explicit Layer(const std::string &text, const char *target = "x86-64-v4") {
    compilation = Compilation::createFromText(text, "layer.attn", {}, *findTarget(target));
    if (!compilation)
      return;
    const Kernel &kernel = compilation->kernels.front();
    scheduled = compilation->schedule(kernel);
    if (!scheduled)
      return;
    KernelFacts kernelFacts = factsOf(kernel, *scheduled);
    scheduled->walk([&](attn::AttentionOp attention) {
      facts = layerFactsOf(attention, kernelFacts.attentions.front(), compilation->target());
      shape = shapeOfAttention(attention);
    });
  }
};

std::string plain(const std::string &mask, int queries = 20, int keys = 20) {
  std::string q = std::to_string(queries), k = std::to_string(keys);
  return "kernel layer(q : f32[2, " + q + ", 8], k, v : f32[2, " + k + ", 8]) -> f32[2, " + q +
         ", 8] {\n"
         "  weights = softmax(einsum(\"h i d, h j d -> h i j\", q, k)" +
         (mask.empty() ? "" : " where " + mask) +
         ")\n"
         "  return einsum(\"h i j, h j d -> h i d\", weights, v)\n}\n";
}

/// Returns the same counts, element by element from the predicate.
template <typename Predicate>
TileCounts counted(int64_t queries, int64_t keys, int64_t tileRows, int64_t tileKeys, Predicate sees) {
  TileCounts counts;
  for (int64_t row = 0; row < queries; row += tileRows)
    for (int64_t column = 0; column < keys; column += tileKeys) {
      int64_t seen = 0, all = 0;
      for (int64_t i = row; i < std::min(queries, row + tileRows); ++i)
        for (int64_t j = column; j < std::min(keys, column + tileKeys); ++j) {
          ++all;
          seen += sees(i, j);
        }
      ++(seen == 0 ? counts.dead : seen == all ? counts.full : counts.edge);
    }
  return counts;
}

TEST(Explain, TilesOfMasksAreThoseOfThePredicate) {
  struct {
    const char *mask;
    bool (*sees)(int64_t, int64_t);
    bool interval;
  } cases[] = {
      {"j <= i", [](int64_t i, int64_t j) { return j <= i; }, true},
      {"abs(i - j) <= 3", [](int64_t i, int64_t j) { return std::abs(i - j) <= 3; }, true},
      {"j <= i + 4 and i - j < 7", [](int64_t i, int64_t j) { return j <= i + 4 && i - j < 7; }, true},
      {"j <= i and (j < 4 or i - j < 5)", [](int64_t i, int64_t j) { return j <= i && (j < 4 || i - j < 5); }, true},
      {"j < 7 or i - j < 2", [](int64_t i, int64_t j) { return j < 7 || i - j < 2; }, true},
      // The last chunk is a part of one: positions are not split.
      {"i // 6 == j // 6", [](int64_t i, int64_t j) { return i / 6 == j / 6; }, false},
      {"j <= i or j < 4", [](int64_t i, int64_t j) { return j <= i || j < 4; }, false},
      {"j % 2 == 0 and j <= i", [](int64_t i, int64_t j) { return j % 2 == 0 && j <= i; }, false},
  };
  for (const auto &c : cases)
    for (auto [queries, keys] : {std::pair<int, int>{20, 20}, {17, 31}}) {
      Layer layer(plain(c.mask, queries, keys));
      ASSERT_TRUE(layer.shape) << c.mask;
      for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {4, 5}, {6, 16}, {64, 64}}) {
        auto got = countTiles(*layer.shape, rows, columns);
        ASSERT_TRUE(got) << c.mask;
        TileCounts expected = counted(queries, keys, rows, columns, c.sees);
        EXPECT_EQ(got->dead, expected.dead) << c.mask << " " << rows << "x" << columns;
        EXPECT_EQ(got->edge, expected.edge) << c.mask << " " << rows << "x" << columns;
        EXPECT_EQ(got->full, expected.full) << c.mask << " " << rows << "x" << columns;
        EXPECT_LE(got->skipped, got->dead);
        if (c.interval) {
          EXPECT_EQ(got->skipped, got->dead) << c.mask;
        }
      }
    }
}

/// If positions matter, heads that share keys are one leading axis, and tiles do not mix them.
TEST(Explain, TilesOfGroupedHeadsAreThoseOfOneHead) {
  std::string text = "kernel layer(q : f32[2, 4, 20, 8], k, v : f32[2, 24, 8]) -> f32[2, 4, 20, 8] {\n"
                     "  weights = softmax(einsum(\"g r i d, g j d -> g r i j\", q, k)"
                     " where j - 4 <= i and (j < 4 or i - j < 3))\n"
                     "  return einsum(\"g r i j, g j d -> g r i d\", weights, v)\n}\n";
  Layer layer(text);
  ASSERT_TRUE(layer.shape);
  EXPECT_EQ(layer.shape->queries, 20);
  EXPECT_EQ(layer.shape->space.leading.size(), 2u);
  auto got = countTiles(*layer.shape, 4, 8);
  ASSERT_TRUE(got);
  TileCounts expected = counted(20, 24, 4, 8, [](int64_t i, int64_t j) { return j - 4 <= i && (j < 4 || i - j < 3); });
  EXPECT_EQ(got->dead, expected.dead);
  EXPECT_EQ(got->skipped, expected.dead);
  EXPECT_EQ(got->edge, expected.edge);
  // The same holds without a mask: each has enough rows.
  Layer unmasked(text.replace(text.find(" where"), text.find(")\n") - text.find(" where"), ""));
  ASSERT_TRUE(unmasked.shape);
  EXPECT_EQ(unmasked.shape->queries, 20);
}

std::string offsets(const std::string &table, const std::string &row, const std::string &mask = "") {
  return "kernel layer(q, k, v : f32[2, 6, 8], table : f32[" + table +
         ", 8]) -> f32[2, 6, 8] {\n"
         "  content = einsum(\"h i d, h j d -> h i j\", q, k)\n"
         "  position = einsum(\"h i d, (" +
         row + ") d -> h i j\", q, table, j = 6)" + (mask.empty() ? "" : " if " + mask + " else 0") +
         "\n"
         "  weights = softmax((content + position) * 0.5" +
         (mask.empty() ? "" : " where " + mask) +
         ")\n"
         "  return einsum(\"h i j, h j d -> h i d\", weights, v)\n}\n";
}

TEST(Explain, RowsNeverReadAreNamed) {
  Layer all(offsets("11", "j - i + 5"));
  ASSERT_TRUE(all.facts);
  EXPECT_TRUE(all.facts->unread.empty());

  Layer larger(offsets("15", "j - i + 6"));
  ASSERT_TRUE(larger.facts);
  ASSERT_EQ(larger.facts->unread.size(), 1u);
  const UnreadRows &unread = larger.facts->unread.front();
  EXPECT_EQ(unread.operand, "table");
  EXPECT_EQ(unread.rows, 15);
  EXPECT_EQ(unread.runs, (std::vector<subscript::Range>{{0, 0}, {12, 14}}));

  Layer causal(offsets("11", "j - i + 5", "j <= i"));
  ASSERT_TRUE(causal.facts);
  ASSERT_EQ(causal.facts->unread.size(), 1u);
  EXPECT_EQ(causal.facts->unread.front().runs, (std::vector<subscript::Range>{{6, 10}}));

  Layer gaps(offsets("21", "2 * (j - i) + 10"));
  ASSERT_TRUE(gaps.facts);
  ASSERT_EQ(gaps.facts->unread.size(), 1u);
  EXPECT_EQ(gaps.facts->unread.front().runs.size(), 10u) << "every odd row";
}

TEST(Explain, ComposedOperationsAreRemembered) {
  Layer layer("kernel layer(q, k, v : f32[2, 6, 8], table : f32[6, 8]) -> f32[2, 6, 8] {\n"
              "  content = einsum(\"h i d, h j d -> h i j\", q, k)\n"
              "  logits = einsum(\"h i d, r d -> h i r\", q, table)\n"
              "  padded = pad(logits, (1, 0))\n"
              "  reshaped = reshape(padded, [2, 7, 6])\n"
              "  position = reshaped[:, 1:, :]\n"
              "  weights = softmax((content + position) * 0.5 where j <= i)\n"
              "  return einsum(\"h i j, h j d -> h i d\", weights, v)\n}\n");
  ASSERT_TRUE(layer.facts);
  ASSERT_EQ(layer.facts->composed.size(), 2u);
  EXPECT_TRUE(layer.facts->composed[0].empty());
  const std::vector<ComposedOperation> &composed = layer.facts->composed[1];
  ASSERT_EQ(composed.size(), 4u);
  const char *operations[] = {"einsum", "pad", "reshape", "slice"};
  std::vector<int64_t> shapes[] = {{2, 6, 6}, {2, 6, 7}, {2, 7, 6}, {2, 6, 6}};
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(composed[k].operation, operations[k]);
    EXPECT_EQ(composed[k].shape, shapes[k]);
    EXPECT_EQ(composed[k].place.line, 3 + k);
    EXPECT_EQ(composed[k].place.file, "layer.attn");
  }
  EXPECT_EQ(driver::bytesOf(composed[1]), 2 * 6 * 7 * 4);
}

TEST(Explain, FormulaNamesTermsAndMask) {
  Layer layer(offsets("11", "j - i + 5", "j <= i"));
  ASSERT_TRUE(layer.facts);
  EXPECT_EQ(layer.facts->formula.find("softmax over j of 0.5 (q·k + q·table[j - i + 5]"), 0u) << layer.facts->formula;
  EXPECT_NE(layer.facts->formula.find("where j <= i, times v"), std::string::npos) << layer.facts->formula;
}

TEST(Explain, PredictionsFollowTheWork) {
  Layer all(plain("", 256, 256)), causal(plain("j <= i", 256, 256)), half(plain("", 128, 256));
  ASSERT_TRUE(all.facts && causal.facts && half.facts);
  EXPECT_DOUBLE_EQ(all.facts->work.matmulFlops, 2.0 * all.facts->tileRows *
                                                    ((256 + all.facts->tileRows - 1) / all.facts->tileRows) * 256 *
                                                    (8 + 16));
  EXPECT_LT(causal.facts->work.matmulFlops, 0.75 * all.facts->work.matmulFlops);
  EXPECT_GT(causal.facts->work.matmulFlops, 0.5 * all.facts->work.matmulFlops);
  EXPECT_LT(causal.facts->work.cycles, all.facts->work.cycles);
  EXPECT_NEAR(half.facts->work.cycles / all.facts->work.cycles, 0.5, 0.1);
}

TEST(Explain, RooflineTakesTheSlowerOfTheTwo) {
  KernelPlan plan;
  plan.inputs.resize(1);
  plan.inputs[0].shape = {{"batch", 1}, {"", 1000}};
  plan.outputs = {{"output", ElementType::F16, {{"", 500}}}};
  Target target = *findTarget("zen4");
  WorkFacts work = workFactsOf(plan, 1e9, {}, true, target);
  EXPECT_DOUBLE_EQ(work.bytesMoved, 4 * 1000 + 2 * 500);
  EXPECT_DOUBLE_EQ(work.peak, 2 * 16 * 1 * 3.7e9);
  EXPECT_FALSE(work.isMemoryBound());
  EXPECT_DOUBLE_EQ(work.boundSeconds(), 1e9 / work.peak);
  EXPECT_EQ(work.predictedSeconds, 0) << "nothing was scheduled";
  EXPECT_TRUE(workFactsOf(plan, 1, {}, true, target).isMemoryBound());
}

TEST(Explain, OnlyWhatHasABufferIsMaterialised) {
  // Turned queries are computed while they are packed; an operand that two products read has a buffer.
  const char *text = "kernel layer(q, k, v : f32[1, 2, 20, 8], w : f32[8, 8]) -> f32[1, 2, 20, 8] {\n"
                     "  projected = einsum(\"b h i d, d e -> b h i e\", q, w)\n"
                     "  content = einsum(\"b h i d, b h j d -> b h i j\", rope(projected), rope(k))\n"
                     "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(content), v)\n}\n";
  auto compilation = Compilation::createFromText(text, "layer.attn", {}, *findTarget("x86-64-v4"));
  ASSERT_TRUE(compilation);
  auto scheduled = compilation->schedule(compilation->kernels.front());
  ASSERT_TRUE(scheduled);
  KernelFacts facts = factsOf(compilation->kernels.front(), *scheduled);
  ASSERT_EQ(facts.materialised.size(), 1u);
  EXPECT_EQ(facts.materialised[0].shape, (std::vector<int64_t>{1, 2, 20, 8}));
  EXPECT_EQ(facts.materialised[0].count, 1);
}

} // namespace
