// The text of a spec, checked for what no parser should have to meet.
#pragma once
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>
#include <string>

namespace skewer::driver {

enum class SpecKind { Attn, Mlir };

/// Reads the file into `sources` as its main buffer. On failure (missing, a folder, a device, empty, binary, a line or
/// nesting beyond all use) prints a diagnostic and returns false.
bool openSpec(const std::string &path, llvm::SourceMgr &sources, SpecKind &kind);
/// The same of an .attn text from standard input, which messages call <stdin>.
bool openStandardInput(llvm::SourceMgr &sources, SpecKind &kind);
/// The same for a text in memory; diagnostics call it by the buffer's name, whose ending says which kind it is.
bool addSpec(std::unique_ptr<llvm::MemoryBuffer>, llvm::SourceMgr &sources, SpecKind &kind);

} // namespace skewer::driver
