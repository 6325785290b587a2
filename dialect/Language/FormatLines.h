// A specification as lines of tokens and comments, which the formatter (Format.cpp) moves around.
#pragma once
#include "dialect/Language/Lexer.h"
#include <vector>

namespace skewer::language {

struct FormatToken {
  Token token;
  bool spaceBefore = false; // in the text
  size_t gap = 0;           // bytes between this token and the previous one, in the text
  bool isUnary = false;     // a sign or '!' before an operand
  bool isTight = false;     // a binary + - * / // % without spaces in the text
  size_t column = 0;        // in FormatLine::text
  size_t depth = 0;         // number of open parentheses and brackets before it, since the statement began
};

struct FormatLine {
  std::vector<FormatToken> tokens; // empty: a comment alone
  llvm::StringRef comment;
  bool blankBefore = false;
  // The results of formatting.
  std::string text; // without indentation and comment
  size_t indent = 0;
  bool beginsStatement = false;
};

/// Splits a text without errors into lines.
std::vector<FormatLine> linesOf(llvm::StringRef text, Diagnostics &);

/// Returns whether an operand may end with this token. If so, a binary operator, a call or a subscript follows.
bool endsOperand(const Token &);
/// Returns whether a line that begins with this token continues the previous statement.
bool goesOn(const Token &);
/// Returns whether the statement continues after this token.
bool staysOpen(const Token &);

} // namespace skewer::language
