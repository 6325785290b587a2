// Reads the text of a spec, from a file, standard input or memory, and rejects content that no parser should have to
// handle. Every import of a spec begins here.
#pragma once
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>
#include <string>

namespace skewer {

enum class SpecKind { Attn, Mlir };

/// Reads the file into `sources` as its main buffer. On failure (missing, a folder, a device, empty, binary, an
/// excessively long line or deep nesting) prints a diagnostic and returns false.
bool openSpec(const std::string &path, llvm::SourceMgr &sources, SpecKind &kind);
/// Does the same for an .attn text from standard input, which messages call <stdin>.
bool openStandardInput(llvm::SourceMgr &sources, SpecKind &kind);
/// Does the same for a text in memory. Diagnostics use the buffer's name; its ending gives the kind.
bool addSpec(std::unique_ptr<llvm::MemoryBuffer>, llvm::SourceMgr &sources, SpecKind &kind);

} // namespace skewer
