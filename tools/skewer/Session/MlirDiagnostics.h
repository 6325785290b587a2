// Reports the diagnostics of MLIR as the driver's diagnostics.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include "tools/skewer/Messages.h"

namespace skewer::driver {

/// Reports the diagnostics of the context, at the lines of the buffers, while it lives.
class MlirDiagnostics {
public:
  MlirDiagnostics(llvm::SourceMgr &, mlir::MLIRContext *);

private:
  void sayAt(mlir::Location, language::Severity, const std::string &text, bool isAttached);

  llvm::SourceMgr &sources;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace skewer::driver
