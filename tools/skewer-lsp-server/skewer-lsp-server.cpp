// skewer-lsp-server: the language servers that editors start, for .attn files with --attn, else for .mlir files that
// use the attn dialect.
#include "dialect/IR/Attn.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "passes/Register.h"
#include "tools/skewer-lsp-server/AttnServer.h"
#include "llvm/Support/raw_ostream.h"

static const char kHelp[] =
    "usage: skewer-lsp-server --attn      serves .attn files\n"
    "       skewer-lsp-server [OPTIONS]   serves .mlir files of the attn dialect and of MLIR's own\n"
    "\n"
    "A language server: an editor starts it and talks to it through standard input and output (Language Server Protocol).\n"
    "\n"
    "  --attn          errors, hover, completion, definitions and layout of .attn texts; alone on the line\n"
    "  --version       the version of Skewer\n"
    "  --help          this text\n"
    "  --help-hidden   the options for .mlir files: those of MLIR's own server\n"
    "\n"
    "How editors are told of it stands in share/doc/skewer/tools/editors/README.md of an installation.\n";

int main(int argc, char **argv) {
  llvm::StringRef first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h" || first == "help") {
    llvm::outs() << kHelp;
    return 0;
  }
  if (first == "--version") {
    llvm::outs() << "skewer-lsp-server " SKEWER_VERSION "\n";
    return 0;
  }
  if (first == "--attn") {
    if (argc == 2)
      return skewer::lsp::serveAttn();
    llvm::errs() << "usage: skewer-lsp-server --attn    (a client talks to it through standard input and output)\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<skewer::attn::AttnDialect>();
  skewer::registerStrategies(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
