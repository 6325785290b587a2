// Tests `skewer plot`: rows, scores and similarities against the layer's formula, and the picture as well-formed XML
// with a cell for each number.
#include "mlir/Pass/PassManager.h"
#include "tools/skewer/PlotData.h"
#include "tools/skewer/PlotPanels.h"
#include "tools/skewer/PlotSvg.h"
#include "llvm/Support/Regex.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace skewer;
using namespace skewer::driver;

namespace {
TEST(Svg, TextIsEscaped) {
  EXPECT_EQ(xmlEscaped("q·k < \"5\" & more > less"), "q·k &lt; &quot;5&quot; &amp; more &gt; less");
  EXPECT_EQ(xmlEscaped(llvm::StringRef("a\x01z", 3)), "a?z");
  EXPECT_EQ(xmlEscaped("a\tb\n"), "a\tb\n");
}

TEST(Svg, CoordinatesAreShort) {
  EXPECT_EQ(coordinate(3), "3");
  EXPECT_EQ(coordinate(3.5), "3.5");
  EXPECT_EQ(coordinate(1.0 / 3), "0.33");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(coordinate(100), "100") << "zeros before the point stay";
}

TEST(Svg, DarknessLeavesLinesVisible) {
  EXPECT_EQ(grey(0), "#ffffff");
  EXPECT_EQ(grey(-3), "#ffffff");
  EXPECT_EQ(grey(2), grey(1));
  EXPECT_NE(grey(1), "#000000");
  for (int k = 0; k < 10; ++k)
    EXPECT_GT(grey(0.1 * k), grey(0.1 * (k + 1))) << "darker is another grey";
}

TEST(Svg, HatchingsRepeat) {
  EXPECT_EQ(hatching(3), "url(#band3)");
  EXPECT_EQ(hatching(3 + kHatchings), hatching(3));
}

TEST(PlotAxes, AreEvenSamplesThatBeginAtZero) {
  PlotAxis few = axisOf(5, "key j");
  EXPECT_EQ(few.positions, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(few.isSampled());
  for (int64_t all : {int64_t(64), int64_t(65), int64_t(1000), int64_t(1) << 40}) {
    PlotAxis axis = axisOf(all, "row");
    ASSERT_EQ(axis.positions.size(), size_t(kMostCells)) << all;
    EXPECT_EQ(axis.isSampled(), all > kMostCells);
    EXPECT_EQ(axis.positions.front(), 0);
    for (size_t k = 0; k < axis.positions.size(); ++k) {
      EXPECT_EQ(axis.positions[k], int64_t(__int128(k) * all / kMostCells));
      EXPECT_LT(axis.positions[k], all);
    }
  }
}

/// Returns the numbers of a spec's first kernel, with seeded operands.
struct Plotted {
  explicit Plotted(const std::string &spec) : target(*findTarget("x86-64-v3")) {
    compilation = Compilation::createFromText(spec, "test.attn", {}, target);
    if (!compilation)
      return;
    const Kernel &kernel = compilation->kernels.front();
    scheduled = compilation->schedule(kernel);
    signature = signatureOf(kernel.einsumFunction());
    auto prepared = prepareOperands(signature, {}, {}, 1);
    EXPECT_TRUE(bool(prepared));
    operands = std::move(*prepared);
    auto plotted = plotDataOf(*scheduled, kernel.name, signature, operands);
    if (!plotted)
      message = llvm::toString(plotted.takeError());
    else
      data = std::move(*plotted);
  }
  /// Returns an element of an operand.
  double at(size_t operand, std::vector<int64_t> index) const {
    const Array &array = operands.inputs[operand];
    int64_t flat = 0;
    for (size_t d = 0; d < index.size(); ++d)
      flat = flat * array.shape[d] + index[d];
    return array.values[flat];
  }
  Target target;
  std::unique_ptr<Compilation> compilation;
  mlir::OwningOpRef<mlir::ModuleOp> scheduled;
  KernelPlan signature;
  Operands operands;
  std::optional<PlotData> data;
  std::string message;
};

const char *kCausal = R"(
kernel layer(q, k, v : f32[2, 6, 8], table : f32[11, 8]) -> f32[2, 6, 8] {
  content  = einsum("h i d, h j d -> h i j", q, k)
  position = einsum("h i d, (j - i + 5) d -> h i j", q, table)
  weights  = softmax((content + position) * 0.5 where j <= i)
  return einsum("h i j, h j d -> h i d", weights, v)
}
)";

TEST(PlotData, RowsAreTheIndexExpression) {
  Plotted plot(kCausal);
  ASSERT_TRUE(plot.data) << plot.message;
  EXPECT_EQ(plot.data->kernel, "layer");
  ASSERT_EQ(plot.data->skews.size(), 1u);
  const SkewDiagram &skew = plot.data->skews[0];
  EXPECT_NE(skew.title.find("table[j - i + 5]"), std::string::npos) << skew.title;
  ASSERT_EQ(skew.rows.size(), 6u);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j)
      EXPECT_EQ(skew.rows[i][j], j <= i ? std::optional<int64_t>(j - i + 5) : std::nullopt) << i << ", " << j;
}

TEST(PlotData, ScoresAreTheFormula) {
  Plotted plot(kCausal);
  ASSERT_TRUE(plot.data) << plot.message;
  ASSERT_FALSE(plot.data->maps.empty());
  const HeatMap &scores = plot.data->maps[0];
  ASSERT_EQ(scores.values.size(), 6u);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j) {
      ASSERT_EQ(scores.values[i][j].has_value(), j <= i) << "masked ones are empty";
      if (j > i)
        continue;
      double expected = 0;
      for (int64_t d = 0; d < 8; ++d)
        expected += plot.at(0, {0, i, d}) * (plot.at(1, {0, j, d}) + plot.at(3, {j - i + 5, d}));
      EXPECT_NEAR(*scores.values[i][j], 0.5 * expected, 1e-9) << i << ", " << j;
    }
}

TEST(PlotData, SimilaritiesOfATableAreCosines) {
  Plotted plot(kCausal);
  ASSERT_TRUE(plot.data) << plot.message;
  const HeatMap *similar = nullptr;
  for (const HeatMap &map : plot.data->maps)
    if (map.values.size() == 11)
      similar = &map;
  ASSERT_TRUE(similar) << "the rows of the table, one with another";
  for (int64_t a = 0; a < 11; ++a)
    for (int64_t b = 0; b < 11; ++b) {
      double dot = 0, ofA = 0, ofB = 0;
      for (int64_t d = 0; d < 8; ++d) {
        dot += plot.at(3, {a, d}) * plot.at(3, {b, d});
        ofA += plot.at(3, {a, d}) * plot.at(3, {a, d}), ofB += plot.at(3, {b, d}) * plot.at(3, {b, d});
      }
      ASSERT_TRUE(similar->values[a][b]);
      EXPECT_NEAR(*similar->values[a][b], dot / std::sqrt(ofA * ofB), 1e-9) << a << ", " << b;
    }
}

TEST(PlotData, AKernelWithoutAttentionIsAnError) {
  Plotted plot("kernel turn(x : f32[4, 6]) -> f32[6, 4] { return rearrange(x, \"a b -> b a\") }\n");
  EXPECT_FALSE(plot.data);
  EXPECT_FALSE(plot.message.empty());
}

/// Checks that opening and closing tags are balanced, and that the attributes of every element are quoted.
void expectWellFormed(const std::string &svg) {
  std::vector<std::string> open;
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    std::string tag = svg.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    ASSERT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    if (tag[0] == '?' || tag.back() == '/')
      continue;
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(DrawPlot, IsWellFormed) {
  Plotted plot(kCausal);
  ASSERT_TRUE(plot.data) << plot.message;
  std::string svg = drawPlot(*plot.data);
  expectWellFormed(svg);
  EXPECT_EQ(svg, drawPlot(*plot.data)) << "the same every time";
}

TEST(DrawPlot, NamesThatXmlCannotHold) {
  PlotData data;
  data.kernel = "a<b>&\"c\"";
  data.caption = "5 < 6";
  SkewDiagram skew;
  skew.title = "q·t[i < j]";
  skew.what = "row & more";
  skew.queries = skew.keys = axisOf(2, "i \"first\"");
  skew.rows = {{0, std::nullopt}, {1, 0}};
  data.skews = {skew};
  HeatMap map;
  map.title = "<nothing>";
  map.vertical = map.horizontal = axisOf(2, "row");
  map.values = {{0.5, std::nullopt}, {NAN, INFINITY}};
  data.maps = {map};
  expectWellFormed(drawPlot(data));
}
} // namespace
