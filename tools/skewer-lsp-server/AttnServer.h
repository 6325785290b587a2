// The language server for .attn files, over standard input and output.
#pragma once

namespace skewer::lsp {
/// Until the client says `exit`; the process's exit code: 0 after `shutdown`, else 1.
int serveAttn();
} // namespace skewer::lsp
