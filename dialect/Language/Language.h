// The entry point of the .attn language: turns source text into the einsum form of the attn dialect. The driver calls
// it once for a specification, and again at several lengths if the layer has run-time lengths.
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
  /// The values of `param`s from the command line (-D NAME=VALUE); they override defaults in the text.
  Parameters parameters;
  /// The lengths (`size N <= 4096`) at which the layer is wanted; a length without an entry is at its bound.
  std::map<std::string, int64_t> lengths;
  /// The numbers that meet tensors, and the tables of numbers over positions, which the kernel computes at run time
  /// because they depend on a length. Both are counted together, in their order (Decision::Factor, Decision::Table).
  /// All others are constants.
  std::set<size_t> atRunTime;
  /// The numbers and tables, counted as in `atRunTime`, that are made of whole numbers which are no sums of products of
  /// distinct lengths, such as N^2: the kernel computes these whole numbers too.
  std::set<size_t> spelledOut;
  /// If given, receives the decisions that the text's numbers cause.
  Decisions *decisions = nullptr;
};

/// Parses the main buffer of `sources` and emits one `func.func` for each `kernel`:
///   - argument i carries {attn.name = "q", attn.shape = ["batch", 4, 196, 128]} (a string is a run-time size) and has
///     the tensor type with `?` there; the result carries {attn.shape = […]} too;
///   - the function carries {attn.kernel, attn.sizes = ["batch", …]}, the run-time sizes in order of declaration, and
///     attn.lengths = {N = 4096 : i64}, the bounds of the lengths, if the text declares some; it is the layer at the
///     lengths given in the options;
///   - every operation has the FileLineColLoc of its source text, in a CallSiteLoc if that is in a scheme
///     (dialect/IR/TextPlace.h), in a NameLoc if a statement of the kernel names its value; the location inside has the
///     value's type as its metadata;
///   - a scalar beside a tensor is a splat arith.constant, or tensor.splat with tensor.dim if a size is a run-time one;
///   - a tensor is repeated by attn.rearrange, or, along a run-time size, by an einsum with ones of that size;
///   - arithmetic is in f32: operands of f16 and bf16 pass arith.extf, einsums read them as they are.
/// Diagnostics (several in one run) go to `diagnostics`. Returns null after any error. Built-in schemes
/// (dialect/Schemes) need no import.
mlir::OwningOpRef<mlir::ModuleOp> importSource(llvm::SourceMgr &sources, const Options &, mlir::MLIRContext *,
                                               DiagnosticSink diagnostics);
/// Imports the main buffer as above and prints the diagnostics to `out`.
inline mlir::OwningOpRef<mlir::ModuleOp> importSource(llvm::SourceMgr &sources, const Options &options,
                                                      mlir::MLIRContext *context, llvm::raw_ostream &out) {
  return importSource(sources, options, context, printingTo(out));
}
/// A tensor that a statement of a kernel names: its type, "f32[batch, 4, 196]", and its axes, "b h (iy ix)". `axes` is
/// empty if a dimension has no name.
struct NamedTensor {
  std::string kernel, name, type, axes;
};
struct TypedText {
  /// One line for each tensor: place, name, element type and dimensions, and the operation and operands that compute
  /// it.
  std::string text;
  std::vector<NamedTensor> names;
};
/// Returns the tensors of each kernel. Nothing after an error.
std::optional<TypedText> typedTensors(llvm::SourceMgr &sources, const Options &, mlir::MLIRContext *,
                                      DiagnosticSink diagnostics);
/// Returns the one-character text at an operation's location; no place if it is in none of the buffers.
llvm::StringRef placeOf(llvm::SourceMgr &sources, mlir::Location);
/// Calls `visit` with a note for each call of a scheme that led to a location, the innermost first.
void visitCalls(llvm::SourceMgr &sources, mlir::Location,
                llvm::function_ref<void(llvm::StringRef place, const std::string &text)> visit);

/// Returns the functions of one argument that the language has, for numbers, positions and tensors alike: "exp", "abs".
std::vector<llvm::StringRef> functionsOfOneArgument();

/// The name and text of a built-in scheme file (dialect/Schemes/*.attn, embedded at build time).
struct SchemeFile {
  llvm::StringRef name, text;
};
llvm::ArrayRef<SchemeFile> builtinSchemes();

} // namespace skewer::language
