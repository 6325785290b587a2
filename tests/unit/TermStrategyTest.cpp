// Tests the strategies that fit each term, what they compute, and their costs.
#include "AttentionTesting.h"
#include "passes/Cpu/Schedule/CpuSchedule.h"
#include "passes/Cpu/Schedule/Prediction.h"
#include "passes/Stages/Stages.h"
#include <fmt/format.h>
#include <map>
#include <set>

using namespace skewer;
using namespace skewer::testing;

namespace {

AttentionText layer(const TermText &term, bool isOfValues = false, const std::string &mask = "") {
  AttentionText text;
  text.valueShape = "2x48x8", text.resultShape = "2x40x8";
  text.score = {{"h i d, h j d", {"2x40x8", "2x48x8"}}};
  (isOfValues ? text.values : text.score).push_back(term);
  if (!mask.empty())
    text.mask = " where \"" + mask + "\"";
  return text;
}

struct Case {
  TermText term;
  bool isOfValues;
  std::vector<std::string> fitting;
};

const Case kCases[] = {
    {{"h i d, h j d", {"2x40x8", "2x48x8"}}, false, {"matmul", "key_dots"}},
    {{"h i d, (j - i + 39) d", {"2x40x8", "87x8"}}, false, {"band"}},
    {{"h i d, (min(max(j - i, -3), 3) + 3) d", {"2x40x8", "7x8"}}, false, {"offset_lines", "gathered_rows"}},
    {{"h j d, (min(max(j - i, -3), 3) + 3) d", {"2x48x8", "7x8"}}, false, {"key_diagonals", "gathered_keys"}},
    {{"h i d, ((i + j) mod 7) d", {"2x40x8", "7x8"}}, false, {"gathered_rows"}},
    {{"h (j - i + 39)", {"2x87"}}, false, {"difference_line", "gathered_scalars", "element"}},
    {{"h j", {"2x48"}}, false, {"key_line", "gathered_scalars", "element"}},
    {{"h i j", {"2x40x48"}}, false, {"row_load", "gathered_scalars", "element"}},
    {{"h i c, h j c, c", {"2x40x3", "2x48x3", "3"}}, false, {"score_table", "gathered_products", "element"}},
    {{"j e", {"48x8"}}, true, {"added_to_values", "read_for_each_pair"}},
    {{"(j - i + 39) e", {"87x8"}}, true, {"diagonals", "read_for_each_pair"}},
    {{"((i + j) mod 7) e", {"7x8"}}, true, {"read_for_each_pair"}},
};

/// Returns the last term of the score, or of the values.
TermForm lastForm(const AttentionShape &shape) { return formsOf(shape).back(); }

TEST(TermStrategy, FitsByForm) {
  TermStrategies strategies(nullptr);
  for (const Case &c : kCases) {
    ParsedAttention attention(layer(c.term, c.isOfValues));
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    std::vector<std::string> names;
    for (const TermStrategy *strategy : strategies.fitting(lastForm(*shape), *shape))
      names.push_back(strategy->name().str());
    EXPECT_EQ(names, c.fitting) << c.term.subscripts;
  }
}

/// The innermost axis may be all of the keys, while the innermost one of the queries is only a part.
TEST(TermStrategy, AnOffsetOfAnAxisIsNoBandThoughTheKeysAreOneRow) {
  TermStrategies strategies(nullptr);
  AttentionText text;
  text.space = "h (iy ix) (jy jx)";
  text.sizes = " sizes {ix = 4, iy = 3, jx = 12, jy = 1}";
  text.value = "h (jy jx) e -> h (iy ix) e";
  text.valueShape = "2x12x8", text.resultShape = "2x12x8";
  text.score = {{"h (iy ix) d, h (jy jx) d", {"2x12x8", "2x12x8"}},
                {"h (iy ix) d, (jx - ix + 3) d", {"2x12x8", "15x8"}}};
  ParsedAttention attention(text);
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  const RowTerm *row = lastForm(*shape).as<RowTerm>();
  ASSERT_TRUE(row && row->kind == RowKind::Linear);
  EXPECT_EQ(strategies.fitting(lastForm(*shape), *shape).front()->name(), "axis_logits");
}

/// Terms whose numbers several keys share: of the columns of a map, and of the query alone.
TEST(TermStrategy, NumbersThatKeysShare) {
  TermStrategies strategies(nullptr);
  AttentionText text;
  text.space = "h i (jy jx)";
  text.sizes = " sizes {i = 40, jx = 12, jy = 4}";
  text.value = "h (jy jx) e -> h i e";
  text.valueShape = "2x48x8", text.resultShape = "2x40x8";
  text.score = {
      {"h i d, h (jy jx) d", {"2x40x8", "2x48x8"}}, {"h i jx", {"2x40x12"}}, {"h i", {"2x40"}}, {"jy jx", {"4x12"}}};
  ParsedAttention attention(text);
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  const std::vector<std::string> expected[] = {{"score_table", "axis_numbers", "gathered_scalars", "element"},
                                               {"key_line", "query_numbers", "gathered_scalars", "element"},
                                               {"key_line", "gathered_scalars", "element"}};
  for (auto [number, known] : llvm::enumerate(expected)) {
    TermForm form = formsOf(*shape)[number + 1];
    std::vector<std::string> names;
    for (const TermStrategy *strategy : strategies.fitting(form, *shape))
      names.push_back(strategy->name().str());
    EXPECT_EQ(names, known);
  }
  for (auto [number, name] : {std::pair(1, "axis_numbers"), std::pair(2, "query_numbers")}) {
    AttentionShape taken = *shape;
    const TermStrategy *strategy = strategies.named(name);
    strategy->take(formsOf(taken)[number], taken);
    EXPECT_EQ(taken.others[number - 1].own, strategy);
    EXPECT_TRUE(taken.others[number - 1].gates.empty()) << "a gate is part of the number";
    strategies.named("gathered_scalars")->take(formsOf(taken)[number], taken);
    EXPECT_EQ(taken.others[number - 1].own, nullptr);
  }
}

/// A strategy computes each term that it took, even from another strategy. Taking a term again changes nothing.
TEST(TermStrategy, TakesWhatItFits) {
  TermStrategies strategies(nullptr);
  for (const Case &c : kCases) {
    ParsedAttention attention(layer(c.term, c.isOfValues));
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    for (const TermStrategy *before : strategies.fitting(lastForm(*shape), *shape))
      for (const TermStrategy *strategy : strategies.fitting(lastForm(*shape), *shape)) {
        AttentionShape taken = *shape;
        before->take(lastForm(*shape), taken);
        strategy->take(lastForm(*shape), taken);
        TermForm form = lastForm(taken);
        std::string name = strategy->name().str(), text = c.term.subscripts + ": " + name;
        if (const OtherTerm *term = form.as<OtherTerm>()) {
          EXPECT_EQ(term->own == strategy, name == "gathered_products") << text;
          EXPECT_EQ(!term->own && term->bias == BiasKind::Element, name == "element") << text;
          EXPECT_EQ(!term->own && term->bias == BiasKind::Lanes, name == "gathered_scalars") << text;
        } else if (const RowTerm *term = form.as<RowTerm>()) {
          EXPECT_EQ(term->kind == RowKind::Any, name == "gathered_rows" || name == "gathered_keys") << text;
        } else if (const ValueTerm *term = form.as<ValueTerm>()) {
          EXPECT_EQ(term->kind == ValueKind::Pairs, name == "read_for_each_pair") << text;
        }
      }
  }
}

TEST(TermStrategy, WorkIsFiniteAndGrowsWithThePairs) {
  TermStrategies strategies(nullptr);
  for (const Target &target : knownTargets())
    for (const Case &c : kCases) {
      ParsedAttention attention(layer(c.term, c.isOfValues));
      auto shape = attention.shape();
      ASSERT_TRUE(shape);
      TileSizes few{target.lanes, 4, 2, 8, 48, 24, 24}, all = few;
      all.columns = all.keys = 48;
      for (const TermStrategy *strategy : strategies.fitting(lastForm(*shape), *shape)) {
        TermWork less = strategy->work(lastForm(*shape), *shape, few, target);
        TermWork more = strategy->work(lastForm(*shape), *shape, all, target);
        EXPECT_TRUE(std::isfinite(more.cycles) && more.cycles >= less.cycles && less.cycles >= 0)
            << strategy->name().str();
        EXPECT_TRUE(more.flops >= less.flops && less.flops >= 0) << strategy->name().str();
      }
    }
}

/// Returns what a strategy adds to the sizes, in words; "" if nothing.
std::string told(const AttentionSizes &before, const AttentionSizes &after) {
  std::string text;
  auto add = [&](const char *what, int64_t number) {
    if (number)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, number);
  };
  add("depth", after.depth - before.depth);
  add("per key", after.extraPerKey - before.extraPerKey);
  add("per row", after.extraPerRow - before.extraPerRow);
  add("line", after.hasLine);
  add("row line", after.hasRowLine);
  add("in place", after.depthInPlace - before.depthInPlace);
  add("panels", after.readsPanels);
  // A block of 8 queries and 32 of the 48 keys, on a processor of round numbers.
  Target target = *findTarget("x86-64-v3");
  target.fmaPerCycle = target.loadsPerCycle = 2;
  add("by blocks", static_cast<int64_t>(after.more.size()));
  double cycles = 0;
  for (const RowCycles &more : after.more)
    cycles += more(after, {4, 2, 8, 32, 8, 0, 0}, target);
  add("cycles", std::lround(cycles));
  return text;
}

/// A term that picks 7 rows of 8 numbers by 7 offsets: less than half of the keys.
TEST(TermStrategy, SizesAreThoseOfItsBuffers) {
  const std::map<std::string, std::string> expected = {
      {"matmul", "depth 8"},
      {"key_dots", "in place 8"},
      {"band", "per key 1"},
      {"offset_lines", "per row 135"},
      {"gathered_rows", "per row 7, row line 1"},
      {"key_diagonals", "by blocks 1"},
      {"gathered_keys", "row line 1, panels 1, by blocks 1, cycles 21"},
      {"gathered_scalars", "line 1"},
      {"element", "line 1"},
  };
  TermStrategies strategies(nullptr);
  std::set<std::string> met;
  for (const Case &c : kCases) {
    ParsedAttention attention(layer(c.term, c.isOfValues));
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    for (const TermStrategy *strategy : strategies.fitting(lastForm(*shape), *shape)) {
      AttentionSizes before{shape->queries, shape->keys, 16, shape->width}, after = before;
      strategy->addSizes(lastForm(*shape), *shape, after);
      auto known = expected.find(strategy->name().str());
      EXPECT_EQ(told(before, after), known == expected.end() ? "" : known->second)
          << c.term.subscripts << " by " << strategy->name().str();
      met.insert(strategy->name().str());
    }
  }
  for (const auto &[name, text] : expected)
    EXPECT_TRUE(met.count(name)) << name;
}

/// The machine's cost of a gather counts for each gathered element, in strategies that gather and in no others.
TEST(TermStrategy, EveryGatheredElementIsPaidFor) {
  constexpr double kPairs = 40 * 48;
  const std::map<std::string, double> gathered = {{"gathered_rows", kPairs},
                                                  {"gathered_keys", kPairs},
                                                  {"gathered_products", 9 * kPairs}}; // three operands, three steps
  TermStrategies strategies(nullptr);
  Target cheap = *findTarget("x86-64-v3"), dear = cheap;
  dear.gatherCycles += 1;
  for (const Case &c : kCases) {
    ParsedAttention attention(layer(c.term, c.isOfValues));
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    TileSizes tile{cheap.lanes, 4, 2, 8, 48, 48, 48};
    for (const TermStrategy *strategy : strategies.fitting(lastForm(*shape), *shape)) {
      std::string name = strategy->name().str();
      double more = strategy->work(lastForm(*shape), *shape, tile, dear).cycles -
                    strategy->work(lastForm(*shape), *shape, tile, cheap).cycles;
      if (name == "gathered_scalars") // the operands that change with the key: one in each case here
        EXPECT_NEAR(more, kPairs, 1e-6) << c.term.subscripts;
      else
        EXPECT_NEAR(more, gathered.count(name) ? gathered.at(name) : 0, 1e-6) << c.term.subscripts << " by " << name;
    }
  }
}

/// The work, counted by hand: 10 groups of 4 rows; 48 keys and 3 + 4 columns of margin, since a group's band begins at
/// a vector.
TEST(TermStrategy, ABandIsAProductWithAMargin) {
  TermStrategies strategies(nullptr);
  ParsedAttention attention(layer({"h i d, (j - i + 39) d", {"2x40x8", "87x8"}}));
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  Target target = *findTarget("x86-64-v3");
  TileSizes tile{8, 4, 2, 8, 48, 48, 48};
  TermWork work = strategies.named("band")->work(lastForm(*shape), *shape, tile, target);
  EXPECT_EQ(work.flops, 2.0 * 40 * (48 + 7) * 8);
  // Stored, loaded and added: three steps for each of 6 vectors of a row.
  EXPECT_DOUBLE_EQ(work.cycles, productCycles(work.flops, tile, target) + 3 * 40 * 6);
  tile.keyBlock = 24;
  EXPECT_EQ(strategies.named("band")->work(lastForm(*shape), *shape, tile, target).flops, 2.0 * 40 * (48 + 14) * 8)
      << "a margin for each block";
}

TEST(TermStrategy, ElementByElementIsTheDearest) {
  TermStrategies strategies(nullptr);
  Target target = *findTarget("x86-64-v3");
  for (const Case &c : kCases) {
    ParsedAttention attention(layer(c.term, c.isOfValues));
    auto shape = attention.shape();
    ASSERT_TRUE(shape);
    ChosenStrategies chosen = chosenBy(strategies, *shape, target);
    auto cyclesOf = [&](const ChosenStrategies &by) {
      return predictWork(*shape, by, chooseBlocking(sizesOf(*shape, by), target), target).cycles;
    };
    size_t last = formsOf(*shape).size() - 1;
    for (const TermStrategy *strategy : strategies.fitting(lastForm(*shape), *shape))
      if (strategy->name() == "element" || strategy->name() == "read_for_each_pair") {
        ChosenStrategies other = chosen;
        other[last].strategy = strategy;
        EXPECT_GE(cyclesOf(other), cyclesOf(chosen)) << c.term.subscripts << " by " << strategy->name().str();
      }
  }
}

/// Returns a shape with a content term and an offset term of the same queries.
std::optional<AttentionShape> offsetShape(mlir::MLIRContext &context, mlir::OwningOpRef<mlir::ModuleOp> &module,
                                          int64_t tokens, int64_t depth = 64) {
  context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect>();
  std::string rows = fmt::format("tensor<2x{}x{}xf32>", tokens, depth);
  std::string table = fmt::format("tensor<{}x{}xf32>", 2 * tokens - 1, depth);
  module = mlir::parseSourceString<mlir::ModuleOp>(fmt::format(R"(
    func.func @f(%q: {0}, %v: {0}, %t: {1}) -> {0} attributes {{attn.kernel}} {{
      %o = attn.attention "h i j" value "h j e -> h i e" (%v) score {{
        attn.term "h i d, h j d" (%q, %v) scale 0.125 : {0}, {0}
        attn.term "h i d, (j - i + {2}) d" (%q, %t) scale 0.125 : {0}, {1}
      }} : {0} -> {0}
      return %o : {0}
    }})",
                                                               rows, table, tokens - 1),
                                                   &context);
  std::optional<AttentionShape> shape;
  if (module)
    module->walk([&](attn::AttentionOp attention) { shape = shapeOfAttention(attention); });
  return shape;
}

class OffsetChoice : public ::testing::Test {
protected:
  /// The strategy of the offset term, and the attention's time with it and with the other strategy.
  struct Choice {
    std::string name;
    double cycles, other;
  };
  Choice choose(const Target &target, int64_t tokens) {
    mlir::MLIRContext context;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    auto shape = offsetShape(context, module, tokens);
    if (!shape)
      return {"", 0, 0};
    ChosenStrategies chosen = chosenBy(strategies, *shape, target), other = chosen;
    other[1].strategy = strategies.named(chosen[1].strategy->name() == "band" ? "strided_add" : "band");
    return {chosen[1].strategy->name().str(), predictedCycles(*shape, chosen, target),
            predictedCycles(*shape, other, target)};
  }
  TermStrategies strategies{nullptr};
};

TEST_F(OffsetChoice, IsByThePrediction) {
  for (const Target &target : knownTargets())
    for (int64_t tokens : {20, 196, 1024}) {
      Choice choice = choose(target, tokens);
      if (strategies.named("strided_add")->whyNotOn(target))
        EXPECT_EQ(choice.name, "band") << target.name;
      else if (choice.name == "band") // unless the other strategy is clearly faster
        EXPECT_LE(0.97 * choice.cycles, choice.other) << target.name << ", " << tokens;
      else
        EXPECT_LT(choice.cycles, 0.97 * choice.other) << target.name << ", " << tokens;
    }
}

TEST_F(OffsetChoice, TableRowsAreAddedToKeysWhereAdditionsHavePipes) {
  for (const char *name : {"zen4", "zen5"})
    for (int64_t tokens : {1024, 2048})
      EXPECT_EQ(choose(*findTarget(name), tokens).name, "strided_add") << name << " " << tokens;
  for (const char *name : {"cascadelake", "sapphirerapids", "x86-64-v4", "x86-64-v3"})
    EXPECT_EQ(choose(*findTarget(name), 1024).name, "band") << name;
  EXPECT_EQ(choose(*findTarget("zen4"), 20).name, "band") << "two rows a phase";
}

TEST_F(OffsetChoice, FewRegistersAreNoReasonToRefuseWhatIsAskedFor) {
  Target target = *findTarget("x86-64-v3");
  const TermStrategy *strided = strategies.named("strided_add");
  auto refusal = strided->whyNotOn(target);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, "16 vector registers are too few");
  EXPECT_FALSE(strided->whyNotOn(*findTarget("x86-64-v4")));
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  auto shape = offsetShape(context, module, 196);
  ASSERT_TRUE(shape);
  EXPECT_TRUE(llvm::is_contained(strategies.fitting(formsOf(*shape)[1], *shape), strided));
}

/// A strategy with the name of another one, which replaces it and fits nothing.
class NoStrategy : public TermStrategy {
public:
  explicit NoStrategy(std::string called) : called(std::move(called)) {}
  llvm::StringRef name() const override { return called; }
  bool fits(const TermForm &, const AttentionShape &) const override { return false; }
  TermWork work(const TermForm &, const AttentionShape &, const TileSizes &, const Target &) const override {
    return {};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &, const TermForm &) const override { return nullptr; }

private:
  std::string called;
};

/// Replaces every strategy that fits a form by one that fits nothing.
void takeAway(TermStrategies &strategies, const TermForm &form, const AttentionShape &shape) {
  for (const TermStrategy *strategy : strategies.fitting(form, shape))
    strategies.add(std::make_unique<NoStrategy>(strategy->name().str()), TermStrategies::kLast);
}

TEST(TermStrategy, WhatNothingFitsIsNamed) {
  ParsedAttention attention(layer({"h i d, ((i + j) mod 7) d", {"2x40x8", "7x8"}}, false, "(i + j) mod 3 < 2"));
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  Target target = *findTarget("x86-64-v3");
  TermStrategies strategies(nullptr);
  EXPECT_FALSE(refuseUnfitted(*shape, strategies));
  takeAway(strategies, maskFormsOf(*shape)[0], *shape);
  EXPECT_EQ(chooseStrategies(*shape, strategies, target).reason(), "no strategy fits part 1 of the attention's mask");
  takeAway(strategies, lastForm(*shape), *shape);
  EXPECT_EQ(chooseStrategies(*shape, strategies, target).reason(), "no strategy fits term 2 of the attention");
}

/// This crashed before: for a layer without a schedule, and for one with a schedule written by hand.
TEST(TermStrategy, WhatNothingFitsIsAnError) {
  ParsedAttention attention(layer({"h i d, ((i + j) mod 7) d", {"2x40x8", "7x8"}}, false, "(i + j) mod 3 < 2"));
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  Target target = *findTarget("x86-64-v3");
  attn::CpuScheduleAttr schedule = chooseSchedule(attention.op, *shape, target);
  ASSERT_TRUE(schedule);
  auto *dialect = attention.op->getContext()->getLoadedDialect<attn::AttnDialect>();
  takeAway(TermStrategies::of(dialect), maskFormsOf(*shape)[0], *shape);
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler(attention.op->getContext(),
                                        [&](mlir::Diagnostic &found) { errors.push_back(found.str()); });
  EXPECT_FALSE(chooseSchedule(attention.op, *shape, target));
  attention.op.setScheduleAttr(schedule);
  EXPECT_TRUE(mlir::failed(verifySchedule(attention.op, walkedShape(attention.op), target)));
  std::string expected = "no strategy fits part 1 of the attention's mask; --unfused compiles the layer, or a plugin "
                         "may bring a strategy";
  EXPECT_EQ(errors, std::vector<std::string>(2, expected));
}

TEST(TermStrategy, PartsOfMasksHaveStrategiesThatSchedulesDoNotName) {
  TermStrategies strategies(nullptr);
  ParsedAttention attention(layer({"h j", {"2x48"}}, false, "(i + j) mod 3 < 2"));
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  ChosenStrategies chosen = chosenBy(strategies, *shape, *findTarget("x86-64-v3"));
  EXPECT_EQ(formsOf(*shape).size(), 2u);
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[2].strategy->name(), "score_table");
}

} // namespace
