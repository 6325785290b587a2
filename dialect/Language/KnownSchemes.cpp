// Finds schemes by name: those of the file hide built-in ones, which do not see them.
#include "dialect/Language/KnownSchemes.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

void KnownSchemes::addBuiltins(const Program &builtin) {
  for (const Scheme &scheme : builtin.schemes) {
    builtins.insert({scheme.name.str(), &scheme});
    all.insert({scheme.name.str(), &scheme});
  }
}

const Scheme *KnownSchemes::find(StringRef name, bool isCallerBuiltin) const {
  const ByName &seen = seenBy(isCallerBuiltin);
  auto found = seen.find(name.str());
  return found == seen.end() ? nullptr : found->second;
}

bool KnownSchemes::isBuiltin(const Scheme &scheme) const { return find(scheme.name, true) == &scheme; }

bool KnownSchemes::mentions(const Scheme &scheme, StringRef word) {
  auto [entry, fresh] = words.insert({&scheme, {}});
  if (fresh) {
    auto isWord = [](char c) { return isAlnum(c) || c == '_'; };
    StringRef text(scheme.name.data(), size_t(scheme.end.end() - scheme.name.data()));
    while (!(text = text.drop_until(isWord)).empty()) {
      StringRef one = text.take_while(isWord);
      text = text.drop_front(one.size());
      entry->second.insert(one.str());
    }
    entry->second.insert({"i", "j"});
  }
  return entry->second.count(word.str()) > 0;
}

} // namespace skewer::language
