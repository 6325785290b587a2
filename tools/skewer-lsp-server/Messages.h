// What the front end prints about a text, as the messages of an editor.
#pragma once
#include "dialect/Language/Parameter.h"
#include "llvm/Support/LSP/Protocol.h"

namespace skewer::lsp {

/// Values of params that a comment of the text gives, as its author calls it: `# skewer run layer.attn -D N=64`.
language::Parameters parametersIn(llvm::StringRef text);

/// Errors, warnings and notes about a text; notes are part of what they belong to.
std::vector<llvm::lsp::Diagnostic> diagnose(llvm::StringRef text, const llvm::lsp::URIForFile &);

} // namespace skewer::lsp
