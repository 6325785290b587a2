// Compares what the CPU lowering derives from an attention with brute force over all elements: strides, the keys that a
// mask leaves, the rows that positions pick, and the parts of a term that can be prepared.
#include "AttentionTesting.h"
#include "passes/Analysis/BiasKind.h"
#include "passes/Analysis/TileCounts.h"
#include "passes/Cpu/Schedule/Prediction.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;
using skewer::testing::AttentionText;
using skewer::testing::ParsedAttention;
using skewer::testing::sees;
using skewer::testing::setAxes;
using skewer::testing::TermText;

namespace {
const TermText kContent{"h i d, h j d", {"2x7x8", "2x9x8"}};

std::vector<int64_t> sizesOfShape(mlir::Value value) {
  auto shape = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
  return {shape.begin(), shape.end()};
}

/// Calls `visit` for every assignment of these axes.
void forEach(const std::vector<std::string> &axes, const AxisSizes &sizes, Assignment &at,
             const std::function<void()> &visit, size_t place = 0) {
  if (place == axes.size())
    return visit();
  for (int64_t value = 0; value < sizes.at(axes[place]); ++value) {
    at[axes[place]] = value;
    forEach(axes, sizes, at, visit, place + 1);
  }
}

/// Returns the flat element that the subscripts of an operand name.
int64_t elementOf(const std::vector<Expr> &subscripts, const std::vector<int64_t> &shape, const Assignment &at) {
  int64_t flat = 0;
  for (auto [subscript, size] : llvm::zip(subscripts, shape))
    flat = flat * size + evaluate(subscript, at).value_or(INT64_MIN / 64);
  return flat;
}

/// Compares every element that a content term reads, by the walk and by the subscripts.
void walksAreSubscripts(const AttentionText &text) {
  ParsedAttention attention(text);
  ASSERT_TRUE(attention);
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  size_t content = 0;
  for (TermOp term : attention.op.getScore().getOps<TermOp>()) {
    ASSERT_LT(content, shape->content.size()) << "a term is no content";
    const ContentTerm &walked = shape->content[content++];
    ResolvedEinsum resolved = resolve(term);
    ASSERT_EQ(resolved.contracted.size(), 1u);
    AxisSizes sizes = resolved.sizes;
    std::vector<std::string> axes = shape->space.leading;
    for (const auto *more : {&shape->space.query, &shape->space.key, &resolved.contracted})
      axes.insert(axes.end(), more->begin(), more->end());
    for (const auto &[axis, size] : shape->space.sizes)
      sizes[axis] = size;
    Assignment at;
    forEach(axes, sizes, at, [&] {
      auto flat = [&](const std::vector<std::string> &names) {
        int64_t position = 0;
        for (const std::string &name : names)
          position = position * sizes.at(name) + at.at(name);
        return position;
      };
      int64_t i = flat(shape->space.query), j = flat(shape->space.key), d = at.at(resolved.contracted[0]);
      for (const Walk &walk : {walked.query, walked.key}) {
        unsigned operand = 0;
        while (operandsOf(attention.op)[walk.argument] != term.getInputs()[operand])
          ++operand;
        EXPECT_EQ(evaluate(walk.base, at).value_or(-1) + walk.query * i + walk.key * j + walk.depth * d,
                  elementOf(resolved.subscripts[operand], sizesOfShape(term.getInputs()[operand]), at));
      }
    });
  }
}

TEST(AttentionShape, WalksAreTheSubscripts) {
  walksAreSubscripts({"h i j", "", "", "h j e -> h i e", "2x9x8", "2x7x8", {kContent}});
  // Token-major operands, merged heads, keys transposed, keys that all heads share.
  walksAreSubscripts({"h i j", "", "", "j (h e) -> h i e", "9x16", "2x7x8", {{"i (h d), j (h d)", {"7x16", "9x16"}}}});
  walksAreSubscripts({"h i j", "", "", "h e j -> h i e", "2x8x9", "2x7x8", {{"i h d, h d j", {"7x2x8", "2x8x9"}}}});
  walksAreSubscripts({"h i j", "", "", "j e -> h i e", "9x8", "2x7x8", {{"h i d, j d", {"2x7x8", "9x8"}}}});
  // Groups of heads; operands in the other order; a part of a larger tensor.
  walksAreSubscripts({"h i j",
                      "",
                      "",
                      "(h floordiv 2) j e -> h i e",
                      "2x9x8",
                      "4x7x8",
                      {{"h i d, (h floordiv 2) j d", {"4x7x8", "2x9x8"}}}});
  walksAreSubscripts({"h i j", "", "", "h j e -> h i e", "2x9x8", "2x7x8", {{"h j d, h i d", {"2x9x8", "2x7x8"}}}});
  walksAreSubscripts(
      {"h i j", "", "", "h j e -> h i e", "2x9x8", "2x7x8", {{"(1) h i d, (2) h j d", {"3x2x7x8", "3x2x9x8"}}}});
  // Maps of queries and keys.
  walksAreSubscripts({"h (iy ix) (jy jx)",
                      " sizes {iy = 2 : i64, ix = 3 : i64, jy = 3 : i64, jx = 3 : i64}",
                      "",
                      "h (jy jx) e -> h (iy ix) e",
                      "2x9x8",
                      "2x6x8",
                      {{"h iy ix d, h (jy jx) d", {"2x2x3x8", "2x9x8"}}}});
}

/// Masks of every kind, over positions and over maps.
const std::vector<std::string> kMasks = {"j <= i",
                                         "j <= i + 2",
                                         "j < i",
                                         "i <= j",
                                         "abs(i - j) <= 2",
                                         "j <= i and i - j < 3",
                                         "i == j",
                                         "i != j",
                                         "j mod 2 == 0",
                                         "(i - j) mod 3 == 0",
                                         "j < 4",
                                         "i < 3 or j <= i",
                                         "i floordiv 3 == j floordiv 3",
                                         "j <= i and j mod 2 == i mod 2",
                                         "abs(i - j) <= 1 or j == 0",
                                         "j >= 0",
                                         "j - i <= -2",
                                         "2*j <= i",
                                         "j < 3 or i - j < 2",
                                         "j <= i and (j < 1 or i - j < 3)",
                                         "j < 2 or abs(i - j) <= 1",
                                         "j < 5 or abs(i - j) <= 1",
                                         "j != 0 or i - j < 2",
                                         "(j < 2 or i - j < 3) and (j < 4 or i - j < 5)"};

AttentionText masked(const std::string &mask) {
  AttentionText text;
  text.mask = " where \"" + mask + "\"";
  text.score = {kContent};
  return text;
}

TEST(AttentionShape, IntervalAndConjunctsAreTheMask) {
  for (const std::string &mask : kMasks) {
    ParsedAttention attention(masked(mask));
    ASSERT_TRUE(attention);
    auto shape = attention.shape();
    ASSERT_TRUE(shape) << mask;
    for (int64_t i = 0; i < shape->queries; ++i)
      for (int64_t j = 0; j < shape->keys; ++j) {
        bool visible =
            !shape->visible || ((shape->visible->low <= j - i || j < shape->prefix) && j - i <= shape->visible->high);
        Assignment at;
        setAxes(at, shape->space.query, shape->space, i);
        setAxes(at, shape->space.key, shape->space, j);
        for (const MaskPart &part : llvm::concat<const MaskPart>(shape->masks, shape->bounds.parts))
          visible &= evaluate(part.predicate, at).value_or(0) != 0;
        ASSERT_EQ(visible, sees(attention.op, shape->space, i, j)) << mask << " at " << i << ", " << j;
      }
  }
}

TEST(AttentionShape, BandsAreIntervalsAlone) {
  for (const char *mask : {"j <= i", "abs(i - j) <= 2", "j <= i and i - j < 3", "i == j"}) {
    ParsedAttention attention(masked(mask));
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    EXPECT_TRUE(shape->visible) << mask;
    EXPECT_TRUE(shape->masks.empty()) << mask << " is tested element by element";
  }
}

TEST(AttentionShape, FirstKeysBesideAWindowAreAPrefix) {
  struct Case {
    const char *mask;
    int64_t prefix;
    Range visible;
  };
  for (const Case &c : std::vector<Case>{{"j <= i and (j < 2 or i - j < 3)", 2, {-2, 0}},
                                         {"j <= 1 or j - i >= -2", 2, {-2, INT64_MAX}},
                                         {"j < 2 or abs(i - j) <= 1", 2, {-1, 1}}}) {
    ParsedAttention attention(masked(c.mask));
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->prefix, c.prefix) << c.mask;
    ASSERT_TRUE(shape->visible) << c.mask;
    EXPECT_EQ(*shape->visible, c.visible) << c.mask;
    EXPECT_TRUE(shape->masks.empty()) << c.mask << " is tested element by element";
    leavePrefix(*shape);
    EXPECT_EQ(shape->prefix, 0);
    EXPECT_EQ(shape->masks.size(), 1u) << c.mask;
    EXPECT_EQ(shape->visible.has_value(), c.visible.high != INT64_MAX) << c.mask;
  }
  // Keys that the first query does not see are no prefix, and neither are keys that are not the first ones.
  for (const char *mask : {"j < 5 or abs(i - j) <= 1", "j != 0 or i - j < 2", "j == 1 or i - j < 2"})
    EXPECT_EQ(ParsedAttention(masked(mask)).shape()->prefix, 0) << mask;
}

TEST(Tiles, WithoutAMaskAllAreFull) {
  AttentionText text;
  text.score = {kContent};
  ParsedAttention attention(text);
  auto counts = countTiles(*attention.shape(), 4, 8);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->full, 4);
  EXPECT_EQ(counts->dead + counts->edge + counts->skipped, 0);
}

TEST(Tiles, LengthsAtRunTimeCannotBeCounted) {
  AttentionText text = masked("j < lengths[h]");
  text.mask += " indices(lengths = %lengths : tensor<2xi32>)";
  text.arguments = ", %lengths: tensor<2xi32> {attn.name = \"lengths\"}";
  ParsedAttention attention(text);
  ASSERT_TRUE(attention);
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  EXPECT_FALSE(countTiles(*shape, 4, 8));
}

/// Checks rows that a function of positions picks: the table by offset must give the row wherever the guard holds.
TEST(RowTerm, RowsByOffsetAreTheRows) {
  struct Case {
    const char *row, *guard;
  };
  for (const Case &c : std::vector<Case>{{"clamp(j - i, -2, 2) + 2", nullptr},
                                         {"clamp(i - j, -3, 1) + 3", nullptr},
                                         {"abs(i - j)", nullptr},
                                         {"j - i + 2", "abs(j - i) <= 2"},
                                         {"[0 x 4, 1..5, 5 x 8][j - i + 6]", nullptr},
                                         {"max(j - i, 0)", nullptr},
                                         {"(j - i + 7) floordiv 2", nullptr}}) {
    AttentionText text;
    text.score = {kContent, {std::string("h i d, (") + c.row + ") d", {"2x7x8", "12x8"}}};
    if (c.guard)
      text.score[1].rest = std::string("scale 1.0 where \"") + c.guard + "\"";
    ParsedAttention attention(text);
    ASSERT_TRUE(attention);
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    ASSERT_EQ(shape->rows.size(), 1u) << c.row;
    const RowTerm &term = shape->rows[0];
    EXPECT_EQ(term.kind, RowKind::Offset) << c.row;
    EXPECT_FALSE(term.keySide);
    Expr row = *parse(c.row), guard = c.guard ? *parse(c.guard) : Expr(1);
    int64_t previous = INT64_MIN;
    bool rises = true, falls = true, none = false;
    for (int64_t offset = 1 - shape->queries; offset < shape->keys; ++offset) {
      int64_t i = std::max<int64_t>(0, -offset), j = i + offset;
      bool holds = *evaluate(guard, {{"i", i}, {"j", j}}) != 0;
      int64_t expected = holds ? *evaluate(row, {{"i", i}, {"j", j}}) : -1;
      EXPECT_EQ(term.offsets.at(offset), expected) << c.row << " at offset " << offset;
      none |= !holds;
      if (!holds)
        continue;
      EXPECT_TRUE(term.firstRow <= expected && expected < term.endRow) << c.row;
      rises &= previous == INT64_MIN || expected >= previous;
      falls &= previous == INT64_MIN || expected <= previous;
      previous = expected;
    }
    EXPECT_EQ(term.offsets.isMonotone(), rises || falls) << c.row;
    EXPECT_EQ(term.offsets.hasNone(), none) << c.row;
  }
}

/// Checks runs of offsets that a value term reads in steps: the element of the table for each offset.
TEST(ValueTerm, RunsAreTheRows) {
  struct Case {
    const char *row, *guard;
  };
  for (const Case &c : std::vector<Case>{{"clamp(j - i, -2, 2) + 2", nullptr},
                                         {"j - i + 6", nullptr},
                                         {"i - j + 8", nullptr},
                                         {"j - i + 2", "abs(j - i) <= 2"},
                                         {"clamp(i - j, -6, 1) + 6", nullptr}}) {
    AttentionText text;
    text.score = {kContent};
    text.values = {{std::string("(") + c.row + ") e", {"15x8"}}};
    if (c.guard)
      text.values[0].rest = std::string("scale 1.0 where \"") + c.guard + "\"";
    ParsedAttention attention(text);
    ASSERT_TRUE(attention);
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    ASSERT_EQ(shape->valueTerms.size(), 1u);
    const ValueTerm &term = shape->valueTerms[0];
    ASSERT_EQ(term.kind, ValueKind::Runs) << c.row;
    Expr row = *parse(c.row), guard = c.guard ? *parse(c.guard) : Expr(1);
    int64_t end = INT64_MIN;
    for (const OffsetRun &run : term.runs) {
      EXPECT_GT(run.length(), 0);
      EXPECT_GT(run.low, end) << "runs ascend and do not meet";
      end = run.high;
    }
    for (int64_t offset = 1 - shape->queries; offset < shape->keys; ++offset) {
      int64_t i = std::max<int64_t>(0, -offset), j = i + offset;
      bool holds = *evaluate(guard, {{"i", i}, {"j", j}}) != 0;
      auto run = llvm::find_if(term.runs, [&](const OffsetRun &r) { return r.low <= offset && offset <= r.high; });
      ASSERT_EQ(run != term.runs.end(), holds) << c.row << " at offset " << offset;
      if (holds)
        EXPECT_EQ(run->start + run->step * (offset - run->low), 8 * *evaluate(row, {{"i", i}, {"j", j}})) << c.row;
    }
  }
}

ScoreSpace spaceOf(bool map) {
  ScoreSpace space;
  space.leading = {"b", "h"};
  space.query = map ? std::vector<std::string>{"iy", "ix"} : std::vector<std::string>{"i"};
  space.key = map ? std::vector<std::string>{"jy", "jx"} : std::vector<std::string>{"j"};
  space.sizes = {{"b", kRuntime}, {"h", 4}};
  for (const auto *axes : {&space.query, &space.key})
    for (const std::string &axis : *axes)
      space.sizes[axis] = map ? 3 : 9;
  return space;
}

/// Checks functions of differences: the value stays the same if query and key move together, for every pair of
/// positions.
TEST(BiasKind, DifferencesAreThoseOfTheElements) {
  for (bool map : {false, true}) {
    ScoreSpace space = spaceOf(map);
    for (const char *text :
         map ? std::vector<const char *>{"jy - iy", "abs(jy - iy) + 3*abs(jx - ix)", "iy*jy", "jy - ix",
                                         "7*(iy - jy) + ix - jx", "(3*jy + jx) - (3*iy + ix)", "jy == iy",
                                         "jx mod 2 == ix mod 2"}
             : std::vector<const char *>{"j - i", "abs(i - j)", "clamp(j - i, -2, 2)", "i*j", "j - 2*i",
                                         "(j - i) mod 3", "j mod 3 - i mod 3", "(i + j) mod 2",
                                         "select(i <= j, j - i, 0)", "i floordiv 3 - j floordiv 3"}) {
      Expr e = *parse(text);
      std::map<std::vector<int64_t>, int64_t> byDifference;
      bool expected = true;
      Assignment at;
      std::vector<std::string> axes = space.query;
      axes.insert(axes.end(), space.key.begin(), space.key.end());
      forEach(axes, space.sizes, at, [&] {
        std::vector<int64_t> difference;
        for (auto [query, key] : llvm::zip(space.query, space.key))
          difference.push_back(at[key] - at[query]);
        int64_t value = *evaluate(e, at);
        auto [place, fresh] = byDifference.insert({difference, value});
        expected &= fresh || place->second == value;
      });
      bool found = isOfDifferences({e}, space);
      EXPECT_TRUE(!found || expected) << text << " is claimed to depend on differences only";
      if (std::string(text).find("mod 2") == std::string::npos) // (i + j) mod 2 is also a function of the difference
        EXPECT_EQ(found, expected) << text;
    }
  }
}

TEST(BiasKind, Kinds) {
  auto kind = [](bool map, std::vector<const char *> texts, int64_t positions = 0) {
    ScoreSpace space = spaceOf(map);
    for (auto &[axis, size] : space.sizes)
      if (positions && axis != "b" && axis != "h")
        size = positions;
    std::vector<Expr> expressions;
    for (const char *text : texts)
      expressions.push_back(*parse(text));
    return biasKindOf(expressions, space);
  };
  EXPECT_EQ(kind(false, {"j", "h"}), BiasKind::Key);
  EXPECT_EQ(kind(false, {"j - i + 8", "h"}), BiasKind::Difference);
  EXPECT_EQ(kind(false, {"j - i + 8", "j"}), BiasKind::Table) << "small enough to be held for each pair";
  EXPECT_EQ(kind(false, {"i*j", "b"}), BiasKind::Element) << "a table for each batch row of an unknown number";
  EXPECT_EQ(kind(false, {"i*j"}, 4096), BiasKind::Element) << "64 MiB are no table";
  EXPECT_EQ(kind(true, {"iy - jy + 2", "ix - jx + 2"}), BiasKind::Table) << "read more cheaply than a line by axes";
  EXPECT_EQ(kind(true, {"iy - jy + 2", "ix - jx + 2"}, 32), BiasKind::Difference);
}

TEST(BiasKind, CopiesAndConjuncts) {
  ScoreSpace space = spaceOf(false);
  EXPECT_EQ(leadingAxesIn({*parse("j + h"), *parse("i")}, space), (std::vector<std::string>{"h"}));
  EXPECT_EQ(leadingAxesIn({*parse("h + b")}, space), (std::vector<std::string>{"b", "h"})) << "in the space's order";
  EXPECT_EQ(countOf({"h"}, space), 4);
  EXPECT_EQ(countOf({"b", "h"}, space), kRuntime);
  EXPECT_EQ(countOf({}, space), 1);
  EXPECT_EQ(conjunctsOf(*parse("i < 3 and (j < 4 and i < j)")).size(), 3u);
  EXPECT_EQ(conjunctsOf(*parse("i < 3 or j < 4")).size(), 1u);
}

/// The model's number grows with the work, and is never below the work itself.
TEST(Prediction, MatmulsAreAtLeastTheLayers) {
  for (const Target &target : knownTargets())
    for (int64_t keys : {1, 9, 64, 333}) {
      AttentionText text;
      std::string k = std::to_string(keys);
      text.valueShape = "2x" + k + "x8";
      text.score = {{"h i d, h j d", {"2x7x8", "2x" + k + "x8"}}};
      ParsedAttention attention(text);
      auto shape = attention.shape();
      ASSERT_TRUE(shape);
      TermStrategies strategies(nullptr);
      ChosenStrategies chosen = skewer::testing::chosenBy(strategies, *shape, target);
      Blocking blocking = chooseBlocking(sizesOf(*shape, chosen), target);
      PredictedWork work = predictWork(*shape, chosen, blocking, target);
      EXPECT_GE(work.matmulFlops, 2.0 * 7 * keys * (8 + 8)) << target.name << ", " << keys << " keys";
      EXPECT_GE(work.cycles, work.matmulFlops / (2.0 * target.lanes * target.fmaPerCycle)) << target.name;
    }
}

TEST(Prediction, ACausalLayerIsLessWork) {
  AttentionText text;
  text.valueShape = "2x512x64", text.resultShape = "2x512x64";
  text.score = {{"h i d, h j d", {"2x512x64", "2x512x64"}}};
  AttentionText causal = text;
  causal.mask = " where \"j <= i\"";
  Target target = *findTarget("x86-64-v3");
  TermStrategies strategies(nullptr);
  auto flops = [&](const AttentionText &layer) {
    ParsedAttention attention(layer);
    auto shape = attention.shape();
    if (!shape)
      return 0.0;
    ChosenStrategies chosen = skewer::testing::chosenBy(strategies, *shape, target);
    return predictWork(*shape, chosen, chooseBlocking(sizesOf(*shape, chosen), target), target).matmulFlops;
  };
  EXPECT_LT(flops(causal), 0.6 * flops(text));
  EXPECT_GT(flops(causal), 0.5 * flops(text)) << "the diagonal's tiles are whole";
}
} // namespace
