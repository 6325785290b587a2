// Emits, compiles and runs code for keys in the lanes of vectors, for the places of consecutive rows, and for a buffer
// of scores.
#include "passes/Cpu/KeyLanes.h"
#include "AttentionTesting.h"
#include "EmittedTesting.h"
#include <cmath>

using namespace skewer;
using namespace skewer::testing;
using mlir::Value;

namespace {

/// Queries on a line, keys on a map of 3 x 4 in two frames: 24 keys.
AttentionText ofMap() {
  AttentionText text;
  text.space = "h i (f jy jx)", text.value = "h (f jy jx) e -> h i e";
  text.sizes = " sizes {f = 2, h = 2, i = 7, jx = 4, jy = 3}";
  text.valueShape = "2x24x8", text.resultShape = "2x7x8";
  text.score = {{"h i d, h (f jy jx) d", {"2x7x8", "2x24x8"}}};
  return text;
}

TEST(KeyLanes, AreDigitsOfThePositions) {
  ParsedAttention attention(ofMap());
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  const std::vector<std::string> names = {"f", "jy", "jx"};
  auto got = runEmitted(24 * 3 * kLanes, [&](VectorBuilder &b, Value out) {
    b.loop(b.index(0), b.index(21), 1, [&](Value key) {
      Positions::Values at = keyLanes(b, *shape, key);
      for (auto [place, name] : llvm::enumerate(names))
        b.store(asFloat(b, at.at(name)), out, b.add(b.mul(key, 3 * kLanes), int64_t(place) * kLanes));
    });
  });
  for (int32_t key = 0; key <= 20; ++key)
    for (int32_t lane = 0; lane < kLanes; ++lane) {
      int32_t position = key + lane;
      int32_t expected[] = {position / 12, position / 4 % 3, position % 4};
      for (int place = 0; place < 3; ++place)
        EXPECT_EQ(asNumber(got[(key * 3 + place) * kLanes + lane]), expected[place])
            << names[place] << " of " << position;
    }
}

TEST(KeyLanes, BehindTheLastKeyItIsRepeated) {
  AttentionText text;
  text.score = {{"h i d, h j d", {"2x7x8", "2x9x8"}}};
  ParsedAttention attention(text);
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  AttentionShape ofLength = *shape; // of which six keys are there
  ofLength.bounds.keyLength = subscript::Expr(6);
  auto got = runEmitted(3 * kLanes, [&](VectorBuilder &b, Value out) {
    b.store(asFloat(b, keyLanes(b, *shape, b.index(7), b.index(9)).at("j")), out, b.index(0));
    b.store(asFloat(b, keyLanes(b, *shape, b.index(4), b.index(9)).at("j")), out, b.index(kLanes));
    b.store(asFloat(b, keyLanes(b, ofLength, b.index(4), b.index(6)).at("j")), out, b.index(2 * kLanes));
  });
  const int32_t expected[] = {7, 8, 8, 8, 4, 5, 6, 7, 4, 5, 5, 5};
  for (int n = 0; n < 3 * kLanes; ++n)
    EXPECT_EQ(asNumber(got[n]), expected[n]) << n;
}

/// For rows of one page one place is looked up; for other rows each is.
TEST(KeyPlaces, OfOnePageAreLookedUpOnce) {
  ParsedAttention attention(ofMap());
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  Walk pages;
  pages.picked = subscript::Expr::symbol("jx") * 10;
  pages.run = 4, pages.runStep = 10;
  EXPECT_TRUE(isOnePage(pages, 4));
  EXPECT_TRUE(isOnePage(pages, 2));
  EXPECT_FALSE(isOnePage(pages, 8));
  EXPECT_FALSE(isOnePage(pages, 3));
  pages.picked.reset();
  EXPECT_FALSE(isOnePage(pages, 4)) << "rows that lie evenly have no pages";
  for (bool onePage : {false, true}) {
    std::vector<int64_t> asked;
    auto got = runEmitted(4, [&](VectorBuilder &b, Value out) {
      Positions positions(b, *shape);
      auto places = positions.keyPlaces(pages, 4, onePage, [&](int64_t number) {
        asked.push_back(number);
        return b.index(100 + 7 * number);
      });
      ASSERT_EQ(places.size(), 4u);
      for (auto [n, place] : llvm::enumerate(places))
        b.storeScalar(asFloat(b, place), out, b.index(int64_t(n)));
    });
    EXPECT_EQ(asked, onePage ? std::vector<int64_t>{0} : (std::vector<int64_t>{0, 1, 2, 3}));
    for (int n = 0; n < 4; ++n)
      EXPECT_EQ(asNumber(got[n]), 100 + n * (onePage ? 10 : 7));
  }
}

float largestOf(const std::vector<float> &numbers, int64_t from, int64_t to) {
  auto count = int64_t(numbers.size());
  return runEmitted(count + 1, [&](VectorBuilder &b, Value out) {
    for (auto [n, number] : llvm::enumerate(numbers))
      b.storeScalar(b.constantScalar(number), out, b.index(int64_t(n)));
    b.storeScalar(largestIn(b, out, b.index(from), b.index(to)), out, b.index(count));
  })[count];
}

TEST(LargestIn, OfWholeVectorsAndTheRest) {
  const std::vector<float> numbers = {90, -7, -2, -9, -4, -8, -3, -6, -1, -5, 80};
  EXPECT_EQ(largestOf(numbers, 1, 10), -1) << "in the rest";
  EXPECT_EQ(largestOf(numbers, 1, 8), -2) << "in a vector";
  EXPECT_EQ(largestOf(numbers, 3, 5), -4) << "less than a vector";
  EXPECT_EQ(largestOf(numbers, 0, 11), 90);
}
TEST(LargestIn, IsZeroWhereItIsNoNumber) {
  EXPECT_EQ(largestOf({1, INFINITY, 2, 3, 4}, 0, 5), 0);
  EXPECT_EQ(largestOf({-INFINITY, -INFINITY, -INFINITY, -INFINITY}, 0, 4), 0) << "nothing is seen";
  EXPECT_EQ(largestOf({1, -INFINITY, 2, 3, 4}, 0, 5), 4);
  EXPECT_EQ(largestOf({1, 2}, 1, 1), 0) << "of nothing";
}
} // namespace
