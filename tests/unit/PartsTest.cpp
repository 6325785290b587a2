// Compares one kernel for a part of a layer, called at many origins, with the float64 reference of the layer at each of
// them: every class of terms, fused and not. Operands end at guard pages.
#include "tests/unit/LengthLayers.h"

using namespace skewer;
using namespace skewer::driver;

namespace {
using Origins = std::map<std::string, int64_t>;

void expectRightAt(const std::string &name, const std::vector<Origins> &all, const language::Parameters &parameters = {},
                   int64_t rows = 0) {
  GuardPages pages;
  auto compilation =
      Compilation::create(SKEWER_SOURCE_DIR "/tests/e2e/inputs/parts.attn", parameters, *findTarget("host"));
  ASSERT_TRUE(compilation);
  auto kernel = llvm::find_if(compilation->kernels, [&](const Kernel &known) { return known.name == name; });
  ASSERT_NE(kernel, compilation->kernels.end()) << name;
  Sizes sizes;
  for (const std::string &size : kernel->signature.sizes)
    sizes[size] = 2;
  ThreadPool pool(2);
  for (auto form : {Execution::Form::Fused, Execution::Form::Unfused}) {
    auto execution = Execution::create(*compilation, *kernel, form);
    ASSERT_TRUE(execution) << name;
    for (const Origins &origins : all) {
      std::string where = name + (form == Execution::Form::Fused ? "" : ", unfused");
      for (const auto &[origin, value] : origins)
        where += fmt::format(", {} = {}", origin, value);
      auto operands = prepareOperands(kernel->signature, {}, sizes, 1, origins);
      ASSERT_TRUE(static_cast<bool>(operands)) << where << ": " << llvm::toString(operands.takeError());
      ASSERT_TRUE(execution->bind(*operands, pool) && execution->run()) << where;
      Judgement how{rows, /*seed=*/1, execution->flops()};
      how.stopsWithin = true;
      ASSERT_EQ(execution->plan().outputs.size(), 2u); // the result and the lse
      for (size_t number = 0; number < 2; ++number) {
        auto judged = compareWithReference(kernel->einsumFunction(), *operands, execution->plan().outputs[number].type,
                                           execution->result(number), how, number);
        ASSERT_TRUE(static_cast<bool>(judged)) << where << ": " << llvm::toString(judged.takeError());
        EXPECT_GT(judged->rows, 0);
        EXPECT_TRUE(judged->within(judged->tolerance))
            << where << ", result " << number << ": error " << judged->error << " at " << judged->where;
      }
    }
  }
}

/// The origins of the queries' part and of the keys' part: at both ends of the whole, and between them.
const std::vector<Origins> kBoth = {{{"q0", 0}, {"k0", 0}},  {{"q0", 24}, {"k0", 28}}, {{"q0", 3}, {"k0", 20}},
                                    {{"q0", 20}, {"k0", 3}}, {{"q0", 24}, {"k0", 0}},  {{"q0", 0}, {"k0", 28}}};
} // namespace

TEST(Parts, RowsOfATable) { expectRightAt("rel", kBoth); }
TEST(Parts, AMaskOfOffsets) { expectRightAt("causal", kBoth); }
TEST(Parts, FunctionsOfTheOffset) { expectRightAt("buckets", kBoth); }
TEST(Parts, AbsolutePositions) { expectRightAt("keys", kBoth); }
TEST(Parts, Heads) { expectRightAt("heads_of", {{{"head0", 0}}, {{"head0", 1}}, {{"head0", 2}}}); }
TEST(Parts, RowsOfAMap) { expectRightAt("map", {{{"q0", 0}}, {{"q0", 2}}, {{"q0", 4}}}); }

TEST(Parts, ManyQueriesAndKeys) {
  const language::Parameters large = {{"N", 400}, {"n", 200}, {"m", 170}};
  expectRightAt("causal", {{{"q0", 200}, {"k0", 230}}, {{"q0", 13}, {"k0", 170}}, {{"q0", 170}, {"k0", 13}}}, large,
                /*rows=*/6);
}
