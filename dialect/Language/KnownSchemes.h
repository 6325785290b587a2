// The schemes of a file and of the library, by name.
#pragma once
#include "dialect/Language/Ast.h"
#include <map>
#include <set>

namespace skewer::language {

class KnownSchemes {
public:
  using ByName = std::map<std::string, const Scheme *>;

  void addBuiltins(const Program &);
  /// Adds a scheme of the file. It hides a built-in one of its name.
  void add(const Scheme &scheme) { all[scheme.name.str()] = &scheme; }
  /// Returns the schemes that a caller can see: only the built-in ones if the caller is a built-in scheme.
  const ByName &seenBy(bool isBuiltin) const { return isBuiltin ? builtins : all; }
  /// Returns the scheme that a call by this name means, or null.
  const Scheme *find(llvm::StringRef name, bool isCallerBuiltin) const;
  bool isBuiltin(const Scheme &) const;
  /// Returns whether the scheme's text contains the word. If it does, an axis of the caller with that name gets another
  /// name inside the scheme.
  bool mentions(const Scheme &, llvm::StringRef word);

private:
  ByName builtins, all;
  std::map<const Scheme *, std::set<std::string>> words;
};

} // namespace skewer::language
