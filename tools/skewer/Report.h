// The fixed parts of the page that `skewer report` makes.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::driver {

/// Files of tools/skewer/Report: "page" (HTML), "style" (CSS), "draw" (JavaScript).
struct ReportPart {
  llvm::StringRef name, text;
};
llvm::ArrayRef<ReportPart> reportParts();

} // namespace skewer::driver
