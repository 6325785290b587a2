// The names that the body of a kernel or a scheme sees, before their values are known.
#pragma once
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Symbols.h"
#include <map>
#include <set>

namespace skewer::language {

struct BodyNames {
  std::map<std::string, Symbol> values;
  std::map<std::string, llvm::StringRef> axes; // with the places that name them
  std::set<std::string> contested;             // names for which an error is already reported
  bool isBuiltin = false;                      // of a built-in scheme

  /// Adds a value; reports an error if its name is reserved.
  void declare(llvm::StringRef name, SymbolKind kind, Diagnostics &diagnostics) {
    refusesReserved(name, diagnostics);
    values[name.str()] = {kind, name};
  }
  void nameAxis(llvm::StringRef axis) { axes.insert({axis.str(), axis}); }
  void nameAxis(llvm::StringRef axis, llvm::StringRef place) { axes.insert({axis.str(), place}); }
};

} // namespace skewer::language
