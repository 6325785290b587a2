// Keeps diagnostics until it is known whether they count. A text with lengths is imported several times, and
// Compilation.cpp and ImportLengths.cpp report the diagnostics of one import only.
#pragma once
#include "codegen/Compiler/Messages.h"
#include "dialect/Language/Diagnostic.h"
#include "llvm/ADT/STLExtras.h"
#include <utility>
#include <vector>

namespace skewer {

struct Collected {
  language::DiagnosticSink sink() {
    return [this](language::Diagnostic one) { all.push_back(std::move(one)); };
  }
  void sayAll() { llvm::for_each(std::exchange(all, {}), say); }
  std::vector<language::Diagnostic> all;
};

} // namespace skewer
