// Parses each text and each call once, by the place where it stands.
#include "dialect/Language/TextTable.h"
#include "dialect/Language/EinsumText.h"
#include "dialect/Language/Parser.h"
#include "dialect/Language/Symbols.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

ParsedText &TextTable::of(StringRef text, bool isBuiltin) {
  auto [entry, isNew] = texts.insert({text.data(), {}});
  ParsedText &parsed = entry->second;
  auto isOwn = [&](StringRef name) {
    const Scheme *scheme = schemes.find(name, isBuiltin);
    return scheme && !schemes.isBuiltin(*scheme);
  };
  if (isNew)
    parsed.spec = subscript::parseEinsum(
        withNumberAxes(withLengthSymbols(withCallSymbols(text, parsed.calls, isOwn)), parsed.numbers));
  return parsed;
}

bool TextTable::check(StringRef text, ParsedText &parsed) {
  static const StringRef operators[] = {"and", "or", "not", "mod", "floordiv"};
  int depth = 0;
  for (size_t at = 0; at < text.size() && !parsed.isRefused;) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (text[at] == '\'') {
      diagnostics.error(text.substr(at, 1), "expected a name; names are made of a to z, digits and '_'");
      parsed.isRefused = true;
    }
    StringRef word = text.drop_front(at).take_while([](char c) { return isAlnum(c) || c == '_'; });
    at += std::max<size_t>(word.size(), 1);
    if (depth <= 0 || !is_contained(operators, word))
      parsed.isRefused |= refusesReserved(word, diagnostics);
  }
  return !parsed.isRefused;
}

const Node *TextTable::call(StringRef call, bool *isNew) {
  auto [entry, isFirst] = calls.insert({call.data(), nullptr});
  if (isFirst)
    entry->second = Parser(call, diagnostics).onlyExpression();
  if (isNew)
    *isNew = isFirst;
  return entry->second.get();
}

} // namespace skewer::language
