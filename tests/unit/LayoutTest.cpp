// Tests the buffers of a fused attention: none overlaps another, each begins a cache line, and they stand in the order
// of zones.
#include "passes/Cpu/Layout.h"
#include <gtest/gtest.h>
#include <random>

using namespace skewer;

namespace {

TEST(Layout, BuffersStandInTheOrderOfZones) {
  Layout layout;
  Buffer line, first, second;
  layout.reserve(line, 7, Layout::Zone::Line);
  layout.reserve(first, 16, Layout::Zone::Prepared);
  layout.reserve(second, 17, Layout::Zone::Prepared);
  EXPECT_EQ(line.floats, 7) << "known before places are";
  layout.place();
  EXPECT_EQ(first.offset, 0);
  EXPECT_EQ(second.offset, 64);
  EXPECT_EQ(line.offset, 64 + 128) << "17 floats take two lines of a cache";
  EXPECT_EQ(layout.workerBytes(), 64 + 128 + 64);
  EXPECT_EQ(layout.sharedBytes(), 0);
}

TEST(Layout, WhatIsPackedOnceStandsInTheSharedWorkspace) {
  Layout layout;
  Buffer worker, shared;
  layout.reserve(worker, 100, Layout::Zone::Panels);
  layout.reserve(shared, 200, Layout::Zone::Panels, Layout::Space::Shared);
  layout.place();
  EXPECT_EQ(worker.offset, 0);
  EXPECT_EQ(shared.offset, 0);
  EXPECT_EQ(layout.workerBytes(), 448);
  EXPECT_EQ(layout.sharedBytes(), 832);
}

TEST(Layout, NoTwoBuffersOverlap) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 50; ++turn) {
    Layout layout;
    std::vector<Buffer> buffers(1 + random() % 20);
    std::vector<Layout::Space> spaces;
    for (Buffer &buffer : buffers) {
      spaces.push_back(random() % 3 ? Layout::Space::Worker : Layout::Space::Shared);
      auto zone = Layout::Zone(random() % (unsigned(Layout::Zone::Windows) + 1));
      layout.reserve(buffer, 1 + int64_t(random() % 300), zone, spaces.back());
    }
    layout.place();
    for (size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ(buffers[a].offset % 64, 0);
      bool isShared = spaces[a] == Layout::Space::Shared;
      EXPECT_LE(buffers[a].offset + 4 * buffers[a].floats, isShared ? layout.sharedBytes() : layout.workerBytes());
      for (size_t b = 0; b < a; ++b)
        EXPECT_TRUE(spaces[a] != spaces[b] || buffers[a].offset >= buffers[b].offset + 4 * buffers[b].floats ||
                    buffers[b].offset >= buffers[a].offset + 4 * buffers[a].floats);
    }
  }
}

} // namespace
