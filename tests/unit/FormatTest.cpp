// Tests the layout of texts: its look, that it is stable, and that it keeps the meaning of every text of the tree.
#include "dialect/Language/Format.h"
#include "LanguageTesting.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <random>

using namespace skewer::testing;
using skewer::language::formatted;

namespace {

std::optional<std::string> layOut(llvm::StringRef text, std::string *messages = nullptr) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
  std::string said;
  llvm::raw_string_ostream out(said);
  auto result = formatted(sources, skewer::language::printingTo(out));
  if (messages)
    *messages = said;
  return result;
}

/// Returns the text laid out; checks that the layout is stable.
std::string laidOut(llvm::StringRef text) {
  std::string messages;
  auto once = layOut(text, &messages);
  EXPECT_TRUE(once) << messages;
  if (!once)
    return "";
  EXPECT_EQ(layOut(*once).value_or("refused"), *once);
  return *once;
}

/// Returns every .attn file below a folder of the tree.
std::vector<std::string> specsBelow(const char *folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::string root = std::string(SKEWER_SOURCE_DIR "/") + folder;
  for (llvm::sys::fs::recursive_directory_iterator it(root, error), end; it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".attn"))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(Format, SpacesStandAroundOperatorsAsWritten) {
  EXPECT_EQ(laidOut("param N=4 ,M  = 2*N-1,K=N * M;param a = -1,b = ( 2+-3 )*4, c=2 ^ -0.5\n"),
            "param N = 4, M = 2*N-1, K = N * M; param a = -1, b = (2+-3)*4, c = 2^-0.5\n");
  EXPECT_EQ(laidOut("scheme f( x:[ b,h ] ,window=4)=x [b , h+ 1] [ : ,1 :,::2, 0]*( not(b<2)and h>=3 )"),
            "scheme f(x : [b, h], window = 4) = x[b, h + 1][:, 1:, ::2, 0]*(not (b < 2) and h >= 3)\n");
  EXPECT_EQ(
      laidOut("kernel k(const x:i32[4]in 0 .. 31,w : f32[4]~1+0.1)->f32[4]{return x[...,None]if(w>0)else[1,2]}\n"),
      "kernel k(const x : i32[4] in 0..31, w : f32[4] ~ 1+0.1) -> f32[4] { return x[..., None] if (w > 0) else [1, 2] "
      "}\n");
}

TEST(Format, LinesStayAndAreIndentedByWhatIsOpen) {
  EXPECT_EQ(laidOut("kernel k(q, k  : f32[4],\n table: f32[8])\n-> f32[4] {\n\n\nx = einsum(\"i -> i\",\n q)\n"
                    "     longer = x +\nk\n  return f(\n  x,\n longer\n)\n\n}\n\n\n\nparam N = 2,\nM = 3\n\n"),
            "kernel k(q, k  : f32[4],\n"
            "         table : f32[8])\n"
            "    -> f32[4] {\n"
            "  x      = einsum(\"i -> i\",\n"
            "                  q)\n"
            "  longer = x +\n"
            "    k\n"
            "  return f(\n"
            "    x,\n"
            "    longer\n"
            "  )\n"
            "}\n"
            "\n"
            "param N = 2,\n"
            "  M = 3\n");
}

TEST(Format, ColonsStandInOneColumnWhereTheAuthorBegan) {
  EXPECT_EQ(laidOut("kernel k(q, k, v : f32[4],\n const table: f32[8]) -> f32[4] { return q }"),
            "kernel k(q, k, v : f32[4],\n         const table : f32[8]) -> f32[4] { return q }\n");
  EXPECT_EQ(
      laidOut("kernel k(q, k, v  : f32[4],\n const table: f32[8]) -> f32[4] { return q }\nscheme s(x : [a])=x"),
      "kernel k(q, k, v     : f32[4],\n         const table : f32[8]) -> f32[4] { return q }\nscheme s(x : [a]) = x\n");
}

TEST(Format, AColonMayBeginALine) {
  EXPECT_EQ(laidOut("kernel k(q  : f32[4], ls\n: f32[8],\nt   : f32[2]) -> f32[4] { return q }"),
            "kernel k(q : f32[4], ls\n         : f32[8],\n         t : f32[2]) -> f32[4] { return q }\n");
}

/// Badly typed texts are refused, or laid out with the same tokens; the layout is stable.
TEST(Format, TornTextsAreLaidOutOrRefused) {
  const char *pieces[] = {"",  "(",  ")",       "{", "}",  "\n", " ", "#", "\"", "+",
                          "-", "..", "~ 1 + 2", ";", "\t", "in", "[", "]", ":",  "="};
  std::mt19937 random(7);
  std::vector<std::string> texts;
  for (const std::string &path : specsBelow("examples"))
    texts.push_back(fileText(path));
  ASSERT_GT(texts.size(), 10u);
  size_t done = 0;
  for (int n = 0; n < 500; ++n) {
    std::string text = texts[random() % texts.size()];
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size();
      text.replace(at, std::min<size_t>(random() % 4, text.size() - at), pieces[random() % std::size(pieces)]);
    }
    auto once = layOut(text);
    if (!once)
      continue;
    ++done;
    ASSERT_EQ(layOut(*once).value_or("refused"), *once) << text;
  }
  EXPECT_GT(done, 50u);
}

TEST(Format, CommentsStayWhereTheyAre) {
  EXPECT_EQ(
      laidOut("#  one\n\n#two \nparam N = 4# three\nparam longer = 5 # four\nkernel k(x : f32[N]) -> f32[N] {# five\n"
              "# six\n y = x # \"seven\"\n return y }\n# eight"),
      "#  one\n\n#two\nparam N = 4                       # three\nparam longer = 5                  # four\n"
      "kernel k(x : f32[N]) -> f32[N] {  # five\n  # six\n  y = x  # \"seven\"\n  return y }\n# eight\n");
}

TEST(Format, EndsOfLinesOfOtherSystemsAndMarksGo) {
  EXPECT_EQ(laidOut("\xEF\xBB\xBF# comment\r\nparam N = 4\t\r\n\r\n\r\nparam M = 5"),
            "# comment\nparam N = 4\n\nparam M = 5\n");
  EXPECT_EQ(laidOut("# nothing else"), "# nothing else\n");
}

TEST(Format, EqualsSignsOfNeighboursStandBelowEachOther) {
  EXPECT_EQ(
      laidOut("scheme f(x) {\n(a, b, c) = x\nd = a\n\nlonger = b\ne = c\nreturn d\nf = longer\n}\n"
              "scheme g(y) {\na = f(y, map = (1, 2)); bb = 3\nccc = a\nreturn ccc\n}"),
      "scheme f(x) {\n  (a, b, c) = x\n  d         = a\n\n  longer = b\n  e      = c\n  return d\n  f = longer\n}\n"
      "scheme g(y) {\n  a   = f(y, map = (1, 2)); bb = 3\n  ccc = a\n  return ccc\n}\n");
}

TEST(Format, TextsWithErrorsAreRefused) {
  std::string messages;
  EXPECT_FALSE(layOut("kernel f(x : f32[4]) -> f32[4] { return x + }", &messages));
  EXPECT_SAYS(messages, "test.attn:1:45: error: expected an expression");
  EXPECT_FALSE(layOut("param s = \"never closed", &messages));
  EXPECT_SAYS(messages, "this string is never closed");
}

/// Returns the pieces of a file of tests, which lines separate.
std::vector<std::string> textsOf(const std::string &path) {
  std::vector<std::string> texts;
  llvm::SmallVector<llvm::StringRef> parts;
  std::string all = fileText(path);
  llvm::StringRef(all).split(parts, "# -----\n");
  for (llvm::StringRef part : parts)
    texts.push_back(part.str());
  return texts;
}

TEST(Format, EveryTextOfTheTreeMeansTheSameAndStaysStable) {
  size_t compiled = 0, tried = 0;
  for (const char *folder : {"examples", "docs", "dialect/Schemes", "tests"})
    for (const std::string &path : specsBelow(folder))
      for (const std::string &text : textsOf(path)) {
        SCOPED_TRACE(path);
        auto once = layOut(text);
        if (!once)
          continue; // a text of the tests of messages, with errors of grammar
        ++tried;
        EXPECT_EQ(layOut(*once).value_or("refused"), *once);
        Imported before = import(text);
        if (!before.good)
          continue;
        ++compiled;
        EXPECT_EQ(import(*once).module, before.module);
      }
  EXPECT_GT(compiled, 200u);
  EXPECT_GT(tried, compiled);
}

} // namespace
