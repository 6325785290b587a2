// Tests masks that are known at compile time and leave no interval: only tiles that some query sees are loaded and
// computed.
#include "tests/unit/GpuLayers.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

std::string masked(const std::string &mask, int64_t positions = 256, const std::string &more = "") {
  return layer(sizes(positions, positions, 16, 16), more, kPlain, "f16", mask.empty() ? "" : " where " + mask);
}

double expectRight(const std::string &text) {
  GpuOutcome outcome = expectOnEngines(text, kHalf);
  EXPECT_GT(outcome.launch.rows, 0) << text;
  return double(outcome.report.steps);
}

} // namespace

TEST(GpuLiveTiles, ChunksCostTheirShare) {
  double plain = expectRight(masked(""));
  // One tile of four for each block of queries.
  EXPECT_LT(expectRight(masked("i floordiv 64 == j floordiv 64")), 0.4 * plain);
  EXPECT_LT(expectRight(masked("i floordiv 64 == j floordiv 64 and j <= i")), 0.5 * plain);
}

TEST(GpuLiveTiles, AnyKnownMask) {
  expectRight(masked("i floordiv 48 == j floordiv 48"));
  expectRight(masked("(j < 20 or i - j < 30) and j <= i"));
  expectRight(masked("(i + 7*(j floordiv 64)) mod 256 < 40"));
  expectRight(masked("i floordiv 96 == j floordiv 96", 250));             // the last tile ends early
  expectRight(masked("(i + 64*h) mod 256 floordiv 64 == j floordiv 64")); // another one for each head
  expectRight(masked("i floordiv 64 == j floordiv 64 and i < 200"));      // queries that see nothing
}

TEST(GpuLiveTiles, BesideMasksOfTheCall) {
  expectRight(masked("i floordiv 64 == j floordiv 64 and j < ends[b]", 250, ", ends : i32[batch] in 1..250"));
  expectRight(
      masked("i floordiv 100 == j floordiv 100 and seg[b, i] == seg[b, j]", 256, ", seg : i32[batch, N] in 0..3"));
}
