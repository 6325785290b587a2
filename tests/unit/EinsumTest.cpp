// Tests einsum texts: parsing, sizes, and the errors of wrong ones.
#include "dialect/Subscript/Einsum.h"
#include <gtest/gtest.h>

using namespace skewer::subscript;

namespace {
using Names = std::vector<std::string>;

Einsum read(std::string_view text) {
  auto spec = parseEinsum(text);
  EXPECT_TRUE(spec) << text << ": " << spec.error().message << " at " << spec.error().position;
  return spec.value_or(Einsum());
}
ParseError errorOf(std::string_view text) {
  auto spec = parseEinsum(text);
  EXPECT_FALSE(spec) << text;
  EXPECT_FALSE(spec.error().message.empty()) << text;
  return spec.error();
}

TEST(Einsum, PrintsAsRead) {
  for (const char *text : {"b h i d, b h j d -> b h i j", "b h (iy ix) d, (jy - iy + 13) d -> b h (iy ix) (jy jx)",
                           "b h i d, (j - i + 13) d", "b h i d, (clamp(j - i, -64, 8) + 64) d -> b h i j",
                           "b 1 d -> b d", "h, (seg[i, 0]) h -> h i", "-> i j", "i ->", ""})
    EXPECT_EQ(print(read(text)), text);
  EXPECT_EQ(print(read("b h i d,b h j d->b h i j")), "b h i d, b h j d -> b h i j");
  EXPECT_EQ(print(read("b (h) (j + 0) ()")), "b h j 1");
}

TEST(Einsum, CompactWordsAreLetters) {
  EXPECT_EQ(print(read("bhid,bhjd->bhij")), "b h i d, b h j d -> b h i j");
  EXPECT_EQ(print(read("bhid , jd -> bhij")), "b h i d, j d -> b h i j");
  EXPECT_EQ(read("bhid,bhjd->bhij").operands[1][2].begin, 7u);
  EXPECT_EQ(print(read("b iy, iy -> b iy")), "b iy, iy -> b iy"); // one operand has several words
  EXPECT_EQ(print(read("d, d -> d")), "d, d -> d");
  EXPECT_EQ(print(read("dim0 -> dim0")), "dim0 -> dim0");
}

TEST(Einsum, AWordThatIsOneAxisStaysOne) {
  // A term of a map's rows alone: "iy" alone would be read as i and y.
  for (const char *text : {"(iy)", "(iy), (jx)", "(iy) -> (iy)", "i, (jx) ->"}) {
    auto spec = parseEinsum(text);
    ASSERT_TRUE(spec) << text;
    auto again = parseEinsum(print(*spec));
    ASSERT_TRUE(again) << print(*spec);
    EXPECT_EQ(again->axes(), spec->axes()) << print(*spec);
  }
  EXPECT_EQ(print(*parseEinsum("(iy) d -> (iy)")), "iy d -> iy") << "nothing here is a compact word";
}

TEST(Einsum, Axes) {
  Einsum spec = read("b h (iy ix) d, (jy - iy + 13) d -> b h (iy ix) (jy jx)");
  EXPECT_EQ(spec.axes(), (Names{"b", "h", "iy", "ix", "d", "jy", "jx"}));
  EXPECT_EQ(spec.contracted(), (Names{"d"}));
  EXPECT_EQ(read("b i d, b j d").contracted(), (Names{"b", "i", "d", "j"}));
  EXPECT_TRUE(spec.operands[0][2].isProduct());
  EXPECT_FALSE(spec.operands[0][2].isAxis());
  EXPECT_FALSE(spec.operands[1][0].isProduct());
  EXPECT_EQ(print(spec.operands[1][0].index), "jy - iy + 13");
  EXPECT_EQ(spec.operands[1][0].begin, 15u);
  EXPECT_EQ(spec.operands[1][0].end, 29u);
}

TEST(Einsum, Errors) {
  EXPECT_EQ(errorOf("b h (iy ix d").position, 4u);
  EXPECT_EQ(errorOf("b h) d").position, 3u);
  EXPECT_EQ(errorOf("b i -> b -> i").position, 9u);
  EXPECT_EQ(errorOf("b i -> b, i").position, 8u);
  EXPECT_EQ(errorOf("b i 3").position, 4u);
  EXPECT_EQ(errorOf("... i").message, "'...' is not supported; name the axes");
  ParseError index = errorOf("b d, (j - ) d");
  EXPECT_EQ(index.position, 10u);
  EXPECT_EQ(errorOf("b d, (j ? 3) d").position, 8u);
  EXPECT_EQ(errorOf("b + d").position, 2u);
  errorOf("(" + std::string(100000, '(') + "i" + std::string(100000, ')') + ")");
}

TEST(Einsum, SizesFromShapes) {
  Einsum spec = read("b h (iy ix) d, (jy - iy + 13) d -> b h (iy ix) (jy jx)");
  auto sizes = resolveSizes(spec, {{kRuntime, 4, 196, 128}, {27, 128}}, {{"ix", 14}, {"jy", 14}, {"jx", 14}});
  ASSERT_TRUE(sizes) << sizes.error().message;
  EXPECT_EQ(*sizes, (AxisSizes{{"b", kRuntime}, {"d", 128}, {"h", 4}, {"ix", 14}, {"iy", 14}, {"jx", 14}, {"jy", 14}}));
  EXPECT_EQ(domainOf(*sizes).at("iy"), (Range{0, 13}));
  EXPECT_EQ(domainOf(*sizes).count("b"), 0u);
  EXPECT_EQ(print(flatIndex(spec.operands[0][2], *sizes)), "iy*14 + ix");
  EXPECT_EQ(print(flatIndex(spec.operands[1][0], *sizes)), "jy - iy + 13");
  EXPECT_EQ(print(flatIndex(read("1 d").operands[0][0], *sizes)), "0");
  EXPECT_EQ(print(flatIndex(read("(h b) d").operands[0][0], *sizes)), "h*size_b + b");
}

TEST(Einsum, SizesFromLaterOperands) {
  // The product can be divided only after the second operand has told ix.
  auto sizes = resolveSizes(read("(iy ix) d, ix d -> iy"), {{196, 8}, {7, 8}}, {});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->at("iy"), 28);
  // A size known at compile time wins over a run-time one.
  sizes = resolveSizes(read("i d, i d -> i"), {{kRuntime, 8}, {196, kRuntime}}, {});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(*sizes, (AxisSizes{{"d", 8}, {"i", 196}}));
  sizes = resolveSizes(read("(n k) -> n k"), {{kRuntime}}, {{"k", 4}});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->at("n"), kRuntime);
}

TEST(Einsum, SizeErrors) {
  ParseError error;
  auto message = [&](std::string_view text, std::vector<std::vector<int64_t>> shapes, AxisSizes given = {}) {
    auto sizes = resolveSizes(read(text), shapes, given);
    EXPECT_FALSE(sizes) << text;
    error = sizes.error();
    return error.message;
  };
  EXPECT_EQ(message("b i d, b j d -> i j", {{1, 2, 8}, {1, 3, 9}}), "axis 'd' has size 8 elsewhere, but 9 here");
  EXPECT_EQ(error.position, 11u);
  EXPECT_EQ(message("(iy ix) d -> iy", {{195, 8}}, {{"ix", 14}}),
            "a dimension of size 195 is not a multiple of 14, the size of the other axes");
  EXPECT_EQ(message("(iy ix) d -> iy", {{196, 8}}, {{"ix", 14}, {"iy", 13}}),
            "the axes of this product make 182, but the dimension has size 196");
  EXPECT_NE(message("(iy ix) d -> iy", {{196, 8}}).find("axis 'iy' has no size"), std::string::npos);
  EXPECT_NE(message("b d, (j - i + 3) d -> i j", {{2, 8}, {7, 8}}, {{"i", 4}}).find("axis 'j' has no size"),
            std::string::npos);
  EXPECT_EQ(error.position, 5u);
  EXPECT_EQ(message("b d", {{2, 8, 3}}), "operand 1 has 3 dimensions, the einsum gives it 2");
  EXPECT_EQ(message("b d, b", {{2, 8}}), "the einsum has 2 operands, got 1");
  EXPECT_EQ(message("(i j) -> i j", {{6}}, {{"i", 0}}),
            "a dimension of size 6 is not a multiple of 0, the size of the other axes");
}

TEST(Einsum, PlainDimensions) {
  auto list = parseDimensions("b h (iy ix) j");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(print(*list), "b h (iy ix) j");
  EXPECT_EQ(parseDimensions("jx")->size(), 1u); // a lone word is an axis
  auto wrong = parseDimensions("b, h");
  EXPECT_FALSE(wrong);
  EXPECT_EQ(wrong.error().position, 1u);
}
} // namespace
