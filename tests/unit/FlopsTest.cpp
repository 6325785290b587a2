// Tests useful work: the pairs that a mask leaves, counted one by one, and the FLOPs of a layer's formula.
#include "AttentionTesting.h"
#include "codegen/Compiler/Compiler.h"

using namespace skewer;
using skewer::testing::AttentionText;
using skewer::testing::ParsedAttention;
using skewer::testing::TermText;

namespace {
const TermText kContent{"h i d, h j d", {"2x7x8", "2x9x8"}};

AttentionText layer(const std::string &mask = "") {
  AttentionText text;
  text.score = {kContent};
  if (!mask.empty())
    text.mask = " where \"" + mask + "\"";
  return text;
}

TEST(VisiblePairs, AreThoseOfTheMask) {
  for (const char *mask : {"j <= i", "j <= i + 2", "j < i", "abs(i - j) <= 2", "j <= i and i - j < 3", "j mod 2 == 0",
                           "(i - j) mod 3 == 0", "j < 4", "i < 3 or j <= i", "i floordiv 3 == j floordiv 3",
                           "abs(i - j) <= 1 or j == 0", "j - i <= -20", "i*j < 10"}) {
    ParsedAttention attention(layer(mask));
    ASSERT_TRUE(attention);
    attn::ScoreSpace space = attn::scoreSpace(attention.op);
    double expected = 0;
    for (int64_t i = 0; i < 7; ++i)
      for (int64_t j = 0; j < 9; ++j)
        expected += skewer::testing::sees(attention.op, space, i, j);
    EXPECT_EQ(visiblePairs(attention.op).count, expected) << mask;
  }
}

TEST(VisiblePairs, OnMaps) {
  AttentionText text{"h (iy ix) (jy jx)",
                     " sizes {iy = 3 : i64, ix = 4 : i64, jy = 3 : i64, jx = 4 : i64}",
                     " where \"abs(iy - jy) <= 1 and abs(ix - jx) <= 1\"",
                     "h (jy jx) e -> h (iy ix) e",
                     "2x12x8",
                     "2x12x8",
                     {{"h (iy ix) d, h (jy jx) d", {"2x12x8", "2x12x8"}}}};
  ParsedAttention attention(text);
  ASSERT_TRUE(attention);
  EXPECT_EQ(visiblePairs(attention.op).count, (3 + 2 * 2.0) * (4 + 3 * 2.0)); // neighbours along each axis
}

TEST(VisiblePairs, ACausalSquareIsHalf) {
  AttentionText text = layer("j <= i");
  text.valueShape = text.resultShape = "2x8x8";
  text.score = {{"h i d, h j d", {"2x8x8", "2x8x8"}}};
  ParsedAttention attention(text);
  ASSERT_TRUE(attention);
  EXPECT_EQ(visiblePairs(attention.op).count, 32) << "as everybody counts it, without half of the diagonal";
}

TEST(VisiblePairs, OfHeadsThatSeeDifferentKeysTheMean) {
  ParsedAttention attention(layer("j <= i + 2*h"));
  ASSERT_TRUE(attention);
  double expected = 0;
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < 7; ++i)
      for (int64_t j = 0; j < 9; ++j)
        expected += j <= i + 2 * h;
  VisiblePairs seen = visiblePairs(attention.op);
  EXPECT_EQ(seen.count, expected / 2);
  EXPECT_EQ(seen.note, "") << "nothing of it is known at run time only";
}

TEST(VisiblePairs, LengthsLeaveAll) {
  AttentionText text = layer("j < lengths[h]");
  text.mask += " indices(lengths = %lengths : tensor<2xi32>)";
  text.arguments = ", %lengths: tensor<2xi32> {attn.name = \"lengths\"}";
  ParsedAttention attention(text);
  ASSERT_TRUE(attention);
  EXPECT_EQ(visiblePairs(attention.op).count, 63);
}

double flopsOfTerms(const AttentionText &text) {
  ParsedAttention attention(text);
  EXPECT_TRUE(attention);
  if (!attention)
    return -1;
  attn::ScoreSpace space = attn::scoreSpace(attention.op);
  double flops = 0, pairs = visiblePairs(attention.op).count;
  auto view = attn::viewOf(attention.op);
  for (const attn::Term &term : view->score)
    flops += usefulFlops(term, pairs);
  return flops;
}

TEST(UsefulFlops, ContentAndWholeOffsetsCount) {
  EXPECT_EQ(flopsOfTerms(layer()), 2 * 8 * 63);
  AttentionText relative = layer();
  relative.score.push_back({"h i d, (j - i + 6) d", {"2x7x8", "15x8"}});
  EXPECT_EQ(flopsOfTerms(relative), 2 * (2 * 8 * 63));
  AttentionText masked = relative;
  masked.mask = " where \"j mod 3 == 0\"";
  EXPECT_EQ(flopsOfTerms(masked), 2 * (2 * 8 * 21)) << "of the visible scores only";
}

TEST(UsefulFlops, WhatModelsAreComparedWithoutDoesNot) {
  for (const TermText &term : std::vector<TermText>{{"h i d, (clamp(j - i, -2, 2) + 2) d", {"2x7x8", "5x8"}},
                                                    {"(j - i + 6) h", {"15x2"}},
                                                    {"", {}, "times \"abs(i - j)\" scale 1.0"},
                                                    {"i j", {"7x9"}}}) {
    AttentionText text = layer();
    text.score.push_back(term);
    EXPECT_EQ(flopsOfTerms(text), 2 * 8 * 63) << term.subscripts;
  }
}

TEST(UsefulFlops, ASingleQueryIsALayerToo) {
  AttentionText text;
  text.resultShape = "2x1x8";
  text.score = {{"h i d, h j d", {"2x1x8", "2x9x8"}}};
  EXPECT_EQ(flopsOfTerms(text), 2 * 8 * 9);
}

TEST(UsefulFlops, ValuesOfTheirOwnWidth) {
  AttentionText text = layer();
  text.valueShape = "2x9x5", text.resultShape = "2x7x5";
  ParsedAttention attention(text);
  ASSERT_TRUE(attention);
  EXPECT_EQ(valueFlops(attention.op, 63), 2 * 5 * 63);
}

TEST(UsefulFlops, AFunctionCountsItsHeadsAndItsBatch) {
  AttentionText text;
  text.space = "b h i j", text.value = "b h j e -> b h i e";
  text.valueShape = "?x2x9x8", text.resultShape = "?x2x7x8";
  text.score = {{"b h i d, b h j d", {"?x2x7x8", "?x2x9x8"}}};
  ParsedAttention attention(text);
  ASSERT_TRUE(attention);
  auto function = attention.op->getParentOfType<mlir::func::FuncOp>();
  EXPECT_EQ(usefulFlops(function, {{"batch", 3}}), 3 * 2 * (2 * 8 * 63 + 2 * 8 * 63));
  EXPECT_EQ(usefulFlops(function, {}), 2 * (2 * 8 * 63 + 2 * 8 * 63)) << "one batch row where nothing is said";
}
} // namespace
