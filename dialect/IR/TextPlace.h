// Where a text says what an operation computes: in the specification, or in a scheme that it calls.
#pragma once
#include "mlir/IR/Location.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer::attn {

/// A call of a scheme: what is called, and where the call stands.
struct SchemeCallPlace {
  std::string scheme, file;
  unsigned line = 0, column = 0;
};

struct TextPlace {
  std::string file;              // of the specification, or "built-in rope.attn"; empty: unknown
  unsigned line = 0, column = 0; // from 1; 0: unknown
  std::vector<SchemeCallPlace> calls; // that led there, the innermost first

  /// The line of the specification: that of the outermost call, where a scheme says it. 0: unknown.
  unsigned lineOfSpec() const { return calls.empty() ? line : calls.back().line; }
};

/// `location`, said by schemes. `calls` are their names and the places of the calls, the innermost first.
mlir::Location calledFrom(mlir::Location location, llvm::ArrayRef<std::pair<std::string, mlir::Location>> calls);

/// The first place in a text that `location` has, with the calls that led there.
std::optional<mlir::Location> firstPlace(mlir::Location location);
TextPlace textPlaceOf(mlir::Location location);

} // namespace skewer::attn
