// The text of a spec, checked for what no parser should have to meet.
#pragma once
#include "llvm/Support/SourceMgr.h"
#include <string>

namespace skewer::driver {

enum class SpecKind { Attn, Mlir };

/// Reads the file into `sources` as its main buffer. On failure (missing, a folder, a device, empty, binary, a line or
/// nesting beyond all use) prints a diagnostic and returns false.
bool openSpec(const std::string &path, llvm::SourceMgr &sources, SpecKind &kind);

} // namespace skewer::driver
