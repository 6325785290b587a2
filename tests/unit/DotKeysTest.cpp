// Tests keys after the last whole vector: when they are multiplied as dot products, and that the result is right.
#include "CpuKernelTesting.h"
#include "passes/Analysis/DotKeys.h"

using namespace skewer;
using namespace skewer::test;

TEST(DotKeys, AreFewBehindWholeVectors) {
  EXPECT_EQ(keysMultipliedAsDots(49, 32, 16), 1);
  EXPECT_EQ(keysMultipliedAsDots(196, 64, 16), 4);
  EXPECT_EQ(keysMultipliedAsDots(197, 64, 16), 0) << "five dots of 14 instructions against 64 products";
  EXPECT_EQ(keysMultipliedAsDots(48, 32, 16), 0) << "none behind";
  EXPECT_EQ(keysMultipliedAsDots(49, 36, 16), 0) << "the depth is no whole vectors";
  EXPECT_EQ(keysMultipliedAsDots(1, 32, 16), 0) << "no whole vector before them";
  EXPECT_EQ(keysMultipliedAsDots(49, 0, 16), 0) << "nothing in panels";
}

TEST(DotKeys, OfEveryRestAndTarget) {
  for (const char *target : {"x86-64-v2", "x86-64-v3", "host"})
    for (int64_t keys : {17, 19, 49})
      for (int64_t depth : {16, 64}) {
        SCOPED_TRACE(fmt::format("{} {} {}", target, keys, depth));
        Layer layer = plain(9, keys, depth, 20, unsigned(keys));
        layer.target = target;
        double scale = 1 / std::sqrt(double(depth));
        layer.terms = contentTerm(layer, scale);
        layer.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return scale * content(layer, b, h, i, j); };
        check(layer);
      }
}

TEST(DotKeys, InBlocksOfKeysAndTilesOfAnyWidth) {
  for (const std::vector<int64_t> &blocking : {std::vector<int64_t>{1, 1, 1}, {2, 1, 2}, {1, 2, 1}, {1, 8, 1}}) {
    Layer layer = plain(23, 65, 64, 16);
    layer.blocking = blocking;
    layer.mask = "j <= i + 50";
    layer.visible = [](int64_t i, int64_t j) { return j <= i + 50; };
    layer.terms = contentTerm(layer, 0.125);
    layer.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.125 * content(layer, b, h, i, j); };
    check(layer);
  }
}

TEST(DotKeys, OfTermsThatMeetTheSameQueries) {
  Layer layer = plain(12, 33, 32, 16);
  std::mt19937 random(5);
  Table shared = normal(random, {33, 32});
  layer.tables = {{"e", shared}};
  layer.terms = contentTerm(layer, 0.25) +
                "attn.term \"b h i d, j d\" (%q, %e) scale 5.000000e-01 : tensor<?x2x12x32xf32>, tensor<33x32xf32>\n";
  layer.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return 0.25 * content(layer, b, h, i, j) + 0.5 * dot(layer.q, (b * 2 + h) * 12 + i, shared, j, 32);
  };
  check(layer);
}
