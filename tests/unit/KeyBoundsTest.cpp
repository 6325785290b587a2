// Compares the limits of the keys that a mask leaves a head with the mask at every query and key. Tests rows that keys
// pick, and the choice between the two ways to multiply keys.
#include "AttentionTesting.h"
#include "passes/Cpu/Schedule/ChosenStrategies.h"
#include "passes/Cpu/Schedule/CostModel.h"

using namespace skewer;
using namespace skewer::subscript;
using skewer::testing::AttentionText;
using skewer::testing::ParsedAttention;
using skewer::testing::setAxes;

namespace {

struct Masked {
  std::string mask;
  bool isLow, isHigh; // which ends are limited
  size_t parts, left; // conjuncts that become limits, and that stay masks
};

/// Returns a layer over "h i (jy jx)" with 2 heads, 7 queries, 3 x 4 keys, and a length for each head.
AttentionText layer(const std::string &mask) {
  AttentionText text;
  text.space = "h i (jy jx)";
  text.sizes = " sizes {jx = 4, jy = 3} indices(n = %n : tensor<2xi32>)";
  text.value = "h (jy jx) e -> h i e", text.valueShape = "2x12x8", text.resultShape = "2x7x8";
  text.score = {{"h i d, h (jy jx) d", {"2x7x8", "2x12x8"}}};
  text.mask = " where \"" + mask + "\"";
  text.arguments = ", %n: tensor<2xi32> {attn.name = \"n\", attn.range = array<i64: 0, 12>}";
  return text;
}

TEST(KeyBounds, HoldNoKeyThatTheMaskLeaves) {
  const Masked cases[] = {
      {"4*jy + jx < n[h]", false, true, 1, 0},
      {"4*jy + jx <= n[h]", false, true, 1, 0},
      {"n[h] > 4*jy + jx", false, true, 1, 0},
      {"4*jy + jx >= n[h]", true, false, 1, 0},
      {"n[h] < 4*jy + jx", true, false, 1, 0},
      {"4*jy + jx < n[h] and 4*jy + jx >= n[h] - 3", true, true, 2, 0},
      {"4*jy + jx < n[h] and 4*jy + jx <= 9 - n[h]", false, true, 2, 0},
      {"4*jy + jx <= n[h] - 7 + i", false, true, 0, 1},
      {"4*jy + jx + i >= n[h]", true, false, 0, 1},
      {"4*jy + jx < n[h] * i", false, false, 0, 1},
      {"jx < n[h]", false, false, 0, 1},
      {"2*(4*jy + jx) < n[h]", false, false, 0, 1},
      {"4*jy + jx != n[h]", false, false, 0, 1},
  };
  for (const Masked &c : cases) {
    ParsedAttention attention(layer(c.mask));
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    EXPECT_EQ(bool(shape->bounds.low), c.isLow) << c.mask;
    EXPECT_EQ(bool(shape->bounds.high), c.isHigh) << c.mask;
    EXPECT_EQ(shape->bounds.parts.size(), c.parts) << c.mask;
    EXPECT_EQ(shape->masks.size(), c.left) << c.mask;
    auto mask = parse(std::string_view(*attention.op.getMask()));
    for (int64_t length = 0; length <= 12; ++length)
      for (int64_t key = 0; key < 12; ++key) {
        auto read = [&](const std::string &, const std::vector<int64_t> &) { return std::optional<int64_t>(length); };
        Assignment at = {{"h", 1}};
        bool inside = (!shape->bounds.low || key >= evaluate(*shape->bounds.low, at, read)) &&
                      (!shape->bounds.high || key < evaluate(*shape->bounds.high, at, read));
        bool seen = false;
        for (int64_t query = 0; query < 7; ++query) {
          setAxes(at, shape->space.query, shape->space, query);
          setAxes(at, shape->space.key, shape->space, key);
          seen |= evaluate(*mask, at, read).value_or(0) != 0;
        }
        EXPECT_TRUE(inside || !seen) << c.mask << " key " << key << " of " << length;
        if (c.left == 0)
          EXPECT_EQ(inside, seen) << c.mask << " key " << key << " of " << length;
      }
    AttentionShape without = *shape;
    leaveBounds(without);
    EXPECT_EQ(without.masks.size(), c.parts + c.left) << c.mask;
    EXPECT_FALSE(without.bounds.low || without.bounds.high) << c.mask;
  }
}

/// Pages of a cache.
AttentionText paged() {
  AttentionText text;
  text.space = "h i (jy jx)";
  text.sizes = " sizes {h = 2, jx = 4, jy = 3}";
  text.value = "h (jy jx) e -> h i e", text.valueShape = "2x12x8";
  text.resultShape = "2x7x8";
  text.score = {{"h i d, (n[h, jy]) jx d", {"2x7x8", "5x4x8"}, "scale 1.0", " indices(n = %n : tensor<2x3xi32>)"}};
  text.arguments = ", %n: tensor<2x3xi32> {attn.name = \"n\", attn.range = array<i64: 0, 4>}";
  return text;
}

TEST(PickedWalk, NamesTheRowThatTheTableSays) {
  ParsedAttention attention(paged());
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  ASSERT_EQ(shape->content.size(), 1u);
  const Walk &walk = shape->content[0].key;
  ASSERT_TRUE(walk.picked);
  EXPECT_EQ(walk.depth, 1);
  const int64_t table[2][3] = {{4, 0, 2}, {1, 3, 0}};
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t key = 0; key < 12; ++key) {
      auto read = [&](const std::string &, const std::vector<int64_t> &at) {
        return std::optional<int64_t>(table[at[0]][at[1]]);
      };
      Assignment at = {{"h", h}, {"jy", key / 4}, {"jx", key % 4}};
      EXPECT_EQ(evaluate(*walk.picked, at, read), (table[h][key / 4] * 4 + key % 4) * 8);
    }
  auto tiled = shapeOfAttention(attention.op, /*picks=*/false); // as for GPUs
  ASSERT_TRUE(tiled && tiled->content.size() == 1) << tiled.reason();
  EXPECT_TRUE(tiled->content[0].key == walk);
}

std::string chosenFor(int64_t queries, int64_t keys, const Target &target) {
  AttentionText text;
  std::string q = "2x" + std::to_string(queries) + "x64", k = "2x" + std::to_string(keys) + "x64";
  text.valueShape = k, text.resultShape = q;
  text.score = {{"h i d, h j d", {q, k}}};
  ParsedAttention attention(text);
  auto shape = attention.shape();
  return shape ? skewer::testing::chosenBy(TermStrategies(nullptr), *shape, target).front().strategy->name().str() : "";
}

TEST(KeyDots, AreChosenForFewQueries) {
  for (const Target &target : knownTargets()) {
    EXPECT_EQ(chosenFor(1, 4096, target), "key_dots") << target.name;
    EXPECT_EQ(chosenFor(4, 4096, target), "key_dots") << target.name;
    EXPECT_EQ(chosenFor(256, 4096, target), "matmul") << target.name;
    EXPECT_EQ(chosenFor(1024, 1024, target), "matmul") << target.name;
  }
}

} // namespace
