// Reports the diagnostics of MLIR as the driver's diagnostics.
#pragma once
#include "codegen/Compiler/Messages.h"
#include "mlir/IR/Diagnostics.h"

namespace skewer {

/// Reports the diagnostics of the context, at the lines of the buffers, while it lives.
class MlirDiagnostics {
public:
  MlirDiagnostics(llvm::SourceMgr &, mlir::MLIRContext *);

private:
  void sayAt(mlir::Location, language::Severity, const std::string &text, bool isAttached);

  llvm::SourceMgr &sources;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace skewer
