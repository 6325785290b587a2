// The language server for .attn files, over standard input and output. The program's main function calls it for --attn.
#pragma once

namespace skewer::lsp {
/// Serves until the client sends `exit`. Returns the exit code of the process: 0 after `shutdown`, else 1.
int serveAttn();
} // namespace skewer::lsp
