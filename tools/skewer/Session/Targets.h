// Finds the processors that --target names.
#pragma once
#include "passes/Schedule/Target.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace skewer::driver {
/// Returns " (did you mean 'sm_80'?)" for the processor or GPU with the nearest name; empty if none is near.
std::string nearestTarget(llvm::StringRef name);
/// Returns the description; nothing after a message that lists the known names.
std::optional<Target> targetNamed(const std::string &name);
/// Returns the targets of a list "x86-64-v3,x86-64-v4", in the order in which a dispatcher chooses. Nothing after a
/// message; a duplicate name is also an error.
std::optional<std::vector<Target>> targetsNamed(const std::string &names);
} // namespace skewer::driver
