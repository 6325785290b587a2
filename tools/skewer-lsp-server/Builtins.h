// The names that every text can call: functions of the language and schemes that come with the compiler. Hovers and
// completions show their descriptions (Document.cpp).
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace skewer::lsp {

struct Builtin {
  std::string name, usage, text; // text: one line about a function, or the comment and the source of a scheme
  bool isScheme = false;
};

llvm::ArrayRef<Builtin> builtins();
/// Returns the function or scheme; null if there is none.
const Builtin *findBuiltin(llvm::StringRef name);

} // namespace skewer::lsp
