// Tests index expressions: text, evaluation, composition, and inputs that must give errors.
#include "dialect/Subscript/Expr.h"
#include "tests/unit/SubscriptTesting.h"
#include <ctime>
#include <gtest/gtest.h>

using namespace skewer::subscript;
using skewer::subscript::testing::read;

namespace {
std::string roundTrip(std::string_view text) { return print(read(text)); }
ParseError errorOf(std::string_view text) {
  auto e = parse(text);
  EXPECT_FALSE(e) << text;
  EXPECT_FALSE(e.error().message.empty()) << text;
  return e.error();
}
const Assignment kPoint{{"i", 5}, {"j", -7}, {"n", 3}};
int64_t valueOf(std::string_view text) { return evaluate(read(text), kPoint).value_or(-999); }

TEST(SubscriptText, WhatIsNestedDeepIsReadAgain) {
  for (const char *text : {"!!i", "not not not (i == j)", "i + (not not i)*2"})
    EXPECT_EQ(*parse(print(*parse(text))), *parse(text)) << text;
  EXPECT_EQ(print(*parse("!!i")), "not not i");
  auto deep = parse(std::string(190, '!') + "i");
  ASSERT_TRUE(deep);
  EXPECT_TRUE(parse(print(*deep))) << "parentheses count as nesting";
}

TEST(SubscriptText, PrintsWithoutNeedlessParentheses) {
  for (const char *text : {"j - i + 13",
                           "clamp(j - i, -64, 8) + 64",
                           "i floordiv 14",
                           "j <= i",
                           "abs(i - j) <= 4 and seg[i] == seg[j]",
                           "14*iy + ix",
                           "-i",
                           "i - (j - 3*k)",
                           "(i floordiv 14) mod 3",
                           "i*(j floordiv 2)",
                           "not (i < j)",
                           "i == 0 or j == 0 and k != 1",
                           "(i == 0 or j == 0) and k != 1",
                           "select(j <= i, i - j, 0)",
                           "min(i, j, 3)",
                           "table[i, j + 1] + 2",
                           "-(i + j)",
                           "(i + j)*k",
                           "i mod (j + 1)",
                           "(i < j) + 1"})
    EXPECT_EQ(roundTrip(roundTrip(text)), roundTrip(text)) << text;
  EXPECT_EQ(roundTrip("((j) - (i)) + 13"), "j - i + 13");
  EXPECT_EQ(roundTrip("clamp(j-i,-64,8)+64"), "clamp(j - i, -64, 8) + 64");
  EXPECT_EQ(roundTrip("abs(i - j) <= 4 and seg[i] == seg[j]"), "abs(i - j) <= 4 and seg[i] == seg[j]");
  EXPECT_EQ(roundTrip("(i // 14) % 3"), "(i floordiv 14) mod 3");
  EXPECT_EQ(roundTrip("i - (j - k)"), "i - (j - k)");
}

TEST(SubscriptText, TablesAreRuns) {
  EXPECT_EQ(roundTrip("[3,3,3,3,1,2,3,4,7,9,8,7][j-i+5]"), "[3 x 4, 1..4, 7, 9..7][j - i + 5]");
  EXPECT_EQ(roundTrip("[-2..2, 2 x 3, -5 x 2][i] + 1"), "[-2..2, 2 x 3, -5 x 2][i] + 1");
  EXPECT_EQ(roundTrip("[7][i]"), "[7][i]");
  EXPECT_EQ(read("[0..3][i]"), read("[0, 1, 2, 3][i]"));
  Expr e = read("[10, 20 x 2, 5..4][2*i]");
  EXPECT_EQ(evaluate(e, {{"i", 0}}), 10);
  EXPECT_EQ(evaluate(e, {{"i", 1}}), 20);
  EXPECT_EQ(evaluate(e, {{"i", 2}}), 4);
  EXPECT_FALSE(evaluate(e, {{"i", 3}}).has_value());
  for (auto [text, position] : {std::pair("[][i]", 1u), std::pair("[1, ]", 4u), std::pair("[1 2][i]", 3u),
                                std::pair("[1]", 0u), std::pair("[1][i, j]", 0u), std::pair("[1 x 0][i]", 0u),
                                std::pair("[0..99999999999][i]", 0u), std::pair("[1][i", 3u)}) {
    ParseError why = errorOf(text);
    EXPECT_EQ(why.position, position) << text << ": " << why.message;
  }
}

TEST(SubscriptText, LongTablesAreAbbreviatedForPeople) {
  EXPECT_EQ(abbreviateTables("table[[15 x 69, 14 x 27, 7..0, -3, 31 x 69][j - i + 159] + 2, h]"),
            "table[[15 x 69, …, 31 x 69][j - i + 159] + 2, h]");
  for (const char *text : {"[1, 2, 3, 4][i]", "q[1, 2, 3, 4, 5, 6]", "x[i, j]", "[]", "[1, 2, 3, 4, 5, 6]", "["})
    EXPECT_EQ(abbreviateTables(text), text);
}

TEST(SubscriptText, EverySpellingOfAnOperator) {
  EXPECT_EQ(read("i // 4"), read("i floordiv 4"));
  EXPECT_EQ(read("i % 4"), read("i mod 4"));
  EXPECT_EQ(read("i < j && !(j == 3) || i >= 2"), read("i < j and not (j == 3) or 2 <= i"));
  EXPECT_EQ(read("i > j"), read("j < i"));
  EXPECT_EQ(read("0 <= i < 14"), read("0 <= i and i < 14"));
}

TEST(SubscriptText, Precedence) {
  EXPECT_EQ(valueOf("2 + 3*i"), 17);
  EXPECT_EQ(valueOf("-i floordiv 2"), -3); // (-5) floordiv 2
  EXPECT_EQ(valueOf("i - 1 - 1"), 3);
  EXPECT_EQ(valueOf("20 floordiv i mod 3"), 1);
  EXPECT_EQ(valueOf("not i == 5"), 0);
  EXPECT_EQ(valueOf("i == 5 or 1 floordiv 0 == 1"), 1);
  EXPECT_EQ(valueOf("i < j + 20 and j < i"), 1);
}

TEST(SubscriptText, Errors) {
  EXPECT_EQ(errorOf("j - ").position, 4u);
  EXPECT_EQ(errorOf("j - i)").position, 5u);
  EXPECT_EQ(errorOf("(j - i").position, 0u);
  EXPECT_EQ(errorOf("j $ i").position, 2u);
  EXPECT_EQ(errorOf("9223372036854775808").message, "this integer does not fit 64 bits");
  EXPECT_EQ(evaluate(read("-9223372036854775808"), {}), INT64_MIN);
  EXPECT_EQ(print(Expr(INT64_MIN)), "-9223372036854775808");
  EXPECT_NE(errorOf("floor(i)").message.find("unknown function 'floor'"), std::string::npos);
  EXPECT_NE(errorOf("clamp(i, 1)").message.find("takes 3 arguments, got 2"), std::string::npos);
  for (const char *text : {"", "  ", "i j", "3i", "1.5", "seg[", "seg[]", "min()", "abs(i, j)", "i +* j", "and", "\xff",
                           "not", "i ==", "()", "select(i, j)", "i = j"})
    errorOf(text);
}

TEST(SubscriptText, DeepNestingIsAnErrorNotACrash) {
  for (const char *open : {"(", "-", "not ", "abs(", "x[", "i - (", "!"}) {
    std::string text;
    for (int k = 0; k < 100000; ++k)
      text += open;
    EXPECT_NE(errorOf(text + "i").message.find("nested deeper than 200"), std::string::npos) << open;
  }
  std::string fine(150, '(');
  EXPECT_EQ(print(read(fine + "i" + std::string(150, ')'))), "i");
}

TEST(SubscriptText, HugeInputIsReadInLinearTime) {
  std::string sum = "i", list = "max(i", spaces(10 << 20, ' '), digits(10 << 20, '1');
  while (sum.size() < (10 << 20))
    sum += " + i*3";
  while (list.size() < (10 << 20))
    list += ", 1";
  std::clock_t start = std::clock(); // of this process, whatever else the machine does
  errorOf(sum);
  EXPECT_FALSE(parse(digits));
  EXPECT_TRUE(parse(spaces + "i" + spaces));
  errorOf(list + ")");
  EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 60); // also with sanitizers; quadratic would take hours
}

TEST(SubscriptValue, FloorDivisionAndModulo) {
  EXPECT_EQ(valueOf("j floordiv n"), -3); // -7 / 3 towards minus infinity
  EXPECT_EQ(valueOf("j mod n"), 2);
  EXPECT_EQ(valueOf("i floordiv 5"), 1);
  EXPECT_EQ(valueOf("clamp(j, -2, 2)"), -2);
  EXPECT_EQ(valueOf("abs(j)"), 7);
  EXPECT_EQ(valueOf("select(j <= i, 1, 2)"), 1);
}

TEST(SubscriptValue, FailuresAreNothing) {
  EXPECT_FALSE(evaluate(read("q"), kPoint));
  EXPECT_FALSE(evaluate(read("i floordiv (n - 3)"), kPoint));
  EXPECT_FALSE(evaluate(read("i mod (-n)"), kPoint));
  EXPECT_FALSE(evaluate(read("9223372036854775807 + i"), kPoint));
  EXPECT_FALSE(evaluate(read("4611686018427387904 * i"), kPoint));
  EXPECT_FALSE(evaluate(abs(Expr(INT64_MIN)), {}));
  EXPECT_FALSE(evaluate(read("seg[i]"), kPoint));
  EXPECT_EQ(evaluate(read("select(i == 5, 1, seg[i])"), kPoint), 1);
  EXPECT_EQ(evaluate(read("seg[i] == 1 and i == 4"), kPoint), 0);
}

TEST(SubscriptValue, TablesAndReads) {
  auto values = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{7, 8, 9});
  Expr table = Expr::table(values, read("i - n"));
  EXPECT_EQ(evaluate(table, kPoint), 9);
  EXPECT_FALSE(evaluate(Expr::table(values, read("i")), kPoint));
  EXPECT_FALSE(evaluate(Expr::table(values, read("j")), kPoint));
  EXPECT_EQ(substitute(table, {{"i", 4}}), Expr::table(values, 4 - Expr::symbol("n")));
  auto lookUp = [](const std::string &name, const std::vector<int64_t> &at) -> std::optional<int64_t> {
    return name == "seg" && at.size() == 1 ? std::optional<int64_t>(at[0] * 10) : std::nullopt;
  };
  EXPECT_EQ(evaluate(read("seg[i] + seg[j + 8]"), kPoint, lookUp), 60);
  EXPECT_FALSE(evaluate(read("other[i]"), kPoint, lookUp));
}

TEST(SubscriptCompose, ReplacesAtOnce) {
  Expr swapped = substitute(read("i - j"), {{"i", read("j")}, {"j", read("i")}});
  EXPECT_EQ(swapped, read("j - i"));
  EXPECT_EQ(symbolsOf(read("table[iy, k] + jy floordiv 2")), (std::set<std::string>{"iy", "jy", "k"}));
  EXPECT_EQ(sizeOf(read("i + j*k")), 5u);
}

TEST(SubscriptCompose, SharedSubexpressionsAreVisitedOnce) {
  Expr x = Expr::symbol("x");
  for (int k = 0; k < 60; ++k) // a tree of 2^60 nodes
    x = substitute(Expr::symbol("y") + Expr::symbol("y"), {{"y", x}});
  EXPECT_EQ(evaluate(x, {{"x", 1}}), int64_t(1) << 60);
  EXPECT_FALSE(evaluate(x, {{"x", 8}}));
  EXPECT_EQ(symbolsOf(x), (std::set<std::string>{"x"}));
}

TEST(SubscriptOrder, IsTotal) {
  std::vector<Expr> all = {read("i"),     read("j"),   read("3"),      read("i + j"),
                           read("j + i"), read("i*2"), read("seg[i]"), read("seg[j]")};
  for (const Expr &a : all)
    for (const Expr &b : all)
      EXPECT_EQ((a < b) + (b < a) + (a == b), 1) << print(a) << " and " << print(b);
  EXPECT_EQ(read("i + 2*j"), read("i + 2*j"));
  EXPECT_EQ(read("i + 2*j").hash(), read("i + 2*j").hash());
}
} // namespace
