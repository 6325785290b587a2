// The processor that --target names.
#pragma once
#include "passes/Schedule/Target.h"

namespace skewer::driver {
/// The description, or nothing after a message that lists the known names.
std::optional<Target> targetNamed(const std::string &name);
} // namespace skewer::driver
