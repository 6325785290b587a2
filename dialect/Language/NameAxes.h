// Collects the axes that a body names.
#pragma once
#include "dialect/Language/BodyNames.h"
#include "dialect/Language/TextTable.h"

namespace skewer::language {

/// Adds the axes that the statements name to `names`. They are in scope in the whole body, before and after, so that no
/// meaning depends on the order of statements.
void nameAxesOf(const std::vector<Statement> &, const KnownSchemes &, TextTable &, BodyNames &names);

/// Returns whether the scheme takes the axis `i` or `j` from its caller: nothing in the scheme has that name.
bool takesFromCaller(const Scheme &, llvm::StringRef axis);

} // namespace skewer::language
