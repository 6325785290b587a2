// Tests the tokens of the language, and the text of einsums before it is parsed.
#include "dialect/Language/Lexer.h"
#include "dialect/Language/EinsumText.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace skewer::language;
using skewer::subscript::kRuntime;

namespace {
struct Lexed {
  std::vector<Token> tokens; // without the end
  std::string messages;
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const Token &token : tokens)
      all.push_back(token.text.str());
    return all;
  }
};

Lexed lex(const std::string &text) {
  static std::vector<std::unique_ptr<std::string>> kept; // tokens are pieces of the text
  kept.push_back(std::make_unique<std::string>(text));
  llvm::SourceMgr sources;
  auto buffer = llvm::MemoryBuffer::getMemBuffer(*kept.back(), "spec.attn");
  llvm::StringRef whole = buffer->getBuffer();
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  Lexed lexed;
  llvm::raw_string_ostream out(lexed.messages);
  Diagnostics diagnostics(sources, printingTo(out));
  Lexer lexer(whole, diagnostics);
  for (Token token = lexer.next(); token.kind != TokenKind::End; token = lexer.next())
    lexed.tokens.push_back(token);
  return lexed;
}
using Texts = std::vector<std::string>;

TEST(Lexer, LongestSymbolFirst) {
  EXPECT_EQ(lex("a<=b<c**d*e//f/g").texts(),
            (Texts{"a", "<=", "b", "<", "c", "**", "d", "*", "e", "//", "f", "/", "g"}));
  EXPECT_EQ(lex("-> - > == = != ! && ||").texts(), (Texts{"->", "-", ">", "==", "=", "!=", "!", "&&", "||"}));
  EXPECT_EQ(lex("x[..., 1]").texts(), (Texts{"x", "[", "...", ",", "1", "]"}));
}

TEST(Lexer, NumbersAndRanges) {
  EXPECT_EQ(lex("0..31").texts(), (Texts{"0", "..", "31"}));
  EXPECT_EQ(lex("1.5e-3 .5 10e+2").texts(), (Texts{"1.5e-3", ".5", "10e+2"}));
  EXPECT_EQ(lex("2e-x").texts(), (Texts{"2e", "-", "x"})) << "a sign belongs to an exponent of digits only";
  EXPECT_EQ(lex("dim^-0.5").texts(), (Texts{"dim", "^", "-", "0.5"}));
  EXPECT_EQ(lex("0.5-1").texts(), (Texts{"0.5", "-", "1"}));
  for (const Token &token : lex("1 2.5 0..3").tokens)
    if (token.text != "..")
      EXPECT_EQ(token.kind, TokenKind::Number) << token.text.str();
}

TEST(Lexer, CommentsAndLines) {
  Lexed lexed = lex("a # to the end: b\n  c d\n\n# all of it\ne");
  EXPECT_EQ(lexed.texts(), (Texts{"a", "c", "d", "e"}));
  std::vector<bool> first;
  for (const Token &token : lexed.tokens)
    first.push_back(token.newlineBefore);
  EXPECT_EQ(first, (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(lex("a\r\nb\t c").texts(), (Texts{"a", "b", "c"}));
  EXPECT_EQ(lex("\xEF\xBB\xBFparam").texts(), (Texts{"param"})) << "a byte order mark";
  EXPECT_TRUE(lex("# nothing but a comment").tokens.empty());
}

TEST(Lexer, StringsOfBothQuotes) {
  Lexed lexed = lex(R"("b i d" 'b "i" d' "")");
  EXPECT_EQ(lexed.texts(), (Texts{"\"b i d\"", "'b \"i\" d'", "\"\""}));
  for (const Token &token : lexed.tokens)
    EXPECT_EQ(token.kind, TokenKind::String);
}

TEST(Lexer, AnOpenStringIsAnErrorOfItsLine) {
  Lexed lexed = lex("x = \"b i d\ny");
  EXPECT_NE(lexed.messages.find("spec.attn:1:5: error: this string is never closed on its line"), std::string::npos)
      << lexed.messages;
  EXPECT_EQ(lexed.tokens.back().text, "y") << "the next line is read";
}

TEST(Lexer, BytesThatNoTokenBeginsWith) {
  EXPECT_NE(lex("a $ b").messages.find("1:3: error: unexpected character '$'"), std::string::npos);
  Lexed binary = lex(std::string("a \x01\x02\x03 b"));
  EXPECT_NE(binary.messages.find("the byte 0x01 cannot be part of a specification"), std::string::npos)
      << binary.messages;
  EXPECT_EQ(binary.tokens.size(), 3u) << "a run of bad bytes is one error";
}

TEST(Lexer, CharactersThatNobodySeesHaveNames) {
  Lexed inName = lex("a\u200Bb = 1");
  EXPECT_NE(inName.messages.find("1:2: error: U+200B (zero-width space) is not a character of the language; delete it"),
            std::string::npos)
      << inName.messages;
  EXPECT_EQ(inName.texts().back(), "1") << "what follows is read";
  EXPECT_NE(
      lex("a \u00A0 b").messages.find("U+00A0 (no-break space) is not a character of the language; write a space"),
      std::string::npos);
  EXPECT_NE(lex("a\uFEFFb").messages.find("U+FEFF (byte order mark)"), std::string::npos) << "only a text's first";
}

TEST(Lexer, WordsAreNamesWhateverTheyMean) {
  for (const Token &token : lex("kernel softmax _x9 where").tokens)
    EXPECT_EQ(token.kind, TokenKind::Name) << token.text.str();
  EXPECT_TRUE(lex("where").tokens[0].is("where"));
  EXPECT_FALSE(lex("\"where\"").tokens[0].is("\"where\"")) << "a string is no keyword";
}

TEST(EinsumText, LengthsKeepTheirPlace) {
  EXPECT_EQ(withLengthSymbols("(j - i + len(i) - 1) d"), "(j - i + len'i' - 1) d");
  EXPECT_EQ(withLengthSymbols("len (a b)"), "len (a b)");
  EXPECT_EQ(withLengthSymbols("maxlen(i) len i"), "maxlen(i) len i") << "no call of len";
  EXPECT_EQ(withLengthSymbols("(len(i"), "(len(i") << "what is not closed is left to the parser";
}

TEST(EinsumText, CallsBecomeSymbolsOfTheSameLength) {
  std::map<std::string, llvm::StringRef> calls;
  auto none = [](llvm::StringRef) { return false; };
  std::string text = "b h i d, (bucket(j - i) + 1) d";
  std::string replaced = withCallSymbols(text, calls, none);
  EXPECT_EQ(replaced.size(), text.size());
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls.begin()->second, "bucket(j - i)");
  EXPECT_NE(replaced.find(calls.begin()->first), std::string::npos);
  calls.clear();
  EXPECT_EQ(withCallSymbols("(clamp(abs(j - i), 0, 3)) d", calls, none), "(clamp(abs(j - i), 0, 3)) d");
  EXPECT_TRUE(calls.empty()) << "functions of index expressions are the parser's";
  auto isClamp = [](llvm::StringRef name) { return name == "clamp"; };
  withCallSymbols("(clamp(abs(j - i), 0, 3)) d", calls, isClamp);
  EXPECT_EQ(calls.size(), 1u) << "unless the file defines them";
}

TEST(EinsumText, SizesAreLearntFromWhatIsKnown) {
  auto learn = [](const char *text, std::vector<std::vector<int64_t>> shapes, skewer::subscript::AxisSizes sizes = {}) {
    auto spec = skewer::subscript::parseEinsum(text);
    EXPECT_TRUE(spec) << text;
    learnSizes(*spec, shapes, sizes);
    return sizes;
  };
  using Sizes = skewer::subscript::AxisSizes;
  EXPECT_EQ(learn("b i d -> b i", {{kRuntime, 4, 8}}), (Sizes{{"b", kRuntime}, {"d", 8}, {"i", 4}}));
  EXPECT_EQ(learn("(h d), h -> d", {{12}, {3}}), (Sizes{{"d", 4}, {"h", 3}})) << "by a later operand";
  EXPECT_EQ(learn("(h d) -> h", {{12}}), Sizes()) << "two unknown factors";
  EXPECT_EQ(learn("(h d) -> h", {{12}}, {{"d", 6}}), (Sizes{{"d", 6}, {"h", 2}}));
  EXPECT_EQ(learn("(j - i + 3) d -> d", {{7, 8}}), (Sizes{{"d", 8}})) << "an index expression tells none";
}
} // namespace
