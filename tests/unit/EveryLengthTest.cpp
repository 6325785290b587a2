// Tests the decisions that a text's numbers make at every length, one by one.
#include "codegen/Compiler/EveryLength.h"
#include "passes/Lengths/LengthPolynomial.h"
#include <functional>
#include <gtest/gtest.h>

using namespace skewer;
using language::Decision;
using language::Decisions;
using subscript::Expr;

namespace {

const Lengths kBounds = {{"N", 200}};

Decision number(Decision::Kind kind, int64_t value) {
  Decision decision;
  decision.kind = kind, decision.number = value;
  return decision;
}

/// Returns `text` with the constant for each `?`, over positions of n queries and keys.
Decision rewritten(std::string text, int64_t constant, int64_t n) {
  for (size_t at = text.find('?'); at != std::string::npos; at = text.find('?'))
    text.replace(at, 1, std::to_string(constant));
  Decision decision;
  decision.kind = Decision::Rewritten;
  decision.written = *subscript::parse(text);
  decision.domain = {{"i", {0, n - 1}}, {"j", {0, n - 1}}};
  decision.kept = subscript::simplify(decision.written, decision.domain);
  return decision;
}

using At = std::function<Decision(int64_t n)>;

/// Returns the lengths, of those that are examined, at which the decision differs from the assumed one.
std::vector<int64_t> unlike(const At &decide) {
  std::vector<Decisions> fitted;
  for (const Lengths &point : fittingPoints(kBounds))
    fitted.push_back({decide(point.at("N"))});
  EveryLength every(fitted, kBounds);
  std::vector<int64_t> found;
  if (every.amongFitted())
    found.push_back(kBounds.at("N"));
  for (const Lengths &lengths : sampledLengths(kBounds))
    if (every.at(lengths, {decide(lengths.at("N"))}))
      found.push_back(lengths.at("N"));
  return found;
}

} // namespace

TEST(EveryLength, LooksAtShortAndLongOnes) {
  std::vector<int64_t> lengths;
  for (const Lengths &sample : sampledLengths(kBounds))
    lengths.push_back(sample.at("N"));
  EXPECT_EQ(lengths, (std::vector<int64_t>{192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1}));
  // For two lengths: each one with the other's bound, and both together.
  auto two = sampledLengths({{"H", 20}, {"W", 30}});
  for (const Lengths &one : {Lengths{{"H", 4}, {"W", 30}}, Lengths{{"H", 20}, {"W", 4}}, Lengths{{"H", 4}, {"W", 4}},
                             Lengths{{"H", 20}, {"W", 24}}})
    EXPECT_NE(std::find(two.begin(), two.end(), one), two.end()) << sayLengths(one);
}

TEST(EveryLength, AComparisonIsTheSameEverywhere) {
  EXPECT_TRUE(unlike([](int64_t n) { return number(Decision::Choice, n >= 1); }).empty());
  EXPECT_EQ(unlike([](int64_t n) { return number(Decision::Choice, n > 100); }).front(), 96);
  EXPECT_EQ(unlike([](int64_t n) { return number(Decision::Choice, n < 7); }).front(), 6);
  EXPECT_EQ(unlike([](int64_t n) { return number(Decision::Choice, n > 199); }).front(), 200); // among the fitted ones
  EXPECT_EQ(unlike([](int64_t n) { return number(Decision::Choice, n % 2 == 0); }).front(), 200);
}

TEST(EveryLength, AQuantityIsAPolynomial) {
  EXPECT_TRUE(unlike([](int64_t n) { return number(Decision::Quantity, std::min(n, int64_t(200))); }).empty());
  EXPECT_TRUE(unlike([](int64_t n) { return number(Decision::Quantity, std::abs(1 - 2 * n)); }).empty());
  EXPECT_EQ(unlike([](int64_t n) { return number(Decision::Quantity, std::min(n, int64_t(50))); }).front(), 48);
  EXPECT_EQ(unlike([](int64_t n) { return number(Decision::Quantity, std::abs(n - 20)); }).front(), 16);
  EXPECT_EQ(unlike([](int64_t n) { return number(Decision::Quantity, n / 150); }).front(), 128);
}

TEST(EveryLength, WhatIsLeftOfAConditionIsWhatWasWritten) {
  struct {
    const char *text;
    std::function<int64_t(int64_t)> constant;
    int64_t first; // 0: at every length
  } cases[] = {
      {"j <= i + ?", [](int64_t n) { return n - 190; }, 0},
      {"j <= i + ?", [](int64_t n) { return n - 1; }, 0}, // 1 everywhere
      {"clamp(j - i, -?, 40) + ?", [](int64_t n) { return n - 1; }, 0},
      {"j >= ?", [](int64_t n) { return 100 - n; }, 96},
      {"j >= 3 and j >= ?", [](int64_t n) { return n - 190; }, 192}, // j >= 10 alone is left of it
      {"min(j, ?)", [](int64_t n) { return n + 5; }, 0},
      {"max(j, ?)", [](int64_t n) { return 20 - n; }, 16},
      {"(j + ?) // 200", [](int64_t n) { return 200 - n; }, 0}, // 0 everywhere
      {"i + (j + 200) // ?", [](int64_t n) { return 2 * n + 100; }, 96},
  };
  for (const auto &[text, constant, first] : cases) {
    auto found = unlike([&, one = text, &constant = constant](int64_t n) { return rewritten(one, constant(n), n); });
    EXPECT_EQ(found.empty() ? 0 : found.front(), first) << text;
  }
}

TEST(EveryLength, ReadsOfOperandsCountAsAnyNumber) {
  auto decide = [](int64_t perLength, int64_t more) {
    return [=](int64_t n) {
      Decision decision = rewritten("seg[i] == seg[j] and j < lengths[0] + ?", perLength * n + more, n);
      decision.domain[subscript::elementsOf("lengths")] = {1, 200};
      decision.domain[subscript::elementsOf("seg")] = {0, 3};
      decision.kept = subscript::simplify(decision.written, decision.domain);
      return decision;
    };
  };
  EXPECT_TRUE(unlike(decide(0, 0)).empty());
  EXPECT_TRUE(unlike(decide(-1, 195)).empty());
  EXPECT_TRUE(unlike(decide(1, 0)).empty());            // it hides no key at any length
  std::vector<int64_t> found = unlike(decide(3, -240)); // none at the bound, and yet some at N = 64
  EXPECT_NE(std::find(found.begin(), found.end(), 64), found.end());
}

TEST(EveryLength, ATableHasTheValuesOfTheLongest) {
  auto table = [](std::function<double(int64_t)> value) {
    return [value](int64_t n) {
      Decision decision;
      decision.kind = Decision::Table;
      decision.ranges = {{1 - n, n - 1}, {0, 1}};
      for (int64_t offset = 1 - n; offset < n; ++offset)
        for (int64_t other : {0, 1})
          decision.values.push_back(value(n) * offset + other);
      return decision;
    };
  };
  EXPECT_TRUE(unlike(table([](int64_t) { return 0.25; })).empty());
  EXPECT_TRUE(unlike(table([](int64_t) { return NAN; })).empty());
  EXPECT_EQ(unlike(table([](int64_t n) { return n > 20 ? 0.25 : 0.5; })).front(), 16);
}

TEST(EveryLength, WhatAnAxisOfOnePositionLeavesOutIsNotCompared) {
  auto decide = [](int64_t n) {
    Decisions all;
    if (n > 1)
      all.push_back(rewritten("j - i + ?", n - 1, n));
    all.push_back(rewritten("j <= i", 0, n));
    return all;
  };
  std::vector<Decisions> fitted;
  for (const Lengths &point : fittingPoints(kBounds))
    fitted.push_back(decide(point.at("N")));
  EveryLength every(fitted, kBounds);
  EXPECT_FALSE(every.at({{"N", 1}}, decide(1)));
  EXPECT_FALSE(every.at({{"N", 2}}, decide(2)));
  // Earlier decisions of numbers stay.
  for (Decisions &decisions : fitted)
    decisions.insert(decisions.begin(), number(Decision::Choice, 1));
  Decisions there = decide(1);
  there.insert(there.begin(), number(Decision::Choice, 0));
  EXPECT_TRUE(EveryLength(fitted, kBounds).at({{"N", 1}}, there));
}
