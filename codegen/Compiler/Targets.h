// Finds the processors and GPUs that a request names. `compile` and the commands call it; errors list the known names.
#pragma once
#include "codegen/GPU/GpuTarget.h"
#include "passes/Schedule/Target.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer {
/// Returns " (did you mean 'sm_80'?)" for the processor or GPU with the nearest name; empty if none is near.
std::string nearestTarget(llvm::StringRef name);
/// Returns the description of a processor; nothing after a message that lists the known names.
std::optional<Target> targetNamed(const std::string &name);
/// Returns the targets of a list "x86-64-v3,x86-64-v4", in the order in which a dispatcher chooses. Nothing after a
/// message; a duplicate name is also an error.
std::optional<std::vector<Target>> targetsNamed(const std::string &names);
/// Removes the GPUs ("sm_80") from a list of targets and returns them. The processors remain in `targets`, which may
/// become empty. Returns nothing after a message if a GPU is unknown.
std::optional<std::vector<gpu::GpuTarget>> takeGpuTargets(std::string &targets);
} // namespace skewer
