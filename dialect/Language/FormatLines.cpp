// Splits a text into lines of tokens, with the comments that the lexer skips.
#include "dialect/Language/FormatLines.h"
#include "dialect/Language/Format.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace skewer::language {

ArrayRef<StringLiteral> keywords() {
  static constexpr StringLiteral words[] = {"param",   "size", "kernel", "scheme",   "const", "in", "return",
                                            "require", "part", "of",     "from",     "where", "if", "else",
                                            "and",     "or",   "not",    "floordiv", "mod"};
  return words;
}

static bool isKeyword(const Token &token) {
  return token.kind == TokenKind::Name && is_contained(keywords(), token.text);
}

bool endsOperand(const Token &token) {
  if (token.kind == TokenKind::Name)
    return !isKeyword(token);
  return token.kind == TokenKind::Number || token.kind == TokenKind::String || token.is(")") || token.is("]") ||
         token.is("...");
}

static bool isBinaryWord(const Token &token) {
  for (StringRef word : {"where", "if", "else", "and", "or", "floordiv", "mod"})
    if (token.is(word))
      return true;
  return false;
}

static bool isBinarySymbol(const Token &token) {
  for (StringRef symbol :
       {"+", "-", "*", "/", "//", "%", "^", "**", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "=", "->", "~"})
    if (token.kind == TokenKind::Symbol && token.text == symbol)
      return true;
  return false;
}

bool goesOn(const Token &token) { return isBinaryWord(token) || isBinarySymbol(token) || token.is("{"); }

bool staysOpen(const Token &token) {
  return isBinaryWord(token) || isBinarySymbol(token) || token.is(",") || token.is("not") || token.is("of") ||
         token.is("from");
}

/// Adds the comments and empty lines between two tokens. The last of `lines` is the line of the first token.
static void addGap(StringRef gap, std::vector<FormatLine> &lines) {
  bool first = true, blank = false;
  while (true) {
    auto [line, rest] = gap.split('\n');
    bool isLast = !gap.contains('\n');
    StringRef comment = line.trim(" \t\r\xEF\xBB\xBF");
    if (comment.starts_with("#")) {
      if (first && !lines.empty()) {
        lines.back().comment = comment;
      } else {
        FormatLine own;
        own.comment = comment;
        own.blankBefore = blank;
        lines.push_back(std::move(own));
        blank = false;
      }
    } else if (!first && !isLast) {
      blank = true;
    }
    if (isLast)
      break;
    gap = rest;
    first = false;
  }
  if (!first || lines.empty()) {
    FormatLine next;
    next.blankBefore = blank;
    lines.push_back(std::move(next));
  }
}

/// Marks signs, and records the spaces around + - * / // %, which depend on the next token too.
static void addContext(std::vector<FormatLine> &lines) {
  FormatToken *before = nullptr, *operation = nullptr;
  for (FormatLine &line : lines)
    for (FormatToken &token : line.tokens) {
      if (operation)
        operation->isTight &= !token.spaceBefore && !token.token.newlineBefore;
      operation = nullptr;
      for (StringRef symbol : {"+", "-", "*", "/", "//", "%", "!"})
        if (token.token.kind == TokenKind::Symbol && token.token.text == symbol) {
          token.isUnary = symbol == "!" || !before || !endsOperand(before->token);
          token.isTight = !token.spaceBefore && !token.token.newlineBefore;
          if (!token.isUnary)
            operation = &token;
        }
      before = &token;
    }
}

std::vector<FormatLine> linesOf(StringRef text, Diagnostics &diagnostics) {
  std::vector<FormatLine> lines;
  Lexer lexer(text, diagnostics);
  const char *end = text.begin();
  while (true) {
    Token token = lexer.next();
    const char *begin = token.kind == TokenKind::End ? text.end() : token.text.begin();
    StringRef gap(end, begin - end);
    addGap(gap, lines);
    if (token.kind == TokenKind::End)
      break;
    lines.back().tokens.push_back({token, !gap.empty(), gap.size()});
    end = token.text.end();
  }
  while (!lines.empty() && lines.back().tokens.empty() && lines.back().comment.empty())
    lines.pop_back();
  addContext(lines);
  return lines;
}

} // namespace skewer::language
