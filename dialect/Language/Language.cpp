// The entry point of the language: parses, types, emits and verifies a specification.
#include "dialect/Language/Language.h"
#include "dialect/IR/TextPlace.h"
#include "dialect/Language/Emission.h"
#include "dialect/Language/Typer.h"
#include "dialect/Language/Parser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace llvm;
using namespace mlir;

namespace skewer::language {

/// Returns the place of a line and column; `file` is the name of a buffer.
static StringRef placeAt(SourceMgr &sources, StringRef file, unsigned line, unsigned column) {
  for (unsigned buffer = 1; line && buffer <= sources.getNumBuffers(); ++buffer)
    if (sources.getMemoryBuffer(buffer)->getBufferIdentifier() == file)
      if (SMLoc place = sources.FindLocForLineAndColumn(buffer, line, column); place.isValid())
        return StringRef(place.getPointer(), 1);
  return {};
}

StringRef placeOf(SourceMgr &sources, Location location) {
  attn::TextPlace place = attn::textPlaceOf(location);
  return placeAt(sources, place.file, place.line, place.column);
}

void visitCalls(SourceMgr &sources, Location location,
                llvm::function_ref<void(StringRef place, const std::string &text)> visit) {
  for (const attn::SchemeCallPlace &call : attn::textPlaceOf(location).calls)
    visit(placeAt(sources, call.file, call.line, call.column), noteOfCall(call.scheme));
}

/// Imports a text and calls `visit` with each kernel after it is typed.
static OwningOpRef<ModuleOp> importText(SourceMgr &sources, const Options &options, MLIRContext *context,
                                    DiagnosticSink sink, llvm::function_ref<void(const typed::Kernel &)> visit) {
  context->loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect, tensor::TensorDialect,
                       func::FuncDialect>();
  Diagnostics diagnostics(sources, sink);
  const MemoryBuffer *buffer = sources.getMemoryBuffer(sources.getMainFileID());
  std::string file = buffer->getBufferIdentifier().str();
  constexpr size_t kMaximumBytes = 64 << 20;
  if (buffer->getBufferSize() > kMaximumBytes) {
    sink({Severity::Error,
          "a specification has at most 64 MiB, found " + std::to_string(buffer->getBufferSize()) + " bytes", file});
    return nullptr;
  }
  if (buffer->getBuffer().contains('\0')) {
    sink({Severity::Error, "this is not a text file; expected a specification", file});
    return nullptr;
  }
  Program program;
  Parser(buffer->getBuffer(), diagnostics).program(program);
  if (diagnostics.exhausted())
    return nullptr;
  bool parsed = !diagnostics.hasErrors();

  std::vector<Program> builtins(builtinSchemes().size());
  for (size_t k = 0; k < builtins.size(); ++k) {
    const SchemeFile &file = builtinSchemes()[k];
    unsigned id = sources.AddNewSourceBuffer(
        MemoryBuffer::getMemBuffer(file.text, ("built-in " + file.name + ".attn").str()), SMLoc());
    Parser(sources.getMemoryBuffer(id)->getBuffer(), diagnostics).program(builtins[k]);
  }
  Typer typer(diagnostics, options, context);
  for (const Program &builtin : builtins)
    typer.addBuiltins(builtin);
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  typer.type(program, [&](const typed::Kernel &kernel) {
    visit(kernel);
    builder.setInsertionPointToEnd(module->getBody());
    EmittedKernel emitted = emitKernel(kernel, builder, sources);
    checkKernel(kernel, emitted, diagnostics, [&](StringRef name) { return typer.isWholeParam(name); });
  });
  if (!parsed || diagnostics.hasErrors())
    return nullptr;

  // The front end checks what it emits; the verifier is the final check.
  ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &diagnostic) {
    std::string message = diagnostic.str();
    StringRef place = placeOf(sources, diagnostic.getLocation());
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      auto about = withoutOperation(message);
      diagnostics.error(place, about ? "this has no meaning: " + *about : message);
    } else
      diagnostics.warning(place, message);
    visitCalls(sources, diagnostic.getLocation(),
               [&](StringRef call, const std::string &text) { diagnostics.note(call, text); });
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      diagnostics.note(placeOf(sources, note.getLocation()), note.str());
    return success();
  });
  if (failed(verify(*module)))
    return nullptr;
  return module;
}

OwningOpRef<ModuleOp> importSource(SourceMgr &sources, const Options &options, MLIRContext *context,
                                   DiagnosticSink sink) {
  return importText(sources, options, context, std::move(sink), [](const typed::Kernel &) {});
}

std::optional<TypedText> typedTensors(SourceMgr &sources, const Options &options, MLIRContext *context,
                                      DiagnosticSink sink) {
  TypedText typed;
  raw_string_ostream out(typed.text);
  auto visit = [&](const typed::Kernel &kernel) {
    typed::print(kernel, sources, out);
    for (const typed::Name &name : kernel.names)
      typed.names.push_back({kernel.name.str(), name.name.str(),
                             typed::nameOf(name.tensor->element).str() + describe(name.dimensions),
                             isNamed(name.dimensions) ? describeAxes(name.dimensions) : ""});
  };
  return importText(sources, options, context, std::move(sink), visit) ? std::optional(typed) : std::nullopt;
}

} // namespace skewer::language
