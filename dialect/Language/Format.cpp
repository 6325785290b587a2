// Lays out a specification in three steps: spaces, then columns, then indentation, which depends on both.
#include "dialect/Language/Format.h"
#include "dialect/Language/FormatLines.h"
#include "dialect/Language/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace llvm;

namespace skewer::language {
namespace {

/// Returns whether a space stands between two tokens of a line. `bracket` is the innermost open one before `token`, or
/// 0.
bool isSpaced(const FormatToken &before, const FormatToken &token, char bracket) {
  const Token &a = before.token, &b = token.token;
  if (b.is(",") || b.is(";") || b.is(")") || b.is("]") || a.is("(") || a.is("["))
    return false;
  if (a.is(",") || a.is(";") || a.is("{") || b.is("{") || b.is("}"))
    return true;
  if (a.is("..") || b.is("..") || a.is("^") || b.is("^") || a.is("**") || b.is("**"))
    return false;
  if (before.isUnary)
    return false;
  if (a.is(":") || b.is(":"))
    return bracket != '[';
  auto isArithmetic = [](const FormatToken &t) {
    return !t.isUnary && (t.token.is("+") || t.token.is("-") || t.token.is("*") || t.token.is("/") ||
                          t.token.is("//") || t.token.is("%"));
  };
  if (isArithmetic(token))
    return !token.isTight;
  if (isArithmetic(before))
    return !before.isTight;
  if ((b.is("(") || b.is("[")) && endsOperand(a))
    return false;
  return true;
}

bool opens(const Token &token) { return token.is("(") || token.is("["); }
bool closes(const Token &token) { return token.is(")") || token.is("]"); }

/// Gives each line its text, and marks the lines that begin statements.
void space(std::vector<FormatLine> &lines) {
  std::string open; // brackets since the last brace
  const Token *last = nullptr;
  for (FormatLine &line : lines) {
    if (line.tokens.empty())
      continue;
    line.beginsStatement = open.empty() && !goesOn(line.tokens.front().token) && !(last && staysOpen(*last));
    const FormatToken *before = nullptr;
    for (FormatToken &token : line.tokens) {
      if (before && isSpaced(*before, token, open.empty() ? 0 : open.back()))
        line.text += ' ';
      token.column = line.text.size();
      line.text += token.token.text;
      if (closes(token.token) && !open.empty())
        open.pop_back();
      token.depth = open.size();
      if (opens(token.token))
        open += token.token.text.front();
      before = &token;
    }
    last = &line.tokens.back().token;
  }
}

void insertSpaces(FormatLine &line, size_t column, size_t count) {
  line.text.insert(column, count, ' ');
  for (FormatToken &token : line.tokens)
    if (token.column >= column)
      token.column += count;
}

/// Returns the '=' of a statement that gives a value to names; null for other statements.
FormatToken *equalsOf(FormatLine &line) {
  if (!line.beginsStatement)
    return nullptr;
  for (StringRef other : {"param", "size", "kernel", "scheme", "require", "return", "part"})
    if (line.tokens.front().token.is(other))
      return nullptr;
  for (FormatToken &token : line.tokens) {
    if (token.token.is("=") && token.depth == 0)
      return &token;
    if (token.token.is(";") || token.token.is("{"))
      return nullptr;
  }
  return nullptr;
}

/// Returns the ':' of the only operand, or only group of operands, that a line of a kernel's or scheme's head declares;
/// null for other lines.
FormatToken *colonOf(FormatLine &line, bool isInHead) {
  FormatToken *colon = nullptr;
  if (!isInHead || line.tokens.empty() || line.tokens.front().token.is("->"))
    return nullptr;
  for (FormatToken &token : line.tokens) {
    if (token.token.is(")") && token.depth == 0) // a result or a body follows
      break;
    if (token.token.is(":") && token.depth == 1) {
      if (colon || token.column == 0) // a ':' that begins a line has nothing before it to move
        return nullptr;
      colon = &token;
    }
  }
  return colon;
}

/// Returns the column after the head's opening parenthesis if it is on this line, otherwise 0.
size_t insideOf(const FormatLine &line) {
  for (const FormatToken &token : line.tokens)
    if (line.beginsStatement && token.token.is("(") && token.depth == 0)
      return token.column + 1;
  return 0;
}

/// Moves the token that `place` finds on neighbouring lines into one column, counted from `from`. `isBetween` says
/// which lines without such a token may stand between them. A line for which `begins` is true starts a new group. If
/// `onlyWhereMeant`, only groups are moved in which a line of the text has more than one space there.
void align(std::vector<FormatLine> &lines, function_ref<FormatToken *(FormatLine &)> place,
           function_ref<size_t(const FormatLine &)> from, function_ref<bool(const FormatLine &)> isBetween,
           function_ref<bool(const FormatLine &)> begins, bool onlyWhereMeant = false) {
  for (size_t begin = 0; begin < lines.size();) {
    std::vector<size_t> group;
    size_t end = begin;
    for (; end < lines.size(); ++end) {
      bool separates = end > begin && (lines[end].blankBefore || begins(lines[end]));
      bool found = !separates && place(lines[end]);
      if (!found && (separates || !isBetween(lines[end])))
        break;
      if (found)
        group.push_back(end);
    }
    size_t column = 0;
    for (size_t k : group)
      column = std::max(column, place(lines[k])->column - from(lines[k]));
    if (onlyWhereMeant && llvm::none_of(group, [&](size_t k) { return place(lines[k])->gap > 1; }))
      group.clear();
    for (size_t k : group) {
      size_t own = place(lines[k])->column - from(lines[k]);
      insertSpaces(lines[k], place(lines[k])->column - 1, column - own);
    }
    begin = std::max(end, begin + 1);
  }
}

struct Bracket {
  char kind;
  size_t inside; // the column of its content
  size_t close;  // the column of its closing bracket at the beginning of a line
};

/// Computes the indentation: braces indent blocks, open brackets and statements indent other lines.
void indent(std::vector<FormatLine> &lines) {
  std::vector<Bracket> open;
  size_t statement = 0; // the indentation of the open statement
  for (FormatLine &line : lines) {
    bool inBracket = !open.empty() && open.back().kind != '{';
    size_t block = 0;
    for (const Bracket &bracket : open)
      if (bracket.kind == '{')
        block = bracket.inside;
    if (line.tokens.empty()) {
      line.indent = inBracket ? open.back().inside : block;
      continue;
    }
    const Token &first = line.tokens.front().token;
    if (inBracket)
      line.indent = closes(first) ? open.back().close : open.back().inside;
    else if (first.is("}"))
      line.indent = open.empty() ? 0 : open.back().close;
    else if (line.beginsStatement)
      line.indent = block;
    else
      line.indent = first.is("{") ? statement : statement + (first.is("->") ? 4 : 2);
    if (line.beginsStatement)
      statement = line.indent;
    for (const FormatToken &token : line.tokens) {
      bool isLast = &token == &line.tokens.back();
      if (token.token.is("{"))
        open.push_back({'{', statement + 2, statement});
      else if (opens(token.token))
        open.push_back({token.token.text.front(), line.indent + (isLast ? 2 : token.column + 1),
                        isLast ? line.indent : line.indent + token.column});
      else if ((closes(token.token) || token.token.is("}")) && !open.empty())
        open.pop_back();
    }
  }
}

/// Removes empty lines at the beginning and the end of a block, and at the beginning of the file.
void dropBlankLines(std::vector<FormatLine> &lines) {
  for (size_t k = 0; k < lines.size(); ++k) {
    bool opensBefore = k > 0 && !lines[k - 1].tokens.empty() && lines[k - 1].tokens.back().token.is("{");
    bool closesHere = !lines[k].tokens.empty() && lines[k].tokens.front().token.is("}");
    if (k == 0 || opensBefore || closesHere)
      lines[k].blankBefore = false;
  }
}

std::string print(const std::vector<FormatLine> &lines) {
  auto isTrailed = [](const FormatLine &line) { return !line.tokens.empty() && !line.comment.empty(); };
  std::string out;
  size_t column = 0; // the column of comments on neighbouring lines
  for (size_t k = 0; k < lines.size(); ++k) {
    const FormatLine &line = lines[k];
    if (isTrailed(line) && (k == 0 || !isTrailed(lines[k - 1]) || line.blankBefore)) {
      column = 0;
      for (size_t n = k; n < lines.size() && isTrailed(lines[n]) && (n == k || !lines[n].blankBefore); ++n)
        column = std::max(column, lines[n].indent + lines[n].text.size() + 2);
    }
    if (line.blankBefore)
      out += '\n';
    out.append(line.indent, ' ');
    out += line.text;
    if (isTrailed(line))
      out.append(column - line.indent - line.text.size(), ' ');
    out += line.comment;
    out += '\n';
  }
  return out;
}

/// Returns whether both texts have the same tokens, and the same tokens begin lines.
bool saysTheSame(StringRef a, StringRef b) {
  SourceMgr none;
  Diagnostics silent(none, [](const Diagnostic &) {});
  Lexer first(a, silent), second(b, silent);
  while (true) {
    Token x = first.next(), y = second.next();
    if (x.kind != y.kind || x.text != y.text || (x.newlineBefore != y.newlineBefore && x.kind != TokenKind::End))
      return false;
    if (x.kind == TokenKind::End)
      return true;
  }
}

} // namespace

std::optional<std::string> formatted(SourceMgr &sources, DiagnosticSink sink) {
  Diagnostics diagnostics(sources, std::move(sink));
  StringRef text = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  Program program;
  Parser(text, diagnostics).program(program);
  if (diagnostics.hasErrors())
    return std::nullopt;

  std::vector<FormatLine> lines = linesOf(text, diagnostics);
  space(lines);
  align(
      lines, equalsOf, [](const FormatLine &) { return size_t(0); },
      [](const FormatLine &line) { return !line.tokens.empty() && !line.beginsStatement; },
      [](const FormatLine &) { return false; });
  std::set<const FormatLine *> heads; // the lines of the heads of kernels and schemes
  bool isInHead = false;
  for (const FormatLine &line : lines) {
    if (line.beginsStatement)
      isInHead = line.tokens.front().token.is("kernel") || line.tokens.front().token.is("scheme");
    if (isInHead)
      heads.insert(&line);
  }
  align(
      lines, [&](FormatLine &line) { return colonOf(line, heads.count(&line)); }, insideOf,
      [](const FormatLine &) { return false; }, [](const FormatLine &line) { return line.beginsStatement; },
      /*onlyWhereMeant=*/true);
  dropBlankLines(lines);
  indent(lines);
  std::string result = print(lines);
  if (saysTheSame(text, result))
    return result;
  diagnostics.error({}, "this text cannot be laid out without a change of its meaning; it is left as it is");
  return std::nullopt;
}

} // namespace skewer::language
