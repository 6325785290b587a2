// The fixed parts of the page that `skewer report` makes, embedded into the program when it is built.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::driver {

/// A file of tools/skewer/Report: "page" (HTML), "style" (CSS) or "draw" (JavaScript).
struct ReportPart {
  llvm::StringRef name, text;
};
llvm::ArrayRef<ReportPart> reportParts();

} // namespace skewer::driver
