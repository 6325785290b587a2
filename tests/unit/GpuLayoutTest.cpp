// Tests the places of tiles in shared memory, and the numbers of a warp's rows that a thread holds.
#include "passes/Gpu/Shape/GpuLayout.h"
#include "passes/Gpu/ScoreLayout.h"
#include "tests/unit/GpuLayers.h"
#include <set>

using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::testing;

namespace {

/// The first byte, and the byte after the last copy.
using Span = std::pair<int64_t, int64_t>;
Span spanOf(const SharedTile &tile) { return {tile.offset, tile.offset + tile.copies * tile.bytes()}; }

std::vector<Span> operandsOf(const GpuLayout &layout) {
  std::vector<Span> spans{spanOf(layout.values)};
  for (const auto *tiles : {&layout.content, &layout.valueRows, &layout.valueBands})
    for (const SharedTile &tile : *tiles)
      spans.push_back(spanOf(tile));
  for (const GpuLayout::Band &band : layout.bands) {
    spans.push_back(spanOf(band.window));
    if (band.keys.rows && !band.sharedWith)
      spans.push_back(spanOf(band.keys));
  }
  return spans;
}
bool overlap(const Span &a, const Span &b) { return a.first < b.second && b.first < a.second; }

TEST(GpuLayout, TilesOfAStepDoNotOverlap) {
  for (const char *type : {"f16", "f32"}) {
    GpuLayer compiled(everything(70, 40, type));
    auto shape = compiled.shape();
    ASSERT_TRUE(shape);
    GpuLayout layout = layoutOf(*shape, {32, 16, 3, true, 256});
    std::vector<Span> spans = operandsOf(layout);
    ASSERT_EQ(spans.size(),
              6u); // content, values, another row of keys, a band of values, one of queries and one of keys
    for (const GpuLayout::Queries &part : layout.queries)
      spans.push_back(spanOf(part.tile));
    for (size_t k = 0; k < spans.size(); ++k) {
      EXPECT_GE(spans[k].first, 0);
      EXPECT_LE(spans[k].second, layout.bytes);
      for (size_t other = 0; other < k; ++other)
        EXPECT_FALSE(overlap(spans[k], spans[other])) << type << ": " << k << " and " << other;
    }
  }
}
TEST(GpuLayout, SingleBufferedOperandsShareAPlace) {
  GpuLayer compiled(everything(70, 40, "f16"));
  auto shape = compiled.shape();
  ASSERT_TRUE(shape);
  GpuLayout one = layoutOf(*shape, {32, 16, 1, true, 256}), two = layoutOf(*shape, {32, 16, 2, true, 256});
  EXPECT_EQ(one.content.front().offset, one.values.offset);
  EXPECT_EQ(one.content.front().copies, 1);
  EXPECT_NE(two.content.front().offset, two.values.offset);
  EXPECT_LT(one.bytes, two.bytes);
}
TEST(GpuLayout, RowsStandAnOddNumberOfChunksApart) {
  SharedPlaces places(2);
  int64_t end = 0;
  for (int64_t depth : {1, 16, 20, 64, 80, 256}) {
    SharedTile tile = places.place(16, depth, 2);
    EXPECT_EQ(tile.offset, end);
    end += 2 * tile.bytes();
    EXPECT_EQ(places.end, end);
    EXPECT_EQ(tile.rowBytes() / 16 % 2, 1) << depth;
    EXPECT_GE(tile.width, depth);
    EXPECT_LT(tile.width, depth + 16);
    EXPECT_EQ(tile.steps() * 16, tile.width);
  }
  EXPECT_EQ(SharedPlaces(4).place(1, 9, 1).steps(), 2); // 8 numbers of f32 a step
}
TEST(GpuLayout, TermsWithTheSameQueriesShareThem) {
  GpuLayer compiled(everything(70, 40, "f16"));
  auto shape = compiled.shape();
  ASSERT_TRUE(shape);
  GpuLayout layout = layoutOf(*shape, {});
  ASSERT_EQ(layout.queries.size(), 1u); // of the content, of a band and of rows that are looked up
  EXPECT_EQ(layout.numberOf(shape->attention.content.front().query, 40), 0u);
}

/// Returns rows and columns of the numbers of all lanes of a warp.
std::multiset<std::pair<int64_t, int64_t>> heldBy(const ScoreLayout &layout) {
  std::multiset<std::pair<int64_t, int64_t>> held;
  for (int64_t lane = 0; lane < 32; ++lane)
    for (const HeldNumber &number : layout.numbers())
      held.insert({lane / 4 + 8 * int64_t(number.row), 2 * (lane % 4) + number.column});
  return held;
}
class ScoreLayouts : public ::testing::Test {
protected:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  GpuBuilder b{mlir::UnknownLoc::get(&context), &context};
  ThreadPlace at;
};

TEST_F(ScoreLayouts, EachNumberIsHeldOnce) {
  for (int64_t rowTiles : {1, 2})
    for (int64_t columns : {8, 16, 64}) {
      auto held = heldBy(ScoreLayout(b, at, rowTiles, columns));
      EXPECT_EQ(int64_t(held.size()), 16 * rowTiles * columns);
      for (int64_t row = 0; row < 16 * rowTiles; ++row)
        for (int64_t column = 0; column < columns; ++column)
          EXPECT_EQ(held.count({row, column}), 1u) << row << ", " << column;
    }
}
TEST_F(ScoreLayouts, NumbersOfARowAreThoseThatSaySo) {
  ScoreLayout layout(b, at, 2, 24);
  EXPECT_EQ(layout.tiles(), 6u);
  EXPECT_EQ(layout.rows(), 4u);
  size_t all = 0;
  for (size_t row = 0; row < layout.rows(); ++row)
    for (const HeldNumber &number : layout.numbersOfRow(row)) {
      EXPECT_EQ(number.row, row);
      EXPECT_EQ(layout.rowOf(number.tile, number.part), row);
      ++all;
    }
  EXPECT_EQ(all, layout.numbers().size());
}
TEST_F(ScoreLayouts, OthersHaveTheSameRows) {
  ScoreLayout layout(b, at, 2, 24);
  EXPECT_EQ(layout.across(40).rows(), layout.rows());
  EXPECT_EQ(layout.across(40).columnTiles(), 5u);
  EXPECT_EQ(layout.oneRowTile().rows(), 2u);
  EXPECT_EQ(layout.oneRowTile().columnTiles(), layout.columnTiles());
}

} // namespace
