// The manifest of a kernel as a JSON object. Manifest.cpp makes it for one target, and Dispatch.cpp joins several
// manifests.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "passes/Schedule/Target.h"
#include "llvm/Support/JSON.h"

namespace skewer {

/// Returns the manifest of a kernel for one target. `details` is JSON. The object refers to the text of `specHash`.
llvm::json::Object manifestOf(const KernelPlan &, const Target &, llvm::StringRef specHash, llvm::StringRef details);
/// Returns the text of a manifest, with its keys in alphabetical order.
std::string textOf(llvm::json::Object manifest);

} // namespace skewer
