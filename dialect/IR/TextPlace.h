// The place of the text that states an operation's computation: in the specification, or in a scheme that it calls. The
// language writes it into the operation's location; diagnostics and reports read it.
#pragma once
#include "mlir/IR/Location.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer::attn {

/// A call of a scheme: the scheme's name, and the place of the call.
struct SchemeCallPlace {
  std::string scheme, file;
  unsigned line = 0, column = 0;
};

struct TextPlace {
  std::string file;                   // of the specification, or "built-in rope.attn"; empty: unknown
  unsigned line = 0, column = 0;      // from 1; 0: unknown
  std::vector<SchemeCallPlace> calls; // the calls that led to it, the innermost first

  /// Returns the line of the specification: the line of the outermost call if the text is in a scheme. 0: unknown.
  unsigned lineOfSpec() const { return calls.empty() ? line : calls.back().line; }
};

/// Returns `location` as reached through calls of schemes. `calls` are the schemes' names and the places of the calls,
/// the innermost first.
mlir::Location calledFrom(mlir::Location location, llvm::ArrayRef<std::pair<std::string, mlir::Location>> calls);

/// Returns the first place in a text that `location` has, with the calls that led there.
std::optional<mlir::Location> firstPlace(mlir::Location location);
TextPlace textPlaceOf(mlir::Location location);

} // namespace skewer::attn
