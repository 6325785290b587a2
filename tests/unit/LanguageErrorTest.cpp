// Tests the errors of the language: one test for each kind of error, and hostile inputs.
#include "LanguageTesting.h"
#include "dialect/Language/Diagnostics.h"

using namespace skewer::testing;

namespace {
/// Returns the messages about a kernel with q, k, v [2, 4, 12, 8] and a table of 23 rows.
std::string errors(const std::string &body) {
  Imported r =
      import("param N = 12, heads = 4, dim = 8\nsize batch\n"
             "kernel test(q, k, v : f32[2, heads, N, dim], table : f32[2*N - 1, dim]) -> f32[2, heads, N, dim] {\n" +
             body + "\n}\n");
  EXPECT_FALSE(r.good) << r.module;
  return r.messages;
}
} // namespace

TEST(LanguageError, ReadingOutsideATable) {
  EXPECT_EQ(errors("x = einsum(\"b h i d, (j - i + N) d -> b h i j\", q, table, j = N)\n"
                   "return einsum(\"bhij,bhjd->bhid\", softmax(x + einsum(\"bhid,bhjd->bhij\", q, k)), v)"),
            "test.attn:4:23: error: table 'table' is read outside its rows\n"
            "x = einsum(\"b h i d, (j - i + N) d -> b h i j\", q, table, j = N)\n"
            "                      ^~~~~~~~~\n"
            "note: j - i + N runs from 1 to 23, but 'table' has rows 0..22; at i = 0, j = 11 it reads row 23\n"
            "note: its values are as many as the rows: j - i + N - 1 runs from 0 to 22\n");
}

TEST(LanguageError, WhatTwoMasksLeaveIsReadByEither) {
  auto kernel = [](const std::string &second) {
    return import("kernel f(q, v : f32[8, 4], table : f32[8]) -> f32[8, 4] {\n"
                  "scores = einsum(\"i d, j d -> i j\", q, q) + table[j - i]\n"
                  "both = softmax(scores where j >= i) + softmax(scores where " +
                  second + ")\nreturn einsum(\"i j, j d -> i d\", both, v) }");
  };
  EXPECT_TRUE(kernel("j > i or j == i").good);
  Imported outside = kernel("j >= i - 1");
  EXPECT_FALSE(outside.good);
  EXPECT_SAYS(outside.messages, "test.attn:2:50: error: table 'table' is read outside its rows");
  EXPECT_SAYS(outside.messages, "at i = 1, j = 0 it reads row -1");
}

TEST(LanguageError, RowsThatAreNeverRead) {
  Imported r = import("kernel f(q : f32[4, 2], t : f32[9, 2]) -> f32[4, 4] { return einsum('i d, (j - i + 3) d -> i "
                      "j', q, t, j = 4) }");
  EXPECT_TRUE(r.good);
  EXPECT_SAYS(r.messages, "note: of rows 0..8 of 't' only 0..6 are ever read");
}

TEST(LanguageError, DiagnosticsAreData) {
  std::string text = "kernel f(q : f32[4]) -> f32[4] {\n\treturn \"\xC3\xA4\" + missing }\n";
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "dir/a b.attn"), llvm::SMLoc());
  std::vector<skewer::language::Diagnostic> said;
  EXPECT_FALSE(skewer::language::importSource(sources, {}, &context,
                                              [&](skewer::language::Diagnostic one) { said.push_back(one); }));
  ASSERT_FALSE(said.empty());
  for (const skewer::language::Diagnostic &one : said) {
    EXPECT_EQ(one.severity == skewer::language::Severity::Note, one.isAttached);
    if (one.isAttached)
      continue;
    EXPECT_EQ(one.file, "dir/a b.attn");
    EXPECT_EQ(one.line, 2u);
    EXPECT_EQ(one.source, " return \"\xC3\xA4\" + missing }") << "a tab is shown as one space";
    EXPECT_GE(one.length, 1u);
    EXPECT_EQ(one.column, one.before + 1 + (one.column > 10)) << "columns are bytes, what is before it characters";
  }
}

TEST(LanguageError, PrintsWhatIsAboutNoFile) {
  using skewer::language::Diagnostic;
  using skewer::language::Severity;
  auto shown = [](const Diagnostic &one) {
    std::string text;
    llvm::raw_string_ostream out(text);
    print(out, one, "tool");
    return text;
  };
  Diagnostic note{Severity::Note, "so it is"};
  EXPECT_EQ(shown({Severity::Error, "no"}), "tool: error: no\n");
  EXPECT_EQ(shown(note), "tool: note: so it is\n");
  note.isAttached = true;
  EXPECT_EQ(shown(note), "note: so it is\n");
  EXPECT_EQ(shown({Severity::Warning, "no", "a.attn"}), "a.attn: warning: no\n");
  EXPECT_EQ(shown({Severity::Remark, "no", "a.attn", 3, 4}), "a.attn:3:4: remark: no\n");
  EXPECT_EQ(shown({Severity::Error, "no", "a.attn", 3, 4, "q + p", 4, 1}), "a.attn:3:4: error: no\nq + p\n    ^\n");
}

TEST(LanguageError, UnknownNames) {
  EXPECT_SAYS(errors("return tabel"), "4:8: error: unknown name 'tabel' (did you mean 'table'?)");
  EXPECT_SAYS(errors("return softmx(q)"), "unknown function or scheme 'softmx' (did you mean 'softmax'?)");
  EXPECT_SAYS(errors("return rel2e(q)"), "(did you mean 'rel2d'?)");
  EXPECT_SAYS(errors("x = einsum(\"b h i d, (j - i + heds) d -> b h i j\", q, table, j = N)\nreturn x"),
              "4:31: error: unknown name 'heds' in an index expression (did you mean 'heads'?)");
  EXPECT_SAYS(errors("return softmax(einsum(\"bhid,bhjd->bhij\", q, k) where jj <= i)"),
              "unknown name 'jj' (did you mean 'j'?)");
  EXPECT_SAYS(errors("return rel1d(q, tabel = table)"), "has no argument 'tabel' (did you mean 'table'?)");
}

TEST(LanguageError, SeveralErrorsInOneRun) {
  std::string messages = errors("a = foo(q)\nb = = 3\nc = bar(k)\nreturn a");
  EXPECT_SAYS(messages, "4:5: error: unknown function or scheme 'foo'");
  EXPECT_SAYS(messages, "5:5: error: expected an expression, found '='");
  EXPECT_SAYS(messages, "6:5: error: unknown function or scheme 'bar'");
}

TEST(LanguageError, Einsum) {
  EXPECT_SAYS(errors("return einsum(q, k)"), "the first argument of 'einsum' is its text");
  EXPECT_SAYS(errors("return einsum(\"bhid\", q)"), "an einsum says its result");
  EXPECT_SAYS(errors("return einsum(\"bhid,bhjd->bhij\", q)"), "the text is about 2 operands, but 1 is given");
  EXPECT_SAYS(errors("return einsum(\"bhid,hjd->bhij\", q, k)"),
              "the text reads 'k' by 3 dimensions, but it is a tensor [2, 4, 12, 8] of 4");
  EXPECT_SAYS(errors("return einsum(\"b h i d, r i -> b h i r\", q, table)"),
              "axis 'i' has size 12 elsewhere, but 8 here");
  EXPECT_SAYS(errors("return einsum(\"b h i d, (z + 1) d -> b h i z\", q, table)[..., :8]"),
              "4:26: error: axis 'z' has no size; no operand has it alone, so give it: z = …");
  EXPECT_SAYS(errors("return einsum(\"b h i d -> b h i d\", q, zz = 3)"), "no axis 'zz' in this text");
  EXPECT_SAYS(errors("return einsum(\"b h (i d -> b h i d\", q)"), "is never closed");
  EXPECT_SAYS(errors("return einsum(\"b h i d, (j - i + len(x)) d -> b h i j\", q, table, j = 3)"),
              "there is no axis 'x'");
}

TEST(LanguageError, Shapes) {
  EXPECT_SAYS(errors("return q + table[:5, :]"), "the shapes");
  EXPECT_SAYS(errors("return table"), "kernel 'test' returns [2, 4, 12, 8], but this is [23, 8]");
  EXPECT_SAYS(errors("return skew(q)"), "[l, 2*l - 1], found [2, 4, 12, 8]");
  EXPECT_SAYS(errors("return reshape(q, [5, 5])"), "768 elements against 25");
  EXPECT_SAYS(errors("return q[:, :, 13:]"), "the dimension has size 12, found 13");
  EXPECT_SAYS(errors("return q[:, :, 5:5]"), "this slice is empty");
  EXPECT_SAYS(errors("return gather(table, i + 12, i = 12, dim = 0)"),
              "at i = 11 it reads row 23, but there are rows 0..22");
  EXPECT_SAYS(errors("return softmax(q where z <= 3)"), "unknown name 'z'");
  EXPECT_SAYS(errors("return rel1d(table, q)"), "argument 'q' is a tensor [b, h, i, d], found a tensor [23, 8]");
  EXPECT_SAYS(errors("return rel1d(q)"), "scheme 'rel1d' needs an argument 'table'");
}

TEST(LanguageError, SchemesSayWhereTheyWereCalled) {
  std::string messages =
      errors("return einsum(\"bhij,bhjd->bhid\", softmax(rel2d(q, table[:3, :], table, map = (3, 4))), v)");
  EXPECT_SAYS(messages, "test.attn:4:42: error: scheme 'rel2d': ");
  EXPECT_SAYS(messages, "built-in rel2d.attn:");
  messages = errors("return einsum(\"bhij,bhjd->bhid\", softmax(rel2d(q, table, table, map = (3, 5))), v)");
  EXPECT_SAYS(messages, "test.attn:4:42: error: scheme 'rel2d': the map has as many places as there are queries");
}

TEST(LanguageError, Declarations) {
  EXPECT_SAYS(errors("q = k\nreturn q"), "'q' has a value already");
  EXPECT_SAYS(errors("x = k"), "expected 'return' before the end of the block");
  EXPECT_SAYS(rejected("param N = 3, N = 4"), "'N' is declared twice");
  EXPECT_SAYS(rejected("kernel f(q : f64[3]) -> f32[3] { return q }"), "unknown element type 'f64'");
  EXPECT_SAYS(rejected("kernel f(q : f32[0]) -> f32[3] { return q }"), "a size is at least 1, but 0 is 0");
  EXPECT_SAYS(rejected("param N = 3\nkernel f(q : f32[N - 5]) -> f32[3] { return q }"), "but N - 5 is -2");
  EXPECT_SAYS(rejected("param N = 3\nkernel f(q : f32[N / 2]) -> f32[3] { return q }"), "found the number 1.5");
  EXPECT_SAYS(rejected("kernel f(q : f32[9000000000000, 9000000000000]) -> f32[3] { return q }"),
              "more than 2^46 elements");
  EXPECT_SAYS(rejected("kernel f(q : f32[99999999999999999999]) -> f32[3] { return q }"), "does not fit 64 bits");
  EXPECT_SAYS(rejected("param N = 9223372036854775807 + 1"), "does not fit 64 bits");
  EXPECT_SAYS(rejected("size b\nkernel f(q : f32[3, b]) -> f32[3] { return q }"), "must come before");
  EXPECT_SAYS(rejected("scheme a(x : [i]) = a(x)\nkernel f(q : f32[3]) -> f32[3] { return a(q) }"),
              "'a' calls itself, which would never end: a -> a");
  std::string levels;
  for (int k = 0; k < 41; ++k)
    levels += "scheme a" + std::to_string(k) + "(x : [i]) = a" + std::to_string(k + 1) + "(x)\n";
  EXPECT_SAYS(rejected(levels + "scheme a41(x : [i]) = x\nkernel f(q : f32[3]) -> f32[3] { return a0(q) }"),
              "more than 40 levels deep");
  EXPECT_SAYS(rejected("kernel f(q : f32[3]) -> f32[3] { return q"), "expected '}'");
}

TEST(LanguageError, VerifiersSpeakWithoutOperations) {
  using skewer::language::withoutOperation;
  EXPECT_EQ(withoutOperation("'attn.attention' op axis 'j' has no size (attention_c2)"), "axis 'j' has no size");
  EXPECT_EQ(withoutOperation("'attn.einsum' op result names the axis 'i' twice (einsum_c4)"),
            "result names the axis 'i' twice");
  EXPECT_EQ(withoutOperation("'arith.addf' op requires the same type for all operands and results"),
            "requires the same type for all operands and results");
  EXPECT_EQ(withoutOperation("missing `LLVMTranslationDialectInterface` registration for dialect for op: math.erf"),
            "an operation is left over that has no machine code");
  EXPECT_EQ(withoutOperation("no GPU kernel can hold 'math.erf'"), std::nullopt);
  EXPECT_EQ(withoutOperation("'j' op"), std::nullopt);
}

TEST(LanguageError, HostileTexts) {
  EXPECT_SAYS(rejected(""), "there is no 'kernel'");
  EXPECT_SAYS(rejected("\n\n# nothing\n"), "there is no 'kernel'");
  EXPECT_SAYS(rejected(std::string("\0\1\2kernel", 9)), "not a text file");
  EXPECT_SAYS(rejected("\x80\x90\xff\xfe"), "is it a text file?");
  EXPECT_SAYS(rejected("param für = 3"),
              "'ü' is not a character of the language; names are made of a to z, digits and '_'");
  EXPECT_SAYS(rejected("param s = \"never closed\n"), "this string is never closed");
  std::string noise;
  for (unsigned k = 0, state = 1; k < 100000; ++k, state = state * 1664525 + 1013904223)
    noise += static_cast<char>(32 + (state >> 16) % 95);
  EXPECT_LT(rejected(noise).size(), 20000u);
}

TEST(LanguageError, DeepAndLongTexts) {
  for (std::string open : {"(", "-", "not ", "exp(", "[", "q[", "2^"}) {
    std::string nested;
    for (int k = 0; k < 200000; ++k)
      nested += open;
    EXPECT_SAYS(rejected("kernel f(q : f32[3]) -> f32[3] { return " + nested + " }"), "nested deeper than 200 levels");
  }
  std::string chain = "q";
  for (int k = 0; k < 200000; ++k)
    chain += " + q";
  EXPECT_SAYS(rejected("kernel f(q : f32[3]) -> f32[3] { return " + chain + " }"), "operations in one chain");
  std::string deep, sum;
  for (int k = 0; k < 390; ++k)
    sum += " + x";
  for (std::string name : {"a", "b", "c"})
    deep += "scheme " + name + "(x : [i]) = " + static_cast<char>(name[0] + 1) + "(x)" + sum + "\n";
  EXPECT_SAYS(rejected(deep + "scheme d(x : [i]) = x\nkernel f(q : f32[3]) -> f32[3] { return a(q) }"),
              "nested deeper than 600 levels");
  std::string postfix = "q";
  for (int k = 0; k < 200000; ++k)
    postfix += "[0]";
  EXPECT_SAYS(rejected("kernel f(q : f32[3]) -> f32[3] { return " + postfix + " }"), "operations in one chain");
  std::string line(10 << 20, 'x');
  std::string messages = rejected("kernel f(q : f32[3]) -> f32[3] { return " + line + " }");
  EXPECT_LT(messages.size(), size_t(32) << 20);
  messages = rejected(std::string(10 << 20, '?'));
  EXPECT_LT(messages.size(), 2000u);
}
