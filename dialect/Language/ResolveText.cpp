// Resolution of the texts of einsums and rearrangements: each is parsed once, its words are checked, and the calls in
// its index expressions are resolved like any other.
#include "dialect/Language/EinsumText.h"
#include "dialect/Language/Parser.h"
#include "dialect/Language/Resolver.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

static bool isWord(char c) { return isAlnum(c) || c == '_'; }

ParsedText Resolver::parseText(StringRef text) const {
  ParsedText parsed;
  const Schemes &file = schemesFor(names && names->isBuiltin);
  auto isOwn = [&](StringRef name) {
    auto found = file.find(name.str());
    return found != file.end() && !isBuiltin(*found->second);
  };
  parsed.spec = subscript::parseEinsum(
      withNumberAxes(withLengthSymbols(withCallSymbols(text, parsed.calls, isOwn)), parsed.numbers), &parsed.why);
  return parsed;
}

const ParsedText &Resolver::textOf(StringRef text) {
  auto found = texts.find(text.data());
  if (found == texts.end())
    found = texts.insert({text.data(), parseText(text)}).first;
  return found->second;
}

/// Checks that no axis of the text has a reserved name or a name that only the compiler gives.
bool Resolver::checkText(StringRef text) {
  textOf(text);
  ParsedText &parsed = texts.at(text.data());
  static const StringRef operators[] = {"and", "or", "not", "mod", "floordiv"};
  int depth = 0;
  for (size_t at = 0; at < text.size() && !parsed.isRefused;) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (text[at] == '\'') {
      diagnostics.error(text.substr(at, 1), "expected a name; names are made of a to z, digits and '_'");
      parsed.isRefused = true;
    }
    StringRef word = text.drop_front(at).take_while(isWord);
    at += std::max<size_t>(word.size(), 1);
    if (!isReserved(word) || (depth > 0 && is_contained(operators, word)))
      continue;
    checkWord(word);
    parsed.isRefused = true;
  }
  return !parsed.isRefused;
}

/// Reports numbers in index expressions that have the name of an axis in scope. Tensors need no check, because they
/// cannot stand there.
void Resolver::checkIndices(StringRef text) {
  ParsedText &parsed = texts.at(text.data());
  if (!parsed.spec)
    return;
  for (const subscript::Dimensions &operand : parsed.spec->operands)
    for (const subscript::Dimension &dimension : operand) {
      if (dimension.isProduct())
        continue;
      StringRef place = text.slice(dimension.begin, dimension.end);
      for (const std::string &name : subscript::symbolsOf(dimension.index)) {
        auto value = names->values.find(name);
        if (value == names->values.end() || !value->second.isNumber() || !names->axes.count(name))
          continue;
        size_t at = 0; // the place of the whole word
        while ((at = place.find(name, at)) != StringRef::npos &&
               ((at > 0 && isWord(place[at - 1])) || isWord((place.drop_front(at + name.size()) + " ").str()[0])))
          ++at;
        StringRef word = at == StringRef::npos ? place : place.substr(at, name.size());
        parsed.isRefused = true;
        if (names->contested.insert(name).second)
          reportContest(word, name, value->second);
      }
    }
}

/// Resolves the calls in index expressions, with the axes of the text in scope.
void Resolver::resolveCalls(const ParsedText &parsed) {
  for (const auto &[symbol, call] : parsed.calls) {
    if (calls.count(call.data()))
      continue;
    NodePtr node = Parser(call, diagnostics).onlyExpression();
    if (node)
      visit(*node, Place::Position);
    calls[call.data()] = std::move(node);
  }
}

const Node *Resolver::callInText(StringRef call) {
  auto found = calls.find(call.data());
  if (found == calls.end()) // a function of positions that is not called
    found = calls.insert({call.data(), Parser(call, diagnostics).onlyExpression()}).first;
  return found->second.get();
}

} // namespace skewer::language
