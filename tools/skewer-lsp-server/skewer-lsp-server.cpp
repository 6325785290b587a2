// The language server for .mlir files that use the attn dialect: diagnostics, definitions and hovers in editors.
#include "dialect/IR/Attn.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<skewer::attn::AttnDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
