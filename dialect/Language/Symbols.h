// What the names of a text stand for, once they are resolved.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace skewer::language {

enum class SymbolKind {
  Unknown,   // it has no value: an axis that a tensor at hand has, or nothing
  Param,     // param N = 4
  Length,    // size N <= 4096
  Size,      // size batch, which is no number: where an axis has its name, the axis is meant
  Operand,   // of a kernel
  Argument,  // of a scheme
  Local,     // NAME = …
  Axis,      // the position along it
  Either,    // an axis and a value; where positions alone are possible a tensor is no rival, but a number is one
  Contested, // an axis and a value, which has been reported
  Scheme,    // of the file
  Builtin,   // a built-in scheme
  Function   // what the language itself knows by this name
};

struct Symbol {
  SymbolKind kind = SymbolKind::Unknown;
  llvm::StringRef declared = {}; // where the value, or the scheme, is declared; of an axis where it is named
  bool isSettled = false;        // a value whatever axes there are: where a whole tensor, or a number alone, may stand

  bool isValue() const { return kind >= SymbolKind::Param && kind <= SymbolKind::Local; }
  /// Whether it is a number wherever it has a value.
  bool isNumber() const { return kind == SymbolKind::Param || kind == SymbolKind::Length; }
};

/// "an operand", "a param": what it is, for messages.
llvm::StringRef describe(SymbolKind);

/// Whether the word has a meaning of its own wherever it stands: it names no axis, no param, no value and no scheme.
/// Names of functions are none: a call is told by its parenthesis.
bool isReserved(llvm::StringRef word);

} // namespace skewer::language
