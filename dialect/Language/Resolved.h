// The names of a specification and what they stand for, as text.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>
#include <string>

namespace skewer::language {

/// Each kernel and each scheme of the main buffer, with a line for every name in it: place, name, what it is, and where
/// that is declared. Nothing after an error.
std::optional<std::string> resolvedNames(llvm::SourceMgr &, DiagnosticSink);

} // namespace skewer::language
