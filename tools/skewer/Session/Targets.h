// The processor that --target names.
#pragma once
#include "passes/Schedule/Target.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace skewer::driver {
/// " (did you mean 'sm_80'?)" for the processor or GPU of the nearest name, or nothing.
std::string nearestTarget(llvm::StringRef name);
/// The description, or nothing after a message that lists the known names.
std::optional<Target> targetNamed(const std::string &name);
/// Those of a list "x86-64-v3,x86-64-v4", in the order in which a dispatcher chooses. Nothing after a message, also
/// where one is named twice.
std::optional<std::vector<Target>> targetsNamed(const std::string &names);
} // namespace skewer::driver
