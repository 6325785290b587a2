// Tests the cost model: different processors get different schedules, and every schedule can be run.
#include "dialect/IR/StrategyNames.h"
#include "passes/Analysis/AttentionShape.h"
#include "passes/Cpu/Schedule/CostModel.h"
#include "passes/Register.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>
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

TEST(Schedule, TheEstimateIsTheModels) {
  for (const Target &target : knownTargets())
    for (int64_t keys : {5, 196, 4096}) {
      AttentionSizes sizes{196, keys, 64, 64, 1, 54};
      Blocking b = chooseBlocking(sizes, target);
      EXPECT_DOUBLE_EQ(b.cyclesPerRow, cyclesPerRow(sizes, b, target)) << target.name << ", " << keys << " keys";
    }
}

TEST(Schedule, NoEstimateBeatsTheProcessor) {
  for (const Target &target : knownTargets())
    for (int64_t depth : {8, 64, 256})
      for (int64_t keys : {1, 16, 197, 4096}) {
        AttentionSizes sizes{256, keys, depth, 64};
        double products = double(keys) * (depth + 64); // of one row: scores and values
        EXPECT_GE(chooseBlocking(sizes, target).cyclesPerRow, products / (target.lanes * target.fmaPerCycle))
            << target.name << ", depth " << depth << ", " << keys << " keys";
      }
}

TEST(Schedule, MoreWorkIsNeverCheaper) {
  for (const Target &target : knownTargets()) {
    AttentionSizes sizes{512, 512, 64, 64};
    double plain = chooseBlocking(sizes, target).cyclesPerRow;
    for (int64_t AttentionSizes::*size : {&AttentionSizes::keys, &AttentionSizes::depth, &AttentionSizes::width}) {
      AttentionSizes more = sizes;
      more.*size *= 2;
      EXPECT_GT(chooseBlocking(more, target).cyclesPerRow, plain) << target.name;
    }
  }
}

TEST(Schedule, KeysInPagesHaveShortBlocks) {
  for (const Target &target : knownTargets()) {
    AttentionSizes sizes{4, 4096, 0, 128};
    sizes.depthInPlace = 128;
    int64_t inARow = chooseBlocking(sizes, target).keyBlock;
    for (int64_t run : {16, 64, 512, 4096}) {
      sizes.turnKeys = std::max<int64_t>(256, run);
      Blocking b = chooseBlocking(sizes, target);
      EXPECT_LE(b.keyBlock, std::max<int64_t>(256, run)) << target.name << ", pages of " << run;
      EXPECT_EQ(b.keyBlock % (b.tileVectors * target.lanes), 0) << target.name;
    }
    EXPECT_EQ(chooseBlocking(sizes, target).keyBlock, inARow) << target.name; // one page has all
    // Keys that are packed are read more than once.
    sizes.depth = 128, sizes.depthInPlace = 0, sizes.turnKeys = 0;
    int64_t packed = chooseBlocking(sizes, target).keyBlock;
    sizes.turnKeys = 16;
    EXPECT_EQ(chooseBlocking(sizes, target).keyBlock, packed) << target.name;
  }
}

TEST(Schedule, MultiplyingCountsWholeTiles) {
  Target target = *findTarget("x86-64-v3");
  RegisterTile b{6, 2};
  double one = multiplyCycles(6, 2, 1, b, target);
  EXPECT_GT(one, 0);
  EXPECT_DOUBLE_EQ(multiplyCycles(6, 2, 10, b, target), 10 * one);
  EXPECT_DOUBLE_EQ(multiplyCycles(12, 4, 1, b, target), 4 * one);
  EXPECT_DOUBLE_EQ(multiplyCycles(7, 2, 1, b, target), 2 * one) << "a row more is a tile more";
  EXPECT_LT(multiplyCycles(6, 3, 1, b, target), 2 * one) << "a narrower tile is cheaper";
  EXPECT_GT(multiplyCycles(6, 3, 1, b, target), one);
}

// Hand-written kernels with 512 keys at a time, whose scores and weights exceed L1, took 1.1 to 1.2 times as long on an
// Emerald Rapids core.
TEST(Schedule, ScoresAndWeightsOfTilesStayInL1) {
  for (const char *name : {"sapphirerapids", "emeraldrapids", "graniterapids"})
    for (int64_t keys : {512, 1024, 2048})
      for (int64_t width : {32, 64, 128}) {
        Target target = *findTarget(name);
        AttentionSizes sizes{1024, keys, width, width};
        sizes.element = sizes.values.element = sizes.values.result = ElementType::BF16;
        sizes.mayMakePowers = true;
        Blocking b = chooseBlocking(sizes, target);
        int64_t bytesOfScore = 4, bytesOfWeight = 2;
        EXPECT_LT(b.rowBlock * b.keyBlock * (bytesOfScore + bytesOfWeight), target.l1Bytes + target.l1Bytes / 8)
            << name << ", " << keys << " keys, width " << width;
        EXPECT_GE(b.rowBlock, 32);
      }
}

TEST(Schedule, BlocksOfStridedRowsAreThoseOfAPhase) {
  AttentionSizes sizes{1024, 1024, 64, 64};
  sizes.isInPhases = true;
  Blocking blocking = chooseBlocking(sizes, *findTarget("zen4"));
  EXPECT_LE(blocking.rowBlock, 64); // a phase has no more rows
  EXPECT_EQ(blocking.rowBlock % blocking.tileRows, 0);
}

TEST(Schedule, AdditionsToKeysCostWhatTheirPipesAndTheTableLeave) {
  AttentionSizes plain{1024, 1024, 64, 64}, strided = plain;
  TermStrategies strategies(nullptr);
  RowTerm term;
  strategies.named("strided_add")->addSizes(TermForm(term, 0), AttentionShape(), strided);
  Blocking blocking{4, 4, 16, 1024, 64, 0, 0};
  auto more = [&](const Target &target) {
    return cyclesPerRow(strided, blocking, target) - cyclesPerRow(plain, blocking, target);
  };
  Target own = *findTarget("zen4"), shared = own;
  shared.addPerCycle = 0;
  EXPECT_GT(more(own), 0) << "the table's panels come from L2";
  EXPECT_NEAR(more(shared), more(own) + 1.6 * 64 * 1024 / 16, 1e-6)
      << "an addition for each product, on the products' pipe, and what waits for it";
  own.exposedTraffic = 0;
  EXPECT_NEAR(more(own), 0, 1e-6) << "additions on pipes of their own are free";
}

TEST(Schedule, TargetsAreFoundByName) {
  for (const Target &target : knownTargets())
    EXPECT_EQ(findTarget(target.name)->cpu, target.cpu);
  EXPECT_FALSE(findTarget("abacus"));
  EXPECT_EQ(hostTarget().name, "host");
  EXPECT_GE(hostTarget().lanes, 4);
}

TEST(Schedule, PinnedPartsAreObeyed) {
  for (const Target &target : knownTargets()) {
    CpuRequest asked;
    asked.rowBlock = 35;
    asked.keyBlock = 3 * target.lanes;
    Blocking b = chooseBlocking({196, 197, 64, 64}, target, asked);
    EXPECT_EQ(b.rowBlock, 35);
    EXPECT_EQ(b.keyBlock, 3 * target.lanes);
    EXPECT_TRUE(b.tileRows == 1 || b.tileRows == 5 || b.tileRows == 7) << "whole tiles: " << b.tileRows;
    EXPECT_TRUE(b.tileVectors == 1 || b.tileVectors == 3) << b.tileVectors;
    EXPECT_EQ(b.rowsPerItem % 35, 0);
  }
}

/// The registry and schedules have the same names of strategies, and each name is unique. A context without a registry
/// knows no names.
TEST(Schedule, StrategiesAreKnown) {
  mlir::DialectRegistry registry;
  registry.insert<attn::AttnDialect>();
  mlir::MLIRContext plain(registry);
  plain.loadDialect<attn::AttnDialect>();
  EXPECT_TRUE(attn::StrategyNames::of(&plain, "cpu_schedule").empty());
  registerStrategies(registry);
  mlir::MLIRContext context(registry);
  context.loadDialect<attn::AttnDialect>();
  const TermStrategies &strategies = termStrategiesOf(&context);
  std::set<std::string> names;
  strategies.forEach([&](const TermStrategy &strategy) {
    EXPECT_TRUE(names.insert(strategy.name().str()).second) << strategy.name().str();
    EXPECT_EQ(strategies.named(strategy.name()), &strategy);
    auto name = mlir::StringAttr::get(&context, strategy.name());
    EXPECT_EQ(attn::StrategyNames::isInPhases(name), strategy.isInPhases()) << strategy.name().str();
  });
  auto known = attn::StrategyNames::of(&context, "cpu_schedule");
  EXPECT_EQ(std::set<std::string>(known.begin(), known.end()), names);
  EXPECT_EQ(strategies.named("nonsense"), nullptr);
  EXPECT_TRUE(llvm::is_contained(attn::StrategyNames::of(&context, "gpu_schedule"), "lookup"));
}

} // namespace
