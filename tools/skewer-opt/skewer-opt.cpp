// skewer-opt: runs passes over modules of the attn dialect and of MLIR's own dialects, as mlir-opt does. It is for
// people who work on the passes, and for the tests.
#include "dialect/IR/Attn.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/plugins/PluginFile.h"
#include "llvm/Support/raw_ostream.h"
#ifdef SKEWER_HAS_PASSES
#include "passes/Register.h"
#endif

int main(int argc, char **argv) {
  // MLIR loads what it is told to load and goes on without what does not fit.
  for (const auto &[path, entry] : skewer::pluginsOnCommandLine(argc, argv))
    if (llvm::Error error = skewer::checkPlugin(path, entry)) {
      llvm::errs() << "skewer-opt: error: " << llvm::toString(std::move(error)) << "\n";
      return 1;
    }
  mlir::registerAllPasses();
#ifdef SKEWER_HAS_PASSES
  skewer::registerSkewerPasses();
#endif
  mlir::DialectRegistry registry;
#ifdef SKEWER_HAS_PASSES
  skewer::registerStrategies(registry);
#endif
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<skewer::attn::AttnDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Skewer modular optimizer driver\n", registry));
}
