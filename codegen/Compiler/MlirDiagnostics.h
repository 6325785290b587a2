// Reports the diagnostics of MLIR's parser, verifiers and passes as the driver's diagnostics, at lines of the spec. A
// Compilation uses it while it imports and runs passes.
#pragma once
#include "codegen/Compiler/Messages.h"
#include "mlir/IR/Diagnostics.h"

namespace skewer {

/// Reports the context's diagnostics, at the lines of the buffers, during its lifetime.
class MlirDiagnostics {
public:
  MlirDiagnostics(llvm::SourceMgr &, mlir::MLIRContext *);

private:
  void sayAt(mlir::Location, language::Severity, const std::string &text, bool isAttached);

  llvm::SourceMgr &sources;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace skewer
