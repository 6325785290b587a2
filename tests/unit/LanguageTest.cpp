// Tests the einsum form that the language emits, as text.
#include "LanguageTesting.h"
#include "llvm/Support/FileSystem.h"

using namespace skewer::testing;

namespace {
/// Returns a kernel around `body`, with q, k, v [2, 4, 12, 8], a table of 23 rows and a slope for each head.
std::string kernel(const std::string &body) {
  return "param N = 12, heads = 4, dim = 8\n"
         "kernel test(q, k, v : f32[2, heads, N, dim], table : f32[2*N - 1, dim], slope : f32[heads]) -> "
         "f32[2, heads, N, dim] {\n"
         "  content = einsum(\"bhid,bhjd->bhij\", q, k)\n" +
         body + "\n}\n";
}
const char *finish = "\n  return einsum(\"b h i j, b h j d -> b h i d\", softmax(content + x), v)";

std::string files(const std::string &folder, size_t &count) {
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator at(SKEWER_SOURCE_DIR "/" + folder, error), end; at != end && !error;
       at.increment(error)) {
    if (!llvm::StringRef(at->path()).ends_with(".attn"))
      continue;
    ++count;
    Imported imported = import(fileText(at->path()));
    if (!imported.good)
      return at->path() + "\n" + imported.messages;
  }
  return "";
}
} // namespace

TEST(Language, EverySpecificationOfTheTreeCompiles) {
  size_t count = 0;
  for (const char *folder : {"examples", "tests/bench/specs", "tests/e2e/conformance"})
    EXPECT_EQ(files(folder, count), "");
  EXPECT_GE(count, 18u);
}

TEST(Language, EveryExampleOfTheManualCompiles) {
  std::string manual = fileText(SKEWER_SOURCE_DIR "/dialect/LANGUAGE.md");
  size_t count = 0;
  for (size_t at = 0; (at = manual.find("```attn\n", at)) != std::string::npos; ++count) {
    size_t begin = at + 8, end = manual.find("\n```", begin);
    ASSERT_NE(end, std::string::npos);
    Imported r = import(manual.substr(begin, end - begin));
    EXPECT_TRUE(r.good) << manual.substr(begin, end - begin) << "\n" << r.messages;
    at = end;
  }
  EXPECT_GE(count, 8u);
}

TEST(Language, KernelCarriesItsSignature) {
  Imported r = import("param H = 14\nsize batch, unused\n"
                      "kernel f(q : f32[batch, H*H, 2*H - 1], const t : f16[27]) -> f32[batch, H*H, 2*H - 1] "
                      "{ return q + t }");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "tensor<?x196x27xf32> {attn.name = \"q\", attn.shape = [\"batch\", 196, 27]}"));
  EXPECT_TRUE(contains(r.module, "tensor<27xf16> {attn.const, attn.name = \"t\", attn.shape = [27]}"));
  EXPECT_TRUE(contains(r.module, "attributes {attn.kernel, attn.sizes = [\"batch\"]}"));
  EXPECT_TRUE(contains(r.module, "-> (tensor<?x196x27xf32> {attn.shape = [\"batch\", 196, 27]})"));
}

TEST(Language, CommandLineBindsParams) {
  std::string text = "param N, M = 2*N\nkernel f(q : f32[N, M]) -> f32[N, M] { return q * 2 }";
  EXPECT_TRUE(contains(import(text, {{"N", 3}}).module, "tensor<3x6xf32>"));
  EXPECT_TRUE(contains(import(text, {{"N", 3}, {"M", 5}}).module, "tensor<3x5xf32>"));
  EXPECT_TRUE(contains(import(text).messages, "test.attn:1:7: error: param 'N' has no value; give it with -D N=…"));
  EXPECT_TRUE(contains(import(text, {{"N", 3}, {"NN", 5}}).messages, "there is no param 'NN'"));
  EXPECT_TRUE(contains(import(text, {{"N", 2.5}}).messages, "a size is a whole number, found the number 2.5"));
  EXPECT_TRUE(contains(import(text, {{"N", 3}, {"g", 0.5}}).messages, "there is no param 'g' to give the value 0.5 to"));
  EXPECT_TRUE(contains(import(text, {{"N", 3}, {"NN", 5}}).messages, "(did you mean 'N'?)"));
}

TEST(Params, MayBeRealNumbers) {
  std::string text = "param gamma = 0.5, N = 4\nkernel f(q : f32[N]) -> f32[N] { return q * gamma }";
  EXPECT_SAYS(import(text).module, "5.000000e-01");
  EXPECT_SAYS(import(text, {{"gamma", 0.25}}).module, "2.500000e-01");
  EXPECT_SAYS(import(text, {{"gamma", 3}}).module, "3.000000e+00");
  // As in a text: a number with a point is no whole number, and so no size.
  EXPECT_SAYS(import(text, {{"N", 4.0}}).messages, "a size is a whole number, found the number 4");
  EXPECT_EQ(skewer::language::Parameter(0.1).text(), "0.1");
  EXPECT_EQ(skewer::language::Parameter(4.0).text(), "4.0");
  EXPECT_EQ(skewer::language::Parameter(1e-30).text(), "1e-30");
  EXPECT_EQ(skewer::language::Parameter(-7).text(), "-7");
}

TEST(Language, IndexExpressionsHaveParamsReplaced) {
  Imported r = import(kernel(std::string("x = einsum('b h i d, (j - i + N - 1) d -> b h i j', q, table)") + finish));
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "attn.einsum \"b h i d, (j - i + 11) d -> b h i j\" sizes {j = 12 : i64}"));
  EXPECT_TRUE(contains(r.module, "attn.softmax \"b h i j\" over \"j\"("));
}

TEST(Language, LengthsInIndexExpressions) {
  Imported r =
      import(kernel(std::string("x = einsum(\"b h i d, (j - i + len(i) - 1) d -> b h i j\", q, table)") + finish));
  EXPECT_TRUE(contains(r.module, "(j - i + 11) d")) << r.messages;
}

TEST(Language, PartnersShareTheirSizes) {
  Imported r = import(kernel(
      std::string(
          "x = einsum(\"b h (iy ix) d, (jy - iy + 3) d -> b h (iy ix) (jy jx)\", q, table, iy = 3, jy = 3, jx = 4) * 0.5 "
          "if jy <= 10 else 0") +
      finish));
  EXPECT_TRUE(contains(r.module, "sizes {ix = 4 : i64, iy = 3 : i64, jx = 4 : i64, jy = 3 : i64}")) << r.messages;
}

TEST(Language, SchemesAreInlined) {
  std::string inlined = import(kernel(std::string("x = rel1d(q, table)") + finish)).module;
  std::string written =
      import(kernel(std::string("x = einsum(\"b h i d, (j - i + N - 1) d -> b h i j\", q, table)") + finish)).module;
  EXPECT_NE(inlined, "");
  EXPECT_EQ(inlined, written);
}

TEST(Language, OwnSchemesComeBeforeBuiltInOnes) {
  Imported r = import("scheme rel1d(q : [b, h, i, d], table : [r, d]) = einsum(\"b h i d, (i - j + len(i) - 1) d -> b "
                      "h i j\", q, table)\n" +
                      kernel(std::string("x = rel1d(q, table)") + finish));
  EXPECT_TRUE(contains(r.module, "(i - j + 11) d")) << r.messages;
}

TEST(Language, SchemesTakeListsDefaultsAndSizes) {
  Imported r = import(
      "scheme mine(q : [b, h, i, d], table : [r, d], map = (H, W), shift = 2) {\n"
      "  (A, B) = map\n"
      "  return einsum(\"b h i d, (j - i + A*B - map[1] + W - H + H - shift + 1) d -> b h i j\", q, table)\n}\n" +
      kernel(std::string("x = mine(q, table, map = (3, 4), j = N)") + finish));
  EXPECT_TRUE(contains(r.module, "(j - i + 11) d")) << r.messages;
}

TEST(Language, PlacesOfSumsAreCountedFromBothEnds) {
  for (auto [place, left] : {std::pair("-1", "4, 6"), {"0", "6, 8"}, {"-2", "4, 8"}, {"(0, -1)", "6"}}) {
    Imported r = import(std::string("kernel f(x : f32[4, 6, 8]) -> f32[") + left + "] { return sum(x, " + place + ") }");
    EXPECT_TRUE(r.good) << place << "\n" << r.messages;
  }
}

TEST(Language, MaskOfSoftmax) {
  Imported r = import(kernel("return einsum(\"bhij,bhjd->bhid\", softmax(content * dim^-0.5 where j <= i), v)"));
  EXPECT_TRUE(contains(r.module, "over \"j\" where \"j <= i\"")) << r.messages;
  EXPECT_TRUE(contains(r.module, "dense<0.353553385>"));
  std::string keyword =
      import(kernel("return einsum(\"bhij,bhjd->bhid\", softmax(content * dim^-0.5, where = j <= i), v)")).module;
  EXPECT_EQ(r.module, keyword);
  // Several conditions must all hold.
  r = import(kernel("return einsum(\"bhij,bhjd->bhid\", softmax(content where j <= i where j != 3), v)"));
  EXPECT_TRUE(contains(r.module, "where \"j != 3 and j <= i\"")) << r.messages;
}

TEST(Language, ElseZeroIsAGuard) {
  Imported r = import(kernel(
      std::string("x = einsum(\"b h i d, (j - i + 2) d -> b h i j\", q, table) if abs(j - i) <= 2 else 0") + finish));
  EXPECT_TRUE(contains(r.module, "-> b h i j\" where \"abs(i - j) <= 2\"")) << r.messages;
  r = import(kernel(std::string("x = content + 1 if j <= i else 0") + finish));
  EXPECT_TRUE(contains(r.module, "attn.einsum \"b h i j -> b h i j\" where \"j <= i\"")) << r.messages;
}

TEST(Language, MasksMakeReadsLegal) {
  std::string read = "x = einsum(\"b h i d, (j - i + 23 - 1) d -> b h i j\", q, table)\n";
  Imported r = import(kernel(read + "return einsum(\"bhij,bhjd->bhid\", softmax((content + x) * 2 where j <= i), v)"));
  EXPECT_TRUE(contains(r.module, "where \"j <= i\" sizes {j = 12 : i64}")) << r.messages;
  EXPECT_FALSE(import(kernel(read + "return einsum(\"bhij,bhjd->bhid\", softmax((content + x) * 2), v)")).good);
  // Another use, which no mask covers.
  EXPECT_FALSE(
      import(kernel(read + "p = softmax(content + x where j <= i)\nreturn einsum(\"bhij,bhjd->bhid\", p + x, v)"))
          .good);
}

TEST(Language, FunctionsOfPositions) {
  Imported r = import(kernel(std::string("x = alibi(slope)") + finish));
  EXPECT_TRUE(contains(r.module, "attn.position \"i j\" = \"abs(i - j)\"")) << r.messages;
  EXPECT_TRUE(contains(r.module, "attn.rearrange \"x1 x2 x3 -> x0 x1 x2 x3\" sizes {x0 = 2 : i64}")) << "the slopes' axis has no name here";
  r = import(kernel(std::string("x = table[clamp(j - i, -3, 3) + 3, 2]") + finish));
  EXPECT_TRUE(contains(r.module, "attn.einsum \"(clamp(j - i, -3, 3) + 3) (2) -> i j\"")) << r.messages;
}

TEST(Language, PastedSkews) {
  Imported r = import(kernel(std::string("logits = einsum(\"bhid,rd->bhir\", q, table)\n"
                                         "flat = pad(reshape(pad(logits, (0, 1)), [2, heads, -1]), high = [N - 1])\n"
                                         "x = reshape(flat, 2, heads, N + 1, 2*N - 1)[:, :, :N, N-1:]") +
                             finish));
  EXPECT_TRUE(contains(r.module, "attn.pad")) << r.messages;
  EXPECT_TRUE(contains(r.module, "high [0, 0, 11]"));
  EXPECT_TRUE(contains(r.module,
                       "offsets [0, 0, 0, 11] strides [1, 1, 1, 1] : tensor<2x4x13x23xf32> to tensor<2x4x12x12xf32>"));
  r = import(kernel(std::string("x = skew(einsum(\"bhid,rd->bhir\", q, table))") + finish));
  EXPECT_TRUE(contains(r.module, "attn.skew")) << r.messages;
}

TEST(Language, RunTimeSizesAreSplatAtRunTime) {
  Imported r = import("size b\nkernel f(x : f32[b, 3]) -> f32[b, 3] { return x * 2 }");
  EXPECT_TRUE(contains(r.module, "tensor.splat")) << r.messages;
  r = import("size b\nkernel f(x : f32[b, 3], y : f32[3]) -> f32[b, 3] { return x + y }");
  EXPECT_TRUE(contains(r.module, "-> x0 x1\"")) << r.messages;
}

TEST(Language, TensorsAreReadAtPositionsAlongRunTimeSizes) {
  // Only a number depends on b; a line of ones gives the size of b.
  std::string around = "size batch, other\nkernel f(x : f32[batch, 3], m : f32[4, 3], n : i32[batch] in 0..3) -> "
                       "f32[batch, 3] {\nnamed = einsum('b i -> b i', x)\nreturn ";
  Imported r = import(around + "named + m[b % 4, i] }");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "tensor.splat"));
  EXPECT_TRUE(contains(r.module, "attn.einsum \"(b mod 4) i, b -> b i\"(%arg1, ")) << r.module;
  r = import(around + "m[(2*b + i) % 4, i] * named }");
  ASSERT_TRUE(r.good) << r.messages;
  r = import(around + "m[(n[b] + b) % 4, i] * named }"); // an index operand gives it already
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_FALSE(contains(r.module, "tensor.splat")) << r.module;
  r = import(around + "named + m[b, i] }");
  EXPECT_TRUE(contains(r.messages, "4:18: error: axis 'b' has size batch, but this dimension of 'm' has 4")) << r.messages;
}

namespace {
/// Returns the form of `bias`, an index expression or a tensor over i and j, for a map of 24 x 24 tokens and one token
/// before it.
Imported besideToken(const std::string &bias) {
  return import("param W = 24, N = W*W + 1\nsize batch\n"
                "kernel f(x : f32[batch, N, N], t : f32[90]) -> f32[batch, N, N] {\n"
                "named = einsum('b i j -> b i j', x)\n"
                "dy = (j - 1) // W - (i - 1) // W; dx = (j - 1) % W - (i - 1) % W\nreturn named + " +
                bias + "\n}");
}
} // namespace

TEST(Language, FunctionsOfAMapAreTablesOverQuotientsAndRemainders) {
  // 49 x 47 entries, and not 577 x 577, which are too many.
  Imported r = besideToken("t[floor(sqrt(dy*dy + dx*dx))]");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "[47*((j + 23) floordiv 24) + (j + 23) mod 24 - ")) << r.module;
  EXPECT_TRUE(contains(r.module, "mod 24 - 47*(")) << r.module;
  r = besideToken("sqrt(dy*dy + dx*dx)");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "tensor<49x47xf32>") || contains(r.module, "tensor<47x49xf32>")) << r.module;
  EXPECT_FALSE(contains(r.module, "math.sqrt"));
  // For one offset it stays a table over that offset, although its quotient has fewer values.
  r = besideToken("t[floor(sqrt(abs(j - i) // 12))]");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "[j - i + 576]")) << r.module;
}

TEST(Language, FunctionsOfPositionsAreTablesPieceByPiece) {
  Imported r = besideToken("t[select(i == 0 or j == 0, 60, floor(sqrt(dy*dy + dx*dx)))]");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "(select(i == 0 or j == 0, 60, [")) << r.module;
  // The same holds with operations around the selection.
  r = besideToken("t[min(floor(2 * select(i == 0, 0.5, sqrt(dy*dy + dx*dx))) + 1, 80)]");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "(select(i == 0, 2, [")) << r.module;
  r = besideToken("select(i == 0 or j == 0, 0, log(1 + sqrt(dy*dy + dx*dx)))");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_FALSE(contains(r.module, "math.log")) << r.module;
  // A condition may be on a position along a run-time size.
  r = besideToken("t[select(b % 2 == 0, floor(sqrt(j)), 0)]");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "select(b mod 2 == 0, [")) << r.module;
}

TEST(LanguageError, FunctionsOfTooManyPositions) {
  std::string size = "the table of this function would have 332929 entries, at most 262144 are possible";
  EXPECT_TRUE(contains(besideToken("t[floor(sqrt(i * j)) % 90]").messages, size));
  EXPECT_TRUE(contains(besideToken("t[select(i == 0, 0, floor(sqrt(i * j)) % 90)]").messages, size));
  EXPECT_TRUE(contains(besideToken("t[select(i == 0, 0, floor(log(dy*dy + dx*dx)))]").messages,
                       "this function of positions has no value at"));
  std::string runTime = "a function of the position along 'b' needs a size known at compile time";
  EXPECT_TRUE(contains(besideToken("t[floor(sqrt(b))]").messages, runTime));
  EXPECT_TRUE(contains(besideToken("t[select(i == 0, floor(sqrt(b)), 0)]").messages, runTime));
}

TEST(Language, NarrowTypesAreComputedInF32) {
  Imported r = import("kernel f(x : bf16[3, 4]) -> bf16[3, 4] { return x * 2 }");
  EXPECT_TRUE(contains(r.module, "arith.extf")) << r.messages;
  EXPECT_TRUE(contains(r.module, "arith.truncf"));
  r = import("kernel f(x : f16[3, 4], y : f16[4, 5]) -> f16[3, 5] { return einsum('ab,bc->ac', x, y) }");
  EXPECT_TRUE(contains(r.module, "-> tensor<3x5xf16>")) << r.messages;
}

TEST(Language, Arithmetic) {
  std::string values = "param N = (7 // 2) * 2^3 - 14 % 4 + 10 / 5\nkernel f(x : f32[N]) -> f32[N] { return x }";
  EXPECT_TRUE(contains(import(values).module, "tensor<24xf32>")) << import(values).messages;
  Imported r =
      import("kernel f(x : f32[3]) -> f32[3] { return relu(-x^2) + sigmoid(x) / 4 - abs(x) * sqrt(16) + min(x, 1) }");
  for (const char *op :
       {"arith.negf", "arith.maximumf", "math.exp", "arith.divf", "math.absf", "dense<4.000000e+00>", "arith.minimumf"})
    EXPECT_TRUE(contains(r.module, op)) << r.messages;
}
