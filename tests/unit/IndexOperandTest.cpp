// Tests run-time index operands: the proofs about their elements, the operations that the language emits for them, and
// its messages.
#include "LanguageTesting.h"
#include "dialect/Subscript/Analysis.h"

using namespace skewer::testing;

namespace skewer::subscript {
namespace {
Expr e(const char *text) {
  auto parsed = skewer::subscript::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error().message;
  return parsed.value_or(Expr());
}
const Domain kDomain = {{"i", {0, 9}}, {"j", {0, 9}}, {elementsOf("seg"), {0, 3}}, {elementsOf("bucket"), {-2, 31}}};

/// Compiles a kernel with q, k, v [batch, 2, 12, 8], `table` of four rows, and index operands.
Imported kernel(const std::string &term) {
  return import("param N = 12\nsize batch, other\n"
                "kernel test(q, k, v : f32[batch, 2, N, 8], table : f32[4, 8], seg : i32[batch, N] in 0..3,\n"
                "            wide : i32[N] in 0..5, loose : i32[N], many : i32[other]) -> f32[batch, 2, N, 8] {\n"
                "content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n" +
                term + "\nreturn einsum(\"b h i j, b h j d -> b h i d\", softmax(content + x), v)\n}\n");
}
std::string said(const std::string &term) {
  Imported r = kernel(term);
  EXPECT_FALSE(r.good) << term << r.module;
  return r.messages;
}
std::string declared(const std::string &operand) {
  Imported r = import("param N = 4\nkernel f(x : f32[N], a : " + operand + ") -> f32[N] { return x }");
  EXPECT_FALSE(r.good) << operand;
  return r.messages;
}
} // namespace

TEST(IndexOperand, NamesAndSymbols) {
  EXPECT_EQ(readsOf(e("seg[b, i] + doc[order[j]]")), (std::set<std::string>{"seg", "doc", "order"}));
  EXPECT_EQ(readsOf(e("i + j")), std::set<std::string>());
  EXPECT_EQ(symbolsOutsideReads(e("seg[b, i] + j")), std::set<std::string>{"j"});
  EXPECT_EQ(symbolsOutsideReads(e("b")), std::set<std::string>{"b"});
  EXPECT_EQ(readNodes(e("doc[order[j]]")).size(), 2u);
}

TEST(IndexOperand, BoundsFollowFromRanges) {
  auto bounds = bound(e("seg[b, i] * 4 + seg[b, j]"), kDomain);
  ASSERT_TRUE(bounds);
  EXPECT_EQ(bounds->range, (Range{0, 15}));
  bounds = bound(e("seg[b, i] != seg[b, j]"), kDomain);
  ASSERT_TRUE(bounds);
  EXPECT_EQ(bounds->range, (Range{0, 1}));
  EXPECT_FALSE(bound(e("doc[i]"), kDomain)); // of no range
  EXPECT_EQ(proveWithin(e("clamp(seg[b, i] - seg[b, j], -2, 2) + 2"), {0, 4}, kDomain).outcome, Proof::Proven);
  EXPECT_EQ(proveWithin(e("clamp(doc[i], 0, 2)"), {0, 2}, kDomain).outcome, Proof::Proven);
  EXPECT_EQ(proveWithin(e("doc[i]"), {0, 2}, kDomain).outcome, Proof::Unknown);
  // Different spellings of one element are one number.
  EXPECT_EQ(proveWithin(e("seg[b, i + j] - seg[b, j + i]"), {0, 0}, kDomain).outcome, Proof::Proven);
  EXPECT_EQ(proveWithin(e("bucket[j - i]"), {-2, 31}, kDomain, e("seg[b, i] == seg[b, j]")).outcome, Proof::Proven);
}

TEST(IndexOperand, ARefutationNamesTheElement) {
  Proof proof = proveWithin(e("seg[b, i] + 1"), {0, 3}, kDomain);
  ASSERT_EQ(proof.outcome, Proof::Refuted);
  EXPECT_EQ(proof.value, 4);
  EXPECT_EQ(proof.counterexample.at("seg[b, i]"), 3);
  ASSERT_TRUE(proof.range);
  EXPECT_EQ(*proof.range, (Range{1, 4}));
  // Under a guard on the element itself.
  EXPECT_EQ(proveWithin(e("seg[b, i] + 1"), {0, 3}, kDomain, e("seg[b, i] <= 2")).outcome, Proof::Proven);
}

TEST(IndexOperand, MasksGuardsRowsAndNumbers) {
  Imported r =
      kernel("x = einsum(\"b h i d, (seg[b, i] * (j <= i)) d -> b h i j\", q, table) if loose[j] > 3 else 0\n");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "attn.range = array<i64: 0, 3>");
  EXPECT_SAYS(r.module, "indices(loose = %arg6 : tensor<12xi32>, seg = %arg4 : tensor<?x12xi32>)");
  r = kernel("x = -100 * (seg[b, i] != seg[b, j])");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "attn.position \"b i j\" =");
  r = kernel("x = table[seg[b, j], 2] + loose[j]"); // by a value without range, which picks nothing
  ASSERT_TRUE(r.good) << r.messages;
  r = kernel("x = softmax(content where loose[i] == loose[j])");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "where \"loose[");
}

TEST(IndexOperand, FunctionsOfElementsAreTablesOverTheirRanges) {
  // As for positions: a table over the difference, with an entry for each of -3..3.
  Imported r = kernel("x = table[floor(log(abs(seg[b, j] - seg[b, i]) + 1) * 2), 0]");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "][seg[b, j] - seg[b, i] + 3])");
  r = kernel("x = table[floor(log(abs(2*seg[b, i] - 2*seg[b, j]) + 1)), 0]"); // of twice the difference is one of it
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "([1 x 3, 0, 1 x 3][seg[b, j] - seg[b, i] + 3])");
  // Beside positions, along an axis of run-time size that only the element depends on.
  r = kernel("x = table[min(floor(sqrt(abs(seg[b, j] + j - i))), 3), 0]");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "[j + seg[b, j] - i + 11]");
  // For two elements that form no difference it is a table over both, also in a condition.
  r = kernel("x = content if floor(sqrt(seg[b, i] * wide[j])) == 1 else 0");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "[6*seg[b, i] + wide[j]]");
}

TEST(IndexOperand, SchemesKnowThemByOtherNames) {
  Imported r = import("scheme segments(q : [b, h, i, d], e : [h, two, d], s : [b, i]) = "
                      "einsum(\"b h i d, h (s[b, i] != s[b, j]) d -> b h i j\", q, e)\n"
                      "size batch\nkernel f(q : f32[batch, 2, 4, 8], e : f32[2, 2, 8], seg : i32[batch, 4] in 0..9) -> "
                      "f32[batch, 2, 4, 4] { return segments(q, e, seg) }");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "h (seg[b, i] != seg[b, j]) d");
}

TEST(IndexOperand, AxesOfOneElementStayAxes) {
  // A fact about N queries holds for one query.
  for (const char *queries : {"1", "5"}) {
    Imported r = import("param N = " + std::string(queries) +
                        ", M = 1\n"
                        "kernel f(q : f32[2, N, 8], k : f32[2, M, 8], a : i32[N], c : i32[M]) -> f32[2, N, M] {\n"
                        "content = einsum(\"h i d, h j d -> h i j\", q, k)\n"
                        "x = a[i] - c[j] if i > 0 and j > 0 else 0\nreturn content + x }");
    EXPECT_TRUE(r.good) << r.messages;
  }
}

TEST(IndexOperand, UnderAConditionOnly) {
  std::string declarations =
      "param N = 12\nkernel f(q : f32[N, 8], near : i32[9] in 0..3, t : f32[4, 8]) -> f32[N, N] {";
  EXPECT_TRUE(
      import(declarations + "return einsum(\"i d, (near[j - i + 4]) d -> i j\", q, t) if abs(j - i) <= 4 else 0 }")
          .good);
  EXPECT_TRUE(import(declarations + "x = einsum(\"i d, j d -> i j\", q, q)\nreturn softmax(x where abs(j - i) <= 4 and "
                                    "near[j - i + 4] > 0) }")
                  .good);
  Imported r =
      import(declarations + "return einsum(\"i d, (near[j - i + 4]) d -> i j\", q, t) if abs(j - i) <= 5 else 0 }");
  EXPECT_FALSE(r.good);
  EXPECT_SAYS(r.messages, "2:97: error: index operand 'near' is read outside its elements");
  EXPECT_SAYS(r.messages, "note: dimension 1 has elements 0..8, and j - i + 4 may be 9");
}

TEST(IndexOperandError, Rows) {
  EXPECT_SAYS(said("x = einsum(\"b h i d, (wide[i]) d -> b h i j\", q, table, j = N)"),
              "6:23: error: table 'table' is read outside its rows");
  EXPECT_SAYS(said("x = einsum(\"b h i d, (wide[i]) d -> b h i j\", q, table, j = N)"),
              "wide[i] runs from 0 to 5, but 'table' has rows 0..3; at wide[i] = 5 it reads row 5");
  std::string missing = said("x = einsum(\"b h i d, (loose[i]) d -> b h i j\", q, table, j = N)");
  EXPECT_SAYS(missing, "error: cannot prove that this stays inside rows 0..3 of 'table'");
  EXPECT_SAYS(missing, "declare their range: loose : i32[12] in low..high");
  EXPECT_SAYS(said("x = table[loose[j], 1]"), "declare their range: loose : i32[12] in low..high");
}

TEST(IndexOperandError, Reads) {
  EXPECT_SAYS(said("x = -1 * (sge[b, i] != 0)"), "unknown name 'sge' (did you mean 'seg'?)");
  EXPECT_SAYS(said("x = einsum(\"b h i d, (sge[b, i]) d -> b h i j\", q, table, j = N)"),
              "'sge[…]' in an index expression is an element of a list or of an index operand, found none of this name "
              "(did you mean 'seg'?)");
  EXPECT_SAYS(said("x = -1 * (seg[i] != 0)"), "index operand 'seg' has 2 dimensions, found 1 index");
  EXPECT_SAYS(said("x = einsum(\"b h i d, (seg[i]) d -> b h i j\", q, table, j = N)"),
              "index operand 'seg' has 2 dimensions, found 1 index");
  EXPECT_SAYS(said("x = -1 * (seg[h, i] != 0)"), "dimension 1 of index operand 'seg' has the run-time size 'batch'");
  EXPECT_SAYS(said("x = -1 * (many[b] != 0)"), "dimension 1 of index operand 'many' has the run-time size 'other'");
  EXPECT_SAYS(said("x = -1 * (loose[i + 1] != 0)"), "index operand 'loose' is read outside its elements");
  EXPECT_SAYS(said("x = -1 * (loose[1:] != 0)"), "index operand 'loose' is read element by element: loose[i]");
  EXPECT_SAYS(said("x = exp(table[floor(log(loose[i] + 1)), 0])"), "reads the index operand 'loose'");
}

TEST(IndexOperandError, FunctionsOfElements) {
  std::string message = said("x = table[floor(log(abs(loose[j] - loose[i]) + 1)), 0]");
  EXPECT_SAYS(message, "this function is computed at compile time and reads the index operand 'loose'");
  EXPECT_SAYS(message, "where the values of 'loose' have a range, it is a table over them: loose : i32[12] in low..high");
  EXPECT_SAYS(said("x = table[floor(log(seg[b, j])), 0]"),
              "this function of positions has no value at seg[b, j] = 0, it is too large for an index");
  EXPECT_SAYS(said("x = table[floor(log(wide[j] + 1) * 3), 0]"), "table 'table' is read outside its rows");
  message = said("x = table[floor(sqrt(i * wide[i] + j * wide[j]) * 0) + floor(sqrt(b)), 0]");
  EXPECT_SAYS(message, "a function of the position along 'b' needs a size known at compile time");
}

TEST(IndexOperandError, AsATensor) {
  EXPECT_SAYS(said("x = content * seg"), "found the index operand 'seg' [batch, 12]");
  EXPECT_SAYS(said("x = einsum(\"b i, b h i j -> b h i j\", seg, content)"),
              "argument 2 of 'einsum' is a tensor, found the index operand 'seg' [batch, 12]");
  EXPECT_SAYS(said("x = softmax(seg)"), "'softmax' takes a tensor, found the index operand 'seg' [batch, 12]");
  EXPECT_SAYS(said("x = einsum(\"b h i d, (seg + 1) d -> b h i j\", q, table, j = N)"),
              "'seg' in an index expression is a whole number or an axis, found the index operand 'seg' [batch, 12]");
}

TEST(Deviation, IsANumberOfParamsAndHoldsForTheGroup) {
  Imported r = import("param c = 64\nkernel f(x, y : f16[c] ~ c^-0.5, z : f32[c]) -> f32[c] { return x + y * z }");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "tensor<64xf16> {attn.deviation = 1.250000e-01 : f64, attn.name = \"x\", attn.shape = [64]}");
  EXPECT_SAYS(r.module, "tensor<64xf16> {attn.deviation = 1.250000e-01 : f64, attn.name = \"y\", attn.shape = [64]}");
  EXPECT_SAYS(r.module, "tensor<64xf32> {attn.name = \"z\", attn.shape = [64]}");
}

TEST(Deviation, MayStandAroundAMeanOrBeUniform) {
  Imported r = import("param c = 64, low = 0.5\nkernel f(x : f32[c] ~ -2 + c^-0.5, y : f32[c] ~ low..3*c, z : f32[c] ~ (1 + 1)) "
                      "-> f32[c] { return x + y * z }");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_SAYS(r.module, "{attn.deviation = 1.250000e-01 : f64, attn.mean = -2.000000e+00 : f64, attn.name = \"x\"");
  EXPECT_SAYS(r.module, "{attn.between = array<f64: 5.000000e-01, 1.920000e+02>, attn.name = \"y\"");
  EXPECT_SAYS(r.module, "{attn.deviation = 2.000000e+00 : f64, attn.name = \"z\""); // one number, in parentheses
}

TEST(DeviationError, Declarations) {
  EXPECT_SAYS(declared("f32[N] ~ 1 + 0"), "the standard deviation of 'a' is a positive number, found");
  EXPECT_SAYS(declared("f32[N] ~ inf + 1"), "a mean is a finite number, found");
  EXPECT_SAYS(declared("f32[N] ~ 1 +"), "expected an expression");
  EXPECT_SAYS(declared("f32[N] ~ 3..1"), "the range of 'a' is empty: its least value is above its largest");
  EXPECT_SAYS(declared("f32[N] ~ 3..inf"), "the largest value is a finite number, found");
  EXPECT_SAYS(declared("f32[N] ~ (1, 2)..3"), "the least value is a number known at compile time, found");
  EXPECT_SAYS(declared("i8[N] ~ 1..2"), "an operand of i8 has no range of real numbers; 'a' is filled with whole numbers");
  EXPECT_SAYS(declared("i32[N] ~ 1 + 2"), "an index operand has no mean; 'a' is of i32, whose values may have a range");
  EXPECT_SAYS(declared("f32[N] ~ 0"), "the standard deviation of 'a' is a positive number, found");
  EXPECT_SAYS(declared("f32[N] ~ -N"), "the standard deviation of 'a' is a positive number, found");
  EXPECT_SAYS(declared("f32[N] ~ 10^400"), "the result is not a finite number");
  EXPECT_SAYS(declared("f32[N] ~ (1, 2)"), "a standard deviation is a number known at compile time, found");
  EXPECT_SAYS(declared("f32[N] ~ unknown"), "unknown name 'unknown'");
  EXPECT_SAYS(declared("f32[N] ~"), "expected");
  EXPECT_SAYS(declared("i32[N] in 0..3 ~ 2"), "an index operand has no standard deviation; 'a' is of i32");
  EXPECT_SAYS(rejected("kernel f(x : f32[4]) -> f32[4] ~ 1..2 { return x }"),
              "a kernel's result is of f32, f16 or bf16, and has no range and no standard deviation");
  Imported r = import("kernel f(x : f32[4]) -> f32[4] ~ 2 { return x }");
  EXPECT_FALSE(r.good);
  EXPECT_SAYS(r.messages, "a kernel's result is of f32, f16 or bf16, and has no range and no standard deviation");
}

TEST(IndexOperandError, Declarations) {
  EXPECT_SAYS(declared("i32[N] in 3..1"), "the range of 'a', 3..1, is empty");
  EXPECT_SAYS(declared("i32[N] in 0..2^31"), "has values that do not fit i32");
  EXPECT_SAYS(declared("i32[N] in 0"), "expected '..' after the least value of the range");
  EXPECT_SAYS(declared("i32[N] in 0..N/3"), "the end of a range is a whole number");
  EXPECT_SAYS(declared("f32[N] in 0..1"), "only an index operand, of i32, has a range; 'a' is of f32");
  EXPECT_SAYS(declared("i64[N]"), "unknown element type 'i64'");
  Imported r = import("kernel f(x : f32[4]) -> i32[4] { return x }");
  EXPECT_FALSE(r.good);
  EXPECT_SAYS(r.messages, "a kernel's result is of f32, f16 or bf16");
}
} // namespace skewer::subscript
