// The language servers: of .attn files with --attn, else of .mlir files that use the attn dialect.
#include "dialect/IR/Attn.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/skewer-lsp-server/AttnServer.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc > 1 && llvm::StringRef(argv[1]) == "--attn") {
    if (argc == 2)
      return skewer::lsp::serveAttn();
    llvm::errs() << "usage: skewer-lsp-server --attn    (a client talks to it through standard input and output)\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<skewer::attn::AttnDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
