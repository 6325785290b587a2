// The texts of einsums and rearrangements, and the calls in their index expressions. Each is parsed once.
#pragma once
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/KnownSchemes.h"
#include "dialect/Subscript/Einsum.h"

namespace skewer::language {

/// The parsed text of an einsum or a rearrangement.
struct ParsedText {
  subscript::Parsed<subscript::Einsum> spec;
  std::map<std::string, llvm::StringRef> calls; // by the symbols that stand for them in index expressions
  std::map<std::string, int64_t> numbers;       // by the axes that stand for them
  bool isRefused = false;                       // an error is already reported
};

class TextTable {
public:
  TextTable(const KnownSchemes &schemes, Diagnostics &diagnostics) : schemes(schemes), diagnostics(diagnostics) {}

  /// `isBuiltin`: the text stands in a built-in scheme.
  ParsedText &of(llvm::StringRef text, bool isBuiltin = false);
  /// Reports axes that have a reserved name, or a name that only the compiler gives. Returns whether there are none.
  bool check(llvm::StringRef text, ParsedText &);
  /// Returns the expression of a call in a text, or of a name in it; null after an error. `isNew` becomes true if
  /// nobody has asked for it before.
  const Node *call(llvm::StringRef call, bool *isNew = nullptr);

private:
  const KnownSchemes &schemes;
  Diagnostics &diagnostics;
  std::map<const char *, ParsedText> texts;
  std::map<const char *, NodePtr> calls;
};

} // namespace skewer::language
