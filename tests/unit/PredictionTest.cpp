// Tests the counts of a prediction, and LLVM's names of processors.
#include "passes/Cpu/Schedule/Prediction.h"
#include "AttentionTesting.h"
#include "passes/Schedule/CodeNames.h"
#include "passes/Schedule/Machine.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

TEST(Prediction, BlocksAreCountedWhereKeysAreSeen) {
  ParsedAttention attention(contentLayer());
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  TileSizes tile{8, 4, 2, 16, 16, 48, 48};
  EXPECT_EQ(keyBlocksOf(*shape, tile), 3) << "48 keys in blocks of 16";
  EXPECT_EQ(rowBlocksOf(*shape, tile), 3) << "40 queries in blocks of 16";
  tile.columns = 24;
  EXPECT_EQ(keyBlocksOf(*shape, tile), 1.5) << "half of the keys are seen";
  tile.columns = 1;
  EXPECT_EQ(keyBlocksOf(*shape, tile), 1) << "at least one";
}

/// Groups of queries round up; packing is paid once.
TEST(Prediction, CountsWholeGroupsAndWhatFunctionsTake) {
  Target target = *findTarget("x86-64-v3");
  TermStrategies strategies(nullptr);
  auto predicted = [&](int64_t queries, const AttentionText &layer, const Blocking &blocking) {
    AttentionText text = layer;
    std::string q = "2x" + std::to_string(queries) + "x8";
    text.resultShape = q, text.score[0].shapes[0] = q;
    ParsedAttention attention(text);
    auto shape = attention.shape();
    if (!shape)
      return PredictedWork();
    ChosenStrategies chosen = chosenBy(strategies, *shape, target);
    chosen[0].strategy = strategies.named("matmul");
    return predictWork(*shape, chosen, blocking, target);
  };
  Blocking blocking{4, 2, 16, 48, 512, 0, 0};
  EXPECT_EQ(predicted(37, contentLayer(), blocking).matmulFlops, predicted(40, contentLayer(), blocking).matmulFlops);
  EXPECT_GT(predicted(41, contentLayer(), blocking).matmulFlops, predicted(40, contentLayer(), blocking).matmulFlops);
  EXPECT_EQ(predicted(40, contentLayer(), blocking).matmulFlops, 2.0 * 40 * 48 * (8 + 8));
  AttentionText masked = contentLayer();
  masked.mask = " where \"j <= i\"";
  EXPECT_LT(predicted(40, masked, blocking).cycles, predicted(40, contentLayer(), blocking).cycles);
}

/// The cost model and the kernel choose the engine of the values by the same conditions.
TEST(Prediction, TilesTakeTheValuesThatTheKernelPacksForThem) {
  Target target = *findTarget("emeraldrapids");
  WeighedValues values{ElementType::BF16, ElementType::BF16};
  auto name = [&](const WeighedValues &of, int64_t rows = 16) { return cpuEngineOf(of, rows, target).name(); };
  EXPECT_EQ(name(values), "amx");
  EXPECT_EQ(name(values, 24), "fma") << "rows that do not fill a tile";
  EXPECT_EQ(name({ElementType::BF16, ElementType::F32}), "fma");
  EXPECT_EQ(name({ElementType::F16, ElementType::F16}), "fma");
  for (bool WeighedValues::*other :
       {&WeighedValues::areChanged, &WeighedValues::areInPlace, &WeighedValues::areOfPhases}) {
    WeighedValues changed = values;
    changed.*other = true;
    EXPECT_EQ(name(changed), "fma");
  }
  values.areRows = false;
  EXPECT_EQ(name(values), "fma");

  TermStrategies strategies(nullptr);
  ParsedAttention attention(contentLayer());
  auto cycles = [&](llvm::function_ref<void(AttentionShape &)> change) {
    auto shape = attention.shape();
    shape->value.element = shape->result.element = ElementType::BF16;
    change(*shape);
    ChosenStrategies chosen = chosenBy(strategies, *shape, target);
    return cyclesPerRow(sizesOf(*shape, chosen), {16, 2, 16, 48, 512, 0, 0}, target);
  };
  double withTiles = cycles([](AttentionShape &) {});
  double without = cycles([](AttentionShape &shape) { shape.result.element = ElementType::F32; });
  EXPECT_LT(withTiles, without);
  EXPECT_EQ(cycles([](AttentionShape &shape) { shape.value.depth = 48; }), without) << "columns";
  EXPECT_EQ(cycles([](AttentionShape &shape) { shape.further.lse = true; }), without);
  auto shape = attention.shape();
  AttentionSizes sizes = sizesOf(*shape, chosenBy(strategies, *shape, target));
  EXPECT_FALSE(sizes.values.areChanged);
  strategies.named("added_to_values")->addSizes(formsOf(*shape).front(), *shape, sizes);
  EXPECT_TRUE(sizes.values.areChanged);
}

TEST(Engines, PairsServeTypesAndTargetsThatHaveThem) {
  Target zen4 = *findTarget("zen4"), tiles = *findTarget("emeraldrapids"), old = *findTarget("x86-64-v3");
  EXPECT_EQ(cpuEngineFor(ElementType::BF16, zen4).name(), "bf16_dot");
  EXPECT_EQ(cpuEngineFor(ElementType::F16, zen4).name(), "fma");
  EXPECT_EQ(cpuEngineFor(ElementType::BF16, old).name(), "fma");
  EXPECT_DOUBLE_EQ(productsOverFma(ElementType::BF16, zen4), 2);
  EXPECT_DOUBLE_EQ(productsOverFma(ElementType::F32, zen4), 1);
  // If memory limits the speed, the widest vectors are chosen even if they multiply at a low rate. Tiles are not.
  EXPECT_EQ(widestVectorsFor(ElementType::BF16, tiles).name(), "bf16_dot");
  EXPECT_EQ(widestVectorsFor(ElementType::BF16, old).name(), "fma");
  EXPECT_EQ(widestVectorsFor(ElementType::F32, tiles).name(), "fma");
  WeighedValues values{ElementType::BF16, ElementType::BF16};
  EXPECT_EQ(cpuEngineOf(values, 6, zen4).name(), "bf16_dot");
  values.areInPlace = true;
  EXPECT_EQ(cpuEngineOf(values, 6, zen4).name(), "fma") << "the cache would be packed for few rows";
}

TEST(Engines, IntegersServeQueriesAndKeysWhoseSumsFit32Bits) {
  Target zen4 = *findTarget("zen4"), tiles = *findTarget("emeraldrapids");
  auto name = [](ElementType element, int64_t depth, const Target &target) {
    return contentEngineFor(element, depth, target).name();
  };
  EXPECT_EQ(name(ElementType::I8, 64, zen4), "int8_dot");
  EXPECT_EQ(name(ElementType::I8, 64, *findTarget("cascadelake")), "int8_dot");
  EXPECT_EQ(name(ElementType::I8, 64, tiles), "amx_int8");
  EXPECT_EQ(name(ElementType::I8, 64, withoutTiles(tiles)), "int8_dot");
  EXPECT_EQ(name(ElementType::I8, 64, *findTarget("x86-64-v4")), "fma");
  EXPECT_EQ(name(ElementType::I8, 131071, zen4), "int8_dot") << "131071 products of at most 2^14";
  EXPECT_EQ(name(ElementType::I8, 131072, zen4), "fma");
  EXPECT_EQ(name(ElementType::BF16, 64, tiles), "amx");
  EXPECT_EQ(name(ElementType::F32, 64, zen4), "fma");
  // Nothing else is multiplied by an engine that sums integers.
  for (const Target &target : {zen4, tiles}) {
    EXPECT_EQ(cpuEngineFor(ElementType::I8, target).name(), "fma");
    EXPECT_EQ(widestVectorsFor(ElementType::I8, target).name(), "fma");
    EXPECT_EQ(cpuEngineOf({ElementType::I8, ElementType::I8}, 16, target).name(), "fma");
  }
  // A hypervisor may hide the instructions.
  zen4.features = "-avx512vnni";
  EXPECT_EQ(name(ElementType::I8, 64, zen4), "fma");
  tiles.features = "-amx-int8";
  EXPECT_EQ(name(ElementType::I8, 64, tiles), "int8_dot");
  tiles.features = "-amx-tile,-amx-int8";
  EXPECT_EQ(name(ElementType::I8, 64, tiles), "amx_int8") << "emulated";
}

TEST(CodeNames, AreThoseOfTheCodeGenerator) {
  CodeNames names;
  if (names.architecture() != "x86_64")
    GTEST_SKIP() << "an x86-64 code generator";
  for (const char *cpu : {"x86-64-v2", "x86-64-v3", "znver4", "cascadelake"})
    EXPECT_TRUE(names.isCpu(cpu)) << cpu;
  for (const char *feature : {"avx2", "fma", "avx512f"})
    EXPECT_TRUE(names.isFeature(feature)) << feature;
  EXPECT_FALSE(names.isCpu("zen4")) << "our name, not LLVM's";
  EXPECT_FALSE(names.isFeature("avx3"));
  for (const Target &target : knownTargets())
    EXPECT_TRUE(names.isCpu(target.cpu)) << target.name;
}
} // namespace
