// The .attn language: from text to the einsum form of the attn dialect.
#pragma once
#include "dialect/Language/Decisions.h"
#include "dialect/Language/Diagnostic.h"
#include "dialect/Language/Parameter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SourceMgr.h"
#include <set>

namespace skewer::language {

struct Options {
  /// Values of `param`s from the command line (-D NAME=VALUE); they take precedence over defaults in the text.
  Parameters parameters;
  /// The lengths (`size N <= 4096`) at which the layer is wanted; at its bound where there is none.
  std::map<std::string, int64_t> lengths;
  /// Which of the numbers that meet tensors, and of the tables of numbers over positions, in their order
  /// (Decision::Factor, Decision::Table), are computed when the kernel runs: they depend on a length. All others are
  /// constants.
  std::set<size_t> atRunTime;
  /// Which of them are made of whole numbers that are no sums of products of lengths, N^2: those are computed too.
  std::set<size_t> spelledOut;
  /// Receives what the text's numbers decide, where it is given.
  Decisions *decisions = nullptr;
};

/// Parses the main buffer of `sources` and emits one `func.func` for each `kernel`:
///   - argument i carries {attn.name = "q", attn.shape = ["batch", 4, 196, 128]} (a string is a run-time size) and has
///     the tensor type with `?` there; the result carries {attn.shape = […]} too;
///   - the function carries {attn.kernel, attn.sizes = ["batch", …]}, the run-time sizes in order of declaration, and
///     attn.lengths = {N = 4096 : i64}, the bounds of the lengths that the text declares, where it declares some: it is
///     the layer of the lengths that the options say;
///   - every operation has the FileLineColLoc of the text that said it, in a CallSiteLoc where that is a scheme's
///     (dialect/IR/TextPlace.h), in a NameLoc where a statement of the kernel
///     names its value; the location inside has the value's type as its metadata.
///   - a scalar beside a tensor is a splat arith.constant, or tensor.splat with tensor.dim where a size is a run-time
///   one;
///   - a tensor is repeated by attn.rearrange, or, along a run-time size, by an einsum with ones of that size;
///   - arithmetic is in f32: operands of f16 and bf16 pass arith.extf, einsums read them as they are.
/// Diagnostics (several in one run) go to `diagnostics`. Returns null after any error. Built-in schemes are found
/// without being named (dialect/Schemes).
mlir::OwningOpRef<mlir::ModuleOp> importSource(llvm::SourceMgr &sources, const Options &, mlir::MLIRContext *,
                                               DiagnosticSink diagnostics);
/// The same; diagnostics are printed.
inline mlir::OwningOpRef<mlir::ModuleOp> importSource(llvm::SourceMgr &sources, const Options &options,
                                                      mlir::MLIRContext *context, llvm::raw_ostream &out) {
  return importSource(sources, options, context, printingTo(out));
}
/// What a statement of a kernel gives a name to: its type, "f32[batch, 4, 196]", and its axes, "b h (iy ix)", which are
/// empty where a dimension has no name.
struct NamedTensor {
  std::string kernel, name, type, axes;
};
struct TypedText {
  /// A line for each tensor: place, name, element type and dimensions, and what computes it from which others.
  std::string text;
  std::vector<NamedTensor> names;
};
/// The tensors of each kernel. Nothing after an error.
std::optional<TypedText> typedTensors(llvm::SourceMgr &sources, const Options &, mlir::MLIRContext *,
                                      DiagnosticSink diagnostics);
/// The text at a location of an operation, of one character; no place where it is in none of the buffers.
llvm::StringRef placeOf(llvm::SourceMgr &sources, mlir::Location);
/// A note for each call of a scheme that led to a location, the innermost first.
void visitCalls(llvm::SourceMgr &sources, mlir::Location,
                llvm::function_ref<void(llvm::StringRef place, const std::string &text)> visit);

/// The functions of one argument that the language has, of numbers, positions and tensors alike: "exp", "abs".
std::vector<llvm::StringRef> functionsOfOneArgument();

/// Name and text of every built-in scheme file (dialect/Schemes/*.attn, embedded at build time).
struct SchemeFile {
  llvm::StringRef name, text;
};
llvm::ArrayRef<SchemeFile> builtinSchemes();

} // namespace skewer::language
