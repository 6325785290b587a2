// Turns the front end's diagnostics about a text into messages for an editor.
#pragma once
#include "dialect/Language/Parameter.h"
#include "llvm/Support/LSP/Protocol.h"

namespace skewer::lsp {

/// Returns the values of params from a comment of the text that shows how its author calls it: `# skewer run layer.attn
/// -D N=64`.
language::Parameters parametersIn(llvm::StringRef text);

/// Returns errors, warnings and notes about a text; a note is part of the message that it belongs to.
std::vector<llvm::lsp::Diagnostic> diagnose(llvm::StringRef text, const llvm::lsp::URIForFile &);

} // namespace skewer::lsp
