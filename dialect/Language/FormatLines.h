// A text as lines of tokens and comments: what a formatter moves around.
#pragma once
#include "dialect/Language/Lexer.h"
#include <vector>

namespace skewer::language {

struct FormatToken {
  Token token;
  bool spaceBefore = false; // in the text
  size_t gap = 0;           // bytes between it and the token before, in the text
  bool isUnary = false;     // a sign or '!' before an operand
  bool isTight = false;     // a binary + - * / // % without spaces in the text
  size_t column = 0;        // in Line::text
  size_t depth = 0;         // open parentheses and brackets on the way to it, since the statement began
};

struct FormatLine {
  std::vector<FormatToken> tokens; // empty: a comment alone
  llvm::StringRef comment;
  bool blankBefore = false;
  // What is made of it.
  std::string text; // without indentation and comment
  size_t indent = 0;
  bool beginsStatement = false;
};

/// The lines of a text that has no errors.
std::vector<FormatLine> linesOf(llvm::StringRef text, Diagnostics &);

/// Whether an operand may end with this token: what follows is a binary operator, a call or a subscript.
bool endsOperand(const Token &);
/// Whether a line that begins with it goes on with the statement before.
bool goesOn(const Token &);
/// Whether the statement goes on behind it.
bool staysOpen(const Token &);

} // namespace skewer::language
