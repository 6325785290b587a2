// The meanings that the resolver gives to the names of a specification.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace skewer::language {

class Diagnostics;

enum class SymbolKind {
  Unknown, // no value: an axis of a tensor at hand, or nothing
  Param,   // declared by param N = 4
  Length,  // declared by size N <= 4096
  // Declared by size batch. It is not a number: if an axis has its name, the name means the axis.
  Size,
  Operand,  // an operand of a kernel
  Argument, // an argument of a scheme
  Local,    // declared by NAME = …
  Axis,     // the position along an axis
  // Both an axis and a value. Where only positions are possible, a tensor does not compete with the axis, but a number
  // does.
  Either,
  Contested, // both an axis and a value, which is already reported
  Scheme,    // a scheme of the file
  Builtin,   // a built-in scheme
  Function   // a name that the language itself defines
};

struct Symbol {
  SymbolKind kind = SymbolKind::Unknown;
  // The place where the value or scheme is declared; for an axis, the place that names it.
  llvm::StringRef declared = {};
  // The name is a value even if an axis has the same name: only a whole tensor, or only a number, may stand here.
  bool isSettled = false;

  bool isValue() const { return kind >= SymbolKind::Param && kind <= SymbolKind::Local; }
  /// Returns whether the symbol is a number wherever it has a value.
  bool isNumber() const { return kind == SymbolKind::Param || kind == SymbolKind::Length; }
};

/// Returns a description for messages: "an operand", "a param".
llvm::StringRef describe(SymbolKind);

/// Returns whether the word has a meaning of its own wherever it stands. Such a word names no axis, param, value or
/// scheme. Names of functions are not reserved: their parenthesis marks a call.
bool isReserved(llvm::StringRef word);
/// Reports an error if the word is reserved; returns whether it is.
bool refusesReserved(llvm::StringRef word, Diagnostics &);

} // namespace skewer::language
