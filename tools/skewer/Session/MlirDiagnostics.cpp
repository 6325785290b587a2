// From MLIR's locations to lines of a spec.
#include "tools/skewer/Session/MlirDiagnostics.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Language.h"

using namespace mlir;
using skewer::language::Severity;

namespace skewer::driver {

static Severity severityOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return Severity::Note;
  case DiagnosticSeverity::Warning:
    return Severity::Warning;
  case DiagnosticSeverity::Error:
    return Severity::Error;
  case DiagnosticSeverity::Remark:
    return Severity::Remark;
  }
  return Severity::Error;
}

MlirDiagnostics::MlirDiagnostics(llvm::SourceMgr &sources, MLIRContext *context)
    : sources(sources), handler(context, [this](mlir::Diagnostic &diagnostic) {
        sayAt(diagnostic.getLocation(), severityOf(diagnostic.getSeverity()), diagnostic.str(), /*isAttached=*/false);
        for (mlir::Diagnostic &note : diagnostic.getNotes())
          sayAt(note.getLocation(), Severity::Note, note.str(), /*isAttached=*/true);
      }) {}

void MlirDiagnostics::sayAt(Location location, Severity severity, const std::string &text, bool isAttached) {
  language::Diagnostic diagnostic =
      language::diagnosticAt(sources, language::placeOf(sources, location), severity, language::withoutConstraint(text));
  if (diagnostic.file.empty()) { // a line of a file that is not at hand, or no line at all
    auto at = location->findInstanceOf<FileLineColLoc>();
    diagnostic.file = at ? at.getFilename().str()
                         : sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier().str();
    diagnostic.line = at ? at.getLine() : 0;
    diagnostic.column = at ? at.getColumn() : 0;
  }
  diagnostic.isAttached = isAttached;
  say(std::move(diagnostic));
}

} // namespace skewer::driver
