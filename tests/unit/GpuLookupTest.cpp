// Tests rows of a table that are looked up on a GPU, by the way they change from key to key: the numbers, the part of
// the table that a block computes, and its place.
#include "tests/unit/GpuLayers.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;
using gpu::LookupUse;

namespace {

/// Returns a layer over a map of height × width with rows by both axes; `sign` 1 means key - query. `added` and `mask`
/// are appended.
std::string map(int64_t height, int64_t width, const std::string &type = "f16", int64_t sign = -1,
                const std::string &added = "", const std::string &mask = "", const std::string &more = "") {
  std::string text = "param H = " + std::to_string(height) + ", W = " + std::to_string(width) +
                     ", heads = 2, dim = 24\nkernel layer(q, k, v : T[heads, H*W, dim], rows : T[2*H - 1, dim], "
                     "columns : T[2*W - 1, dim]" +
                     more +
                     ") -> T[heads, H*W, dim] {\n  content = einsum(\"h i d, h j d -> h i j\", q, k) * dim^-0.5\n";
  std::string y = sign > 0 ? "jy - iy" : "iy - jy", x = sign > 0 ? "jx - ix" : "ix - jx";
  text +=
      "  up = einsum(\"h (iy ix) d, (" + y + " + H - 1) d -> h (iy ix) (jy jx)\", q, rows, iy = H, jy = H, jx = W)\n";
  text += "  side = einsum(\"h (iy ix) d, (" + x +
          " + W - 1) d -> h (iy ix) (jy jx)\", q, columns, iy = H, jy = H, jx = W)\n";
  text += "  return einsum(\"h i j, h j d -> h i d\", softmax((content + up + side" + added + ")" + mask + "), v)\n}\n";
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos; at += type.size())
    if (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '>'))
      text.replace(at, 1, type);
  return text;
}

TEST(GpuLookup, UsesAndRowsThatABlockReaches) {
  GpuLayer compiled(map(6, 32));
  auto shape = compiled.shape();
  ASSERT_TRUE(shape);
  ASSERT_EQ(shape->lookups.size(), 2u);
  auto use = [&](size_t n, int64_t keys) { return lookupUse(shape->lookups[n], shape->attention, keys); };
  // A tile of 16 or 32 keys is in one row of the map, each half of one of 64 too; one of 32 or 64 has all columns.
  EXPECT_EQ(use(0, 16), LookupUse::OncePerTile);
  EXPECT_EQ(use(0, 32), LookupUse::OncePerTile);
  EXPECT_EQ(use(0, 64), LookupUse::OncePerTile);
  EXPECT_EQ(use(0, 48), LookupUse::EachScore);
  auto together = [&](size_t n, int64_t keys) { return keysOfRow(shape->lookups[n], shape->attention, keys); };
  EXPECT_EQ(together(0, 32), 32);
  EXPECT_EQ(together(0, 64), 32);
  EXPECT_EQ(together(0, 128), 32);
  EXPECT_EQ(together(1, 64), 0);
  EXPECT_EQ(periodOf(shape->lookups[1], shape->attention), 32);
  EXPECT_EQ(use(1, 16), LookupUse::EachScore);
  EXPECT_EQ(use(1, 32), LookupUse::EveryTile);
  EXPECT_EQ(use(1, 64), LookupUse::EveryTile);
  EXPECT_EQ(use(1, 48), LookupUse::EachScore);
  auto reached = [&](size_t n, int64_t rows) { return reachedRows(shape->lookups[n], shape->attention, rows); };
  // One row of the map meets 6 of 11; of the columns 16 queries meet 16 + 31 of 63, 48 queries may meet all.
  EXPECT_EQ(reached(0, 16), 6);
  EXPECT_EQ(reached(0, 32), 6);
  EXPECT_EQ(reached(0, 64), 7);
  EXPECT_EQ(reached(0, 48), 8);
  EXPECT_EQ(reached(1, 16), 47);
  EXPECT_EQ(reached(1, 32), 63);
  EXPECT_EQ(reached(1, 48), 63);
}
TEST(GpuLookup, AxesOfMapsInEveryTile) {
  for (const char *type : {"f16", "bf16", "f32"})
    for (int64_t sign : {-1, 1})
      for (auto [rows, keys] : {std::pair(64, 32), std::pair(16, 32), std::pair(48, 64), std::pair(32, 16)})
        expectOnEngines(map(5, 32, type, sign),
                        type[0] == 'b'   ? kBrain
                        : type[1] == '1' ? kHalf
                                         : kWide,
                        tileOf(rows, keys));
}
TEST(GpuLookup, RowsInChunks) {
  // 95 rows of columns; 79 of rows, of which a block reaches 43.
  expectOnEngines(map(4, 48), kHalf, tileOf(32, 48));
  expectOnEngines(map(40, 16), kHalf, tileOf(64, 16));
  expectOnEngines(map(40, 16), kHalf, tileOf(64, 32));
}
TEST(GpuLookup, OnlyReachedRowsAreMultiplied) {
  // Tables go 64 rows at a time, 8 tiles × 2 steps of depth. Blocks of 16 queries of a map of 2 × 64 reach 2 of 3 rows,
  // one chunk, and 79 of 127 columns, two; then 2 tiles of keys.
  GpuOutcome outcome = expectOnEngines(map(2, 64), kHalf, tileOf(16, 64));
  EXPECT_EQ(outcome.report.matrixSteps, 2 * 8 * (3 * 8 * 2 + 2 * (8 * 2 + 4 * 4)));
  // 40 of 79 rows are one chunk in place of two.
  outcome = expectOnEngines(map(40, 16), kHalf, tileOf(16, 16));
  EXPECT_EQ(outcome.report.matrixSteps, 2 * 40 * (2 * 8 * 2 + 40 * (2 * 2 + 1 * 4)));
}
TEST(GpuLookup, BesideOtherTerms) {
  // Beside the lookup stand a term of another scale than the content, a number for each pair, and a mask whose edge
  // crosses tiles.
  for (const char *mask : {"", " where j <= i", " where abs(j - i) <= 40", " where (i + 2*j) % 3 > 0"}) {
    expectOnEngines(map(5, 16, "f16", 1, "", mask), kHalf, tileOf(32, 16));
    expectOnEngines(map(5, 16, "f32", -1, " + bias", mask, ", bias : f32[H*W, H*W]"), kWide, tileOf(32, 16));
  }
  expectOnEngines(map(5, 16, "f16", 1, " + 3*side"), 2 * kHalf, tileOf(32, 16));
}
TEST(GpuLookup, NumbersOfAxes) {
  // Numbers of a query and a row or a column of keys, next to logits, and numbers of the query alone.
  const std::string columns = " + einsum(\"h i jx -> h i (jy jx)\", a, jy = H)",
                    rows = " + einsum(\"h i jy -> h i (jy jx)\", c, jx = W)",
                    guarded = " + (0.5 * einsum(\"h i -> h i j\", e, j = H*W) if i > 3 else 0)",
                    more = ", a : f32[heads, H*W, W], c : f32[heads, H*W, H], e : f32[heads, H*W]";
  GpuLayer compiled(map(5, 32, "f16", 1, columns + rows + guarded, "", more));
  auto shape = compiled.shape();
  ASSERT_TRUE(shape);
  ASSERT_EQ(shape->lookups.size(), 5u);
  EXPECT_TRUE(shape->elements.empty());
  auto use = [&](size_t n, int64_t keys) { return lookupUse(shape->lookups[n], shape->attention, keys); };
  EXPECT_EQ(use(2, 16), LookupUse::EachScore);
  EXPECT_EQ(use(2, 32), LookupUse::EveryTile);
  EXPECT_EQ(use(3, 16), LookupUse::OncePerTile);
  EXPECT_EQ(use(4, 16), LookupUse::OncePerTile);
  for (const char *mask : {"", " where j <= i", " where (i + 2*j) % 3 > 0"})
    for (auto [queries, keys] : {std::pair(64, 32), std::pair(32, 16)})
      expectOnEngines(map(3, 32, "f16", 1, columns + rows + guarded, mask, more), kHalf, tileOf(queries, keys));
  expectOnEngines(map(3, 32, "f32", 1, columns + rows + guarded, "", more), kWide, tileOf(48, 32));
  // Without logits, so that nothing else waits for the queries.
  for (auto [type, keys] : {std::pair("f16", 16), std::pair("f16", 32), std::pair("f32", 16)})
    expectOnEngines(layer(sizes(40, 96, 24, 16), ", a : f32[N, 32]", kPlain + " + a[i, j % 32]", type),
                    type[1] == '1' ? kHalf : kWide, tileOf(32, keys));
  // A map of 7 columns, of which no tile has whole rows; a table that is read through functions of axes.
  expectOnEngines(map(6, 7, "f16", 1, columns + rows + guarded, "", more), kHalf, tileOf(32, 16));
  expectOnEngines(map(6, 7, "f16", -1,
                      " + einsum(\"(iy*jx + ix) -> (iy ix) (jy jx)\", t, iy = H, ix = W, jy = H, jx = W)", "",
                      ", t : f32[H*W]"),
                  kHalf, tileOf(32, 16));
}
TEST(GpuLookup, WhatIsHiddenMayBeAnything) {
  // The last row of the map is hidden from all queries, and only this row meets the first rows of the table.
  GpuOptions options = tileOf(32, 16);
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "rows")
      for (size_t k = 0; k < 24; ++k)
        values[k] = k % 2 ? INFINITY : NAN;
  };
  expectOnEngines(map(5, 16, "f16", -1, "", " where j < 64"), kHalf, options);
  // Without a mask the whole table counts: its rows for the first row of the map are NaN.
  GpuOutcome outcome = expectOnEngines(map(5, 16), kHalf, options);
  EXPECT_TRUE(std::isnan(outcome.got.front()));
  EXPECT_FALSE(std::isnan(outcome.got.back()));
  // -infinity for all keys of a tile, beginning with the first: their weights are 0.
  options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "q")
      for (double &value : values)
        value = std::fabs(value) + 0.1;
    if (name == "rows")
      std::fill(values.begin() + 4 * 24, values.begin() + 5 * 24, -INFINITY);
  };
  outcome = expectOnEngines(map(5, 16), kHalf, options);
  EXPECT_FALSE(std::isnan(outcome.got.front()));
}
TEST(GpuLookup, PickedRowsThatRepeat) {
  // Rows by the key's place in groups of 16, guarded ones, and by its group.
  const std::string each = "content * dim^-0.5 + (einsum(\"b h i d, ((j % 16) + 3) d -> b h i j\", q, t, j = M)";
  for (const char *type : {"f16", "f32"})
    for (const char *guard : {")", " if (i + 3) % 5 > 1 else 0)"})
      expectOnEngines(layer(sizes(40, 80, 16, 16), std::string(", t : ") + type + "[20, dim]", each + guard, type),
                      type[1] == '1' ? kHalf : kWide, tileOf(32, 16));
}
/// Rows that most offsets share are looked up, because a band would load them for every tile.
TEST(GpuLookup, RowsThatMostOffsetsShare) {
  auto text = [](const char *rows, const std::string &row, const char *type) {
    return layer(sizes(150, 170, 16, 16), std::string(", t : ") + type + "[" + rows + ", dim]",
                 "(content + einsum(\"b h i d, (" + row + ") d -> b h i j\", q, t, j = M)) * dim^-0.5", type);
  };
  auto strategyOf = [](const std::string &text) {
    GpuLayer compiled(text);
    auto shape = compiled.shape();
    return shape ? shape->strategies.back().str() : "none";
  };
  std::string clamped = text("129", "clamp(j - i, -64, 64) + 64", "f16");
  EXPECT_EQ(strategyOf(clamped), "lookup");
  EXPECT_EQ(strategyOf(text("241", "clamp(j - i, -120, 120) + 120", "f16")), "band"); // most offsets have their own
  EXPECT_EQ(strategyOf(text("319", "j - i + 149", "f16")), "band");
  expectOnEngines(clamped, kHalf, tileOf(64, 32));
  expectOnEngines(text("129", "clamp(j - i, -64, 64) + 64", "f32"), kWide, tileOf(32, 16));
}

/// A strategy that a schedule names for the second term of a layer gives the same numbers, by other work.
TEST(GpuStrategies, EachThatFitsIsObeyed) {
  struct Case {
    std::string text;
    std::vector<std::string> strategies; // the first is the model's
  };
  const std::string slope = ", slope : f16[heads]", gate = ", gate : f16[batch, heads, N]";
  const Case cases[] = {
      {relative(60, 70, 16, "f16[9, dim]", "(clamp(j - i, -4, 4) + 4)"), {"lookup", "band", "per_score"}},
      {relative(60, 70, 16, "f16[241, dim]", "(clamp(j - i, -120, 120) + 120)"), {"band", "per_score"}},
      {relative(60, 70, 16, "f16[129, dim]", "(j - i + 59)"), {"band", "per_score"}},
      {map(5, 16), {"lookup", "per_score"}},
      {map(5, 16, "f16", 1, " + einsum(\"h i jx -> h i (jy jx)\", a, jy = H)", "", ", a : f32[heads, H*W, W]"),
       {"lookup", "per_score"}},
      {ofKeys(60, 70, 16, "f16[129, dim]", "(clamp(j - i, -59, 69) + 59)"), {"key_band", "per_score"}},
      {layer(sizes(60, 70, 16, 16), slope, kPlain + " + slope[h] * (-abs(i - j))"), {"line", "per_score"}},
      {layer(sizes(60, 70, 16, 16), gate, kPlain + " + gate[b, h, i] * (-abs(i - j))"), {"gated_line", "per_score"}}};
  for (const Case &c : cases) {
    GpuLayer layer(c.text);
    auto shape = layer.shape();
    ASSERT_TRUE(shape) << c.text;
    auto term = llvm::find(shape->strategies, llvm::StringRef(c.strategies.front()));
    ASSERT_NE(term, shape->strategies.end()) << c.text;
    std::set<std::pair<int64_t, int64_t>> works;
    for (const std::string &strategy : c.strategies) {
      GpuOptions options = tileOf(32, 16);
      options.strategies[size_t(term - shape->strategies.begin())] = strategy;
      GpuOutcome outcome = expectOnEngines(c.text, 2 * kHalf, options);
      works.insert({outcome.report.matrixSteps, outcome.report.steps});
    }
    EXPECT_EQ(works.size(), c.strategies.size()) << c.text;
  }
}

} // namespace
