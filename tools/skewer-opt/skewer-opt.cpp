// Runs passes over modules of the attn dialect and of MLIR's own dialects: for people who work on the IR.
#include "dialect/IR/Attn.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#ifdef SKEWER_HAS_PASSES
#include "passes/Pipelines.h"
#endif

int main(int argc, char **argv) {
  mlir::registerAllPasses();
#ifdef SKEWER_HAS_PASSES
  skewer::registerSkewerPasses();
#endif
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<skewer::attn::AttnDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Skewer modular optimizer driver\n", registry));
}
