// Converts MLIR's locations to lines of a spec, and its severities to the driver's.
#include "codegen/Compiler/MlirDiagnostics.h"
#include "dialect/IR/TextPlace.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Language.h"

using namespace mlir;
using skewer::language::Severity;

namespace skewer {

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
        language::visitCalls(this->sources, diagnostic.getLocation(), [&](llvm::StringRef place, const std::string &text) {
          language::Diagnostic note = language::diagnosticAt(this->sources, place, Severity::Note, text);
          note.isAttached = true;
          say(std::move(note));
        });
        for (mlir::Diagnostic &note : diagnostic.getNotes())
          sayAt(note.getLocation(), Severity::Note, note.str(), /*isAttached=*/true);
      }) {}

void MlirDiagnostics::sayAt(Location location, Severity severity, const std::string &text, bool isAttached) {
  language::Diagnostic diagnostic =
      language::diagnosticAt(sources, language::placeOf(sources, location), severity, language::withoutConstraint(text));
  if (diagnostic.file.empty()) { // the location is in a file that is not loaded, or unknown
    attn::TextPlace at = attn::textPlaceOf(location);
    diagnostic.file =
        at.line ? at.file : sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier().str();
    diagnostic.line = at.line;
    diagnostic.column = at.column;
  }
  diagnostic.isAttached = isAttached;
  say(std::move(diagnostic));
}

} // namespace skewer
