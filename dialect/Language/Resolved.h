// The resolved names of a specification as text.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>
#include <string>

namespace skewer::language {

/// Returns a text that lists each kernel and each scheme of the main buffer, with one line for every name in it: place,
/// name, meaning, and place of declaration. Nothing after an error.
std::optional<std::string> resolvedNames(llvm::SourceMgr &, DiagnosticSink);

} // namespace skewer::language
