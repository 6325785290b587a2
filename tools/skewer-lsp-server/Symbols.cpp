// Finds declarations by walking tokens: heads of kernels and schemes, params, sizes, and the names that statements
// assign.
#include "tools/skewer-lsp-server/Symbols.h"
#include "dialect/Language/FormatLines.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using skewer::language::FormatLine;
using skewer::language::FormatToken;
using skewer::language::Token;
using skewer::language::TokenKind;

namespace skewer::lsp {
namespace {

class Walk {
public:
  explicit Walk(StringRef text) : text(text) {
    SourceMgr none;
    language::Diagnostics silent(none, [](const language::Diagnostic &) {});
    for (const FormatLine &line : language::linesOf(text, silent))
      for (const FormatToken &token : line.tokens)
        tokens.push_back(token.token);
  }

  std::vector<Symbol> symbols() {
    while (at < tokens.size()) {
      if (is("param") || is("size"))
        declarations(is("param") ? SymbolKind::Param : SymbolKind::Size);
      else if (is("kernel") || is("scheme"))
        definition(is("kernel"));
      else
        ++at;
    }
    return std::move(found);
  }

private:
  bool is(StringRef word) const { return at < tokens.size() && tokens[at].is(word); }
  bool isName() const { return at < tokens.size() && tokens[at].kind == TokenKind::Name; }
  /// Adjusts `depth` if the next token opens or closes a bracket, and skips the token.
  void count(int &depth) {
    depth += (is("(") || is("[") || is("{")) - (is(")") || is("]") || is("}"));
    ++at;
  }

  void add(SymbolKind kind, StringRef name, StringRef scope = {}) {
    StringRef rest = text.drop_front(name.data() - text.data());
    StringRef line = rest.take_until([](char c) { return c == '\n' || c == '#'; });
    if (kind == SymbolKind::Operand || kind == SymbolKind::Param || kind == SymbolKind::Size)
      line = ownPartOf(line, /*behindColon=*/kind == SymbolKind::Operand);
    found.push_back({kind, name, line.rtrim(), scope});
  }

  /// Returns the part of a line with several declarations that belongs to the first: up to a comma, behind the type of
  /// names that share one, or up to the end of the list.
  static StringRef ownPartOf(StringRef line, bool behindColon) {
    bool isBehind = !behindColon || !line.contains(':');
    int depth = 0;
    for (size_t k = 0; k < line.size(); ++k) {
      depth += StringRef("([{").contains(line[k]) - StringRef(")]}").contains(line[k]);
      isBehind |= line[k] == ':';
      if (depth < 0 || (depth == 0 && isBehind && line[k] == ','))
        return line.take_front(k);
    }
    return line;
  }

  /// Reads the declarations of a line such as "param H = 14, W = 14" or "size batch, N <= 512".
  void declarations(SymbolKind kind) {
    ++at;
    bool expectsName = true;
    for (int depth = 0; at < tokens.size(); count(depth)) {
      if (depth == 0 && !expectsName && tokens[at].newlineBefore && !tokens[at - 1].is(","))
        return;
      if (is("kernel") || is("scheme") || is("param") || is("size"))
        return;
      if (expectsName && isName())
        add(kind, tokens[at].text);
      expectsName = depth == 0 && is(",");
    }
  }

  /// Reads the names between the parentheses of a head: for a kernel the names before each ':', for a scheme those
  /// behind '(' and ',' and those in a pattern (H, W).
  void operands(bool isKernel, StringRef scope) {
    int depth = 0;
    bool inType = false, isConst = false; // isConst: 'const' applies to the end of its group
    do {
      if (depth == 1 && is(",")) {
        isConst &= !inType;
        inType = false;
      } else if (depth == 1 && (is(":") || is("="))) {
        inType = is(":") || isKernel;
      } else if (isName() && !inType && (depth == 1 || (!isKernel && depth == 2))) {
        isConst |= is("const");
        if (!is("const")) {
          add(SymbolKind::Operand, tokens[at].text, scope);
          found.back().isConst = isConst;
        }
      }
      count(depth);
    } while (depth > 0 && at < tokens.size());
  }

  void definition(bool isKernel) {
    size_t first = at++;
    if (!isName())
      return;
    StringRef name = tokens[at++].text;
    size_t own = found.size();
    add(isKernel ? SymbolKind::Kernel : SymbolKind::Scheme, name);
    if (is("("))
      operands(isKernel, {});
    int depth = 0;
    bool begins = true, isBlock = false;
    while (at < tokens.size()) {
      bool startsLine = tokens[at].newlineBefore;
      if (depth == 0 && (is("kernel") || is("scheme") || is("param") || is("size")) && startsLine)
        break;
      isBlock |= depth == 0 && is("{");
      if (depth == 1 && isBlock && (startsLine || begins))
        targets();
      begins = depth <= 1 && (is("{") || is(";"));
      bool closes = isBlock && depth == 1 && is("}");
      count(depth);
      if (closes)
        break;
    }
    const char *end = at < tokens.size() ? tokens[at].text.data() : text.end();
    StringRef scope(tokens[first].text.data(), end - tokens[first].text.data());
    for (size_t k = own + 1; k < found.size(); ++k)
      found[k].scope = scope;
  }

  /// Reads the names in front of '=' at the beginning of a statement: a = …; a, b = …; (a, b) = …; part a ….
  void targets() {
    size_t next = at + (is("part") ? 1 : 0);
    std::vector<StringRef> names;
    for (bool parenthesis = false; next < tokens.size(); ++next) {
      const Token &token = tokens[next];
      if (token.kind == TokenKind::Name)
        names.push_back(token.text);
      else if (token.is("(") && names.empty() && !parenthesis)
        parenthesis = true;
      else if (!token.is(",") && !token.is(")"))
        break;
      if (is("part"))
        break;
    }
    if (is("part") || (next < tokens.size() && tokens[next].is("=")))
      for (StringRef name : names)
        add(SymbolKind::Value, name);
  }

  StringRef text;
  std::vector<Token> tokens;
  size_t at = 0;
  std::vector<Symbol> found;
};

} // namespace

std::vector<Symbol> symbolsOf(StringRef text) { return Walk(text).symbols(); }

const Symbol *declarationOf(ArrayRef<Symbol> symbols, StringRef text, StringRef name, size_t offset) {
  const Symbol *best = nullptr;
  const char *place = text.data() + offset;
  for (const Symbol &symbol : symbols) {
    if (symbol.name != name)
      continue;
    bool isLocal = symbol.scope.data();
    if (isLocal && (place < symbol.scope.begin() || place > symbol.scope.end()))
      continue;
    // Among several values of one name, chooses the last before the place; a local name has priority over a global one.
    if (!best || (isLocal && (!best->scope.data() || symbol.name.data() <= place)))
      best = &symbol;
  }
  return best;
}

const char *titleOf(SymbolKind kind) {
  // In the order of SymbolKind.
  static constexpr const char *names[] = {"param", "size", "kernel", "scheme", "operand", "value"};
  return names[static_cast<size_t>(kind)];
}

} // namespace skewer::lsp
