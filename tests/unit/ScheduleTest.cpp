// The cost model: different processors get different schedules, and every schedule can be run.
#include "passes/Schedule/CostModel.h"
#include <gtest/gtest.h>
#include <tuple>

using namespace skewer;

namespace {

auto asTuple(const Blocking &b) { return std::make_tuple(b.tileRows, b.tileVectors, b.rowBlock, b.keyBlock); }

TEST(Schedule, ProcessorsDiffer) {
  Target zen5 = *findTarget("zen5"), cascadeLake = *findTarget("cascadelake"), v3 = *findTarget("x86-64-v3");
  bool differs = false;
  for (AttentionSizes sizes : {AttentionSizes{196, 196, 128, 128, 1, 54}, AttentionSizes{1024, 1024, 64, 64, 1, 0},
                               AttentionSizes{4096, 4096, 64, 64, 1, 256}}) {
    differs |= asTuple(chooseBlocking(sizes, zen5)) != asTuple(chooseBlocking(sizes, cascadeLake));
    EXPECT_NE(asTuple(chooseBlocking(sizes, zen5)), asTuple(chooseBlocking(sizes, v3)));
  }
  EXPECT_TRUE(differs) << "Zen 5 and Cascade Lake differ in L1 size and must not always agree";
}

TEST(Schedule, EveryScheduleFits) {
  for (const Target &target : knownTargets())
    for (int64_t queries : {1, 7, 196, 4096})
      for (int64_t keys : {1, 49, 197, 4096})
        for (int64_t width : {1, 64, 256}) {
          Blocking b = chooseBlocking({queries, keys, 64, width}, target);
          EXPECT_LE(b.tileRows * b.tileVectors + b.tileVectors + 1, target.registers) << target.name;
          EXPECT_EQ(b.rowBlock % b.tileRows, 0) << target.name;
          EXPECT_EQ(b.keyBlock % (b.tileVectors * target.lanes), 0) << target.name;
          EXPECT_EQ(b.rowsPerItem % b.rowBlock, 0) << target.name;
          EXPECT_GE(b.rowsPerItem, 1);
          EXPECT_GT(b.cyclesPerRow, 0);
        }
}

TEST(Schedule, TargetsAreFoundByName) {
  for (const Target &target : knownTargets())
    EXPECT_EQ(findTarget(target.name)->cpu, target.cpu);
  EXPECT_FALSE(findTarget("abacus"));
  EXPECT_EQ(hostTarget().name, "host");
  EXPECT_GE(hostTarget().lanes, 4);
}

} // namespace
