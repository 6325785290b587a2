// Tests the parts of `skewer bench --sweep` that measure nothing: the values of a sweep, what a text declares, the bar
// of the progress line, and logarithmic axes.
#include "codegen/Compiler/Messages.h"
#include "dialect/Language/Declared.h"
#include "tools/skewer/ExplainPage.h"
#include "tools/skewer/OptionTexts.h"
#include "tools/skewer/PlotCurves.h"
#include "tools/skewer/Progress.h"
#include "tools/skewer/SweepPicture.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace skewer;
using namespace skewer::driver;

namespace {

std::vector<int64_t> valuesOf(const char *text) {
  std::optional<Sweep> sweep;
  int exitCode = 0;
  EXPECT_TRUE(readSweep(text, sweep, exitCode)) << text;
  return sweep ? sweep->values : std::vector<int64_t>();
}

/// Returns the message about a wrong sweep.
std::string messageOf(const std::string &text) {
  std::string said;
  DiagnosticsTo here([&](const language::Diagnostic &diagnostic) { said += diagnostic.text; });
  std::optional<Sweep> sweep;
  int exitCode = 0;
  EXPECT_FALSE(readSweep(text, sweep, exitCode)) << text;
  EXPECT_FALSE(sweep) << text;
  return said;
}

TEST(Sweep, RangeDoublesAddsOrIsAList) {
  EXPECT_EQ(valuesOf("N=128:1024"), (std::vector<int64_t>{128, 256, 512, 1024}));
  EXPECT_EQ(valuesOf("N=3:20"), (std::vector<int64_t>{3, 6, 12})) << "24 is above the end";
  EXPECT_EQ(valuesOf("N=5:5"), (std::vector<int64_t>{5}));
  EXPECT_EQ(valuesOf("N=10:35:10"), (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(valuesOf("N=10:12:50"), (std::vector<int64_t>{10}));
  EXPECT_EQ(valuesOf("N=7,3,5"), (std::vector<int64_t>{7, 3, 5})) << "a list keeps its order";
  EXPECT_EQ(valuesOf("N=9"), (std::vector<int64_t>{9}));
  EXPECT_EQ(valuesOf("N=1:1000:1").size(), 1000u);
}

TEST(Sweep, LargeNumbersDoNotOverflow) {
  EXPECT_EQ(valuesOf("N=4611686018427387904:9223372036854775807").size(), 1u) << "the next value has no 63 bits";
  EXPECT_EQ(valuesOf("N=1:9223372036854775807").size(), 63u);
  EXPECT_EQ(valuesOf("N=9223372036854775806:9223372036854775807:1").size(), 2u);
}

TEST(Sweep, ListIsAtMostAThousand) {
  std::string list = "N=1";
  for (int value = 2; value <= 1001; ++value)
    list += "," + std::to_string(value);
  EXPECT_EQ(messageOf(list), "--sweep N: expected at most 1000 values, found 1001");
}

TEST(Declared, NamesOfParamsSizesAndLengths) {
  auto of = [](const char *text) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, "test.attn"), llvm::SMLoc());
    return language::declaredNames(sources);
  };
  language::DeclaredNames names = of("param N = 4, heads\nsize batch\nsize M <= 4096\n"
                                     "kernel f(x : f32[batch, M]) -> f32[batch, M] { return x }\n");
  EXPECT_EQ(names.params, (std::vector<std::string>{"N", "heads"}));
  EXPECT_EQ(names.sizes, (std::vector<std::string>{"batch", "M"}));
  EXPECT_EQ(of("param N = 4\nkernel f( {").params, (std::vector<std::string>{"N"})) << "before an error";
}

TEST(Progress, BarIsFullAfterTheLastStep) {
  EXPECT_EQ(stepText(0, 4, "N = 128"), "[..........] 1 of 4, N = 128: ");
  EXPECT_EQ(stepText(1, 4, "N = 256"), "[##........] 2 of 4, N = 256: ");
  EXPECT_EQ(stepText(2, 3, "N = 4"), "[######....] 3 of 3, N = 4: ");
}

TEST(LogAxis, EndsAreNumbersOfTheSeries) {
  LogAxis axis = logAxisOf({0.03, 0.4, 1.7});
  EXPECT_NEAR(axis.low, 0.02, 1e-12);
  EXPECT_NEAR(axis.high, 2, 1e-12);
  ASSERT_EQ(axis.ticks.size(), 7u) << "0.02 0.05 0.1 0.2 0.5 1 2";
  EXPECT_NEAR(axis.ticks[1], 0.05, 1e-12);
  EXPECT_NEAR(axis.shareOf(0.02), 0, 1e-12);
  EXPECT_NEAR(axis.shareOf(0.2), 0.5, 1e-12);
  EXPECT_NEAR(axis.shareOf(2), 1, 1e-12);
}

TEST(LogAxis, ManyDecadesHaveTicksAtPowersOfTen) {
  LogAxis axis = logAxisOf({3e-3, 4e4});
  for (double tick : axis.ticks)
    EXPECT_NEAR(std::log10(tick), std::round(std::log10(tick)), 1e-9) << tick;
  EXPECT_EQ(axis.ticks.size(), 7u) << "0.01 to 10000";
  EXPECT_NEAR(axis.low, 2e-3, 1e-12);
  EXPECT_NEAR(axis.high, 5e4, 1e-6);
  EXPECT_LE(logAxisOf({1e-9, 1e12}).ticks.size(), 7u);
  EXPECT_GE(logAxisOf({1e-9, 1e12}).ticks.size(), 4u);
}

TEST(LogAxis, OneNumberIsInTheMiddle) {
  for (double number : {0.1, 1.0, 2.0, 1000.0, 3.0}) {
    LogAxis axis = logAxisOf({number});
    EXPECT_LT(axis.low, number);
    EXPECT_GT(axis.high, number);
  }
}

TEST(LogAxis, TextsOfTicks) {
  EXPECT_EQ(plainText(0.05), "0.05");
  EXPECT_EQ(plainText(200), "200");
  EXPECT_EQ(bytesTick(200), "200 B");
  EXPECT_EQ(bytesTick(5e3), "5 KB");
  EXPECT_EQ(bytesTick(2e7), "20 MB");
  EXPECT_EQ(bytesTick(1e13), "10000 GB");
  EXPECT_EQ(bytesText(9999), "9999 B");
  EXPECT_EQ(bytesText(1e4), "10.0 KB");
  EXPECT_EQ(bytesText(2.04e7), "20.4 MB");
  EXPECT_EQ(bytesText(1.25e9), "1.25 GB");
}

/// Returns rows of a kernel whose time and peak are given, without a workspace.
SweptRow rowAt(int64_t value, double seconds) {
  SweptRow swept{"layer", value, 1, {}};
  swept.row.timing.median = seconds;
  swept.row.fmaPeak = 100;
  swept.row.compileSeconds = 0.1;
  return swept;
}

TEST(SweepPicture, FigureThatIsMissingHasNoCurve) {
  std::string picture = drawSweep("N", {rowAt(16, 1e-3), rowAt(32, 4e-3)});
  EXPECT_NE(picture.find("data-x=\"16\" data-y=\"1\""), std::string::npos) << "milliseconds";
  EXPECT_NE(picture.find("data-x=\"32\" data-y=\"4\""), std::string::npos);
  EXPECT_EQ(picture.find("plain attention"), std::string::npos);
  EXPECT_EQ(picture.find("roofline"), std::string::npos);
  EXPECT_NE(picture.find("no call needs a workspace"), std::string::npos);
  EXPECT_NE(picture.find("1 thread; measured peak of f32 100.0 to 100.0 GFLOP/s"), std::string::npos);
}

TEST(SweepPicture, RooflineIsTheHigherBound) {
  Row row;
  row.timing.median = 10;
  row.fmaPeak = 2; // GFLOP/s
  row.arithmetic = 8e9;
  EXPECT_FALSE(row.roofline()) << "without a read of the operands memory's bound is not known";
  EXPECT_FALSE(row.percentOfRoofline());
  row.reads = PlainReads{1e9, 3, 0.3};
  EXPECT_DOUBLE_EQ(*row.roofline(), 4) << "arithmetic: 8 GFLOP at 2 GFLOP/s";
  EXPECT_DOUBLE_EQ(*row.percentOfRoofline(), 40);
  row.reads->seconds = 5;
  EXPECT_DOUBLE_EQ(*row.roofline(), 5) << "memory";
  row.timing.median = 4;
  EXPECT_FALSE(row.percentOfRoofline()) << "faster than the bound: the figures do not fit together";
}

TEST(Bench, PeakIsThatOfTheEngine) {
  Row row;
  row.timing.median = 1;
  row.fmaPeak = 100;
  row.flops = row.arithmetic = 150e9;
  EXPECT_FALSE(row.isPossible());
  EXPECT_FALSE(row.percent());
  row.productsOverFma = 2;
  EXPECT_TRUE(row.isPossible());
  EXPECT_DOUBLE_EQ(*row.percent(), 75);
  // Terms that share products need fewer operations than are useful.
  row.productsOverFma = 1;
  row.arithmetic = 90e9;
  EXPECT_TRUE(row.isPossible());
  EXPECT_DOUBLE_EQ(*row.percent(), 150);
}

} // namespace
