// A kernel after typing: every tensor that it computes, with all decisions about it. The typer (Typer.h) makes it.
// Emission (Emission.h) then writes one operation for each tensor in order, and decides nothing. Plain data: no MLIR.
#pragma once
#include "dialect/IR/IndexMaps.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Values.h"
#include "dialect/Subscript/Checks.h"
#include <memory>
#include <variant>

namespace skewer::language::typed {

/// The storage type of elements. Arithmetic is in f32.
enum class Element { F32, F16, BF16, I32, I8, F8E4M3 };

/// One of the kernel's operands; no operation computes it.
struct Argument {
  size_t number = 0;
};
/// Numbers that are known at compile time, row-major.
struct Constant {
  std::vector<float> elements;
};
/// The same number everywhere.
struct Splat {
  float number = 0;
};
/// A function of positions along `axes`, which name the dimensions.
struct Position {
  std::string axes;
  subscript::Expr expression;
};

/// The source places of an einsum's text, for errors about its subscripts after the whole kernel is typed.
struct Places {
  std::vector<std::string> operandNames;                // as written
  std::vector<std::vector<llvm::StringRef>> dimensions; // of the operands' dimensions
  Diagnostics::Calls calls;                             // the open calls of schemes
};
/// A contraction. `spec` is the parsed `text`; `sizes` are the sizes of axes that no operand has.
struct Einsum {
  std::string text;
  subscript::Einsum spec;
  subscript::AxisSizes sizes;
  std::optional<subscript::Expr> guard; // elements at which it does not hold are 0
  std::shared_ptr<const Places> places; // null if no text of a subscript belongs to it

  Einsum(std::string text, subscript::AxisSizes sizes, std::optional<subscript::Expr> guard = std::nullopt);
};

/// A softmax of the rows along `over`, or the logarithm of its divisor, without the elements that the mask hides.
struct Rows {
  bool isSoftmax = true;
  std::string axes, over;
  std::optional<subscript::Expr> mask;
};
/// The largest or the least element along the axes that the result lacks.
struct Extremum {
  bool isLeast = false;
  std::string text;
  subscript::AxisSizes sizes;
};
struct Rearrange {
  std::string text;
  subscript::AxisSizes sizes;
};

/// A function of each element, or of the elements of two tensors of one shape. Each is one operation.
enum class Function {
  Negate,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Tanh,
  Sin,
  Cos,
  Erf,
  Floor,
  Ceil,
  Round,
  Abs,
  Add,
  Subtract,
  Multiply,
  Divide,
  Power,
  Minimum,
  Maximum
};
struct Elementwise {
  Function function;
};
/// A function of elements that the dialect or a plugin defines.
struct Apply {
  std::string function;
};
/// The same numbers as elements of another type.
struct Cast {};

struct Skew {};
struct Pad {
  std::vector<int64_t> low, high;
  double value = 0;
};
struct Reshape {};
struct Slice {
  std::vector<int64_t> offsets, strides;
};
/// Rows of one dimension, picked by a matrix of that shape.
struct Gather {
  int64_t dimension = 0;
  std::vector<int64_t> shape, rows;
};
struct Concat {
  int64_t dimension = 0;
};

using Operation = std::variant<Argument, Constant, Splat, Position, Einsum, Rows, Extremum, Rearrange, Elementwise,
                               Apply, Cast, Skew, Pad, Reshape, Slice, Gather, Concat>;

/// A tensor of a kernel and the operation that computes it.
struct Tensor {
  Operation operation;
  std::vector<Tensor *> operands;
  Dimensions dimensions; // in order, with the names that they had when the tensor was made
  Element element = Element::F32;
  llvm::StringRef place;        // in the source
  Diagnostics::Calls calls = {}; // the calls of schemes that led there
  /// The name that the first statement naming this tensor gives it, and the element type at that point; empty if no
  /// statement names it.
  llvm::StringRef name = {};
  Element namedElement = Element::F32;
  size_t uses = 0; // by other tensors, and as results

  template <typename Kind> const Kind *as() const { return std::get_if<Kind>(&operation); }
};

/// The distribution of seeded values of an operand: around a mean, or between two numbers.
struct Spread {
  std::optional<double> deviation, mean, from, to;
};
struct Operand {
  llvm::StringRef name; // also gives the place
  Dimensions dimensions;
  Element element = Element::F32;
  bool isConst = false;
  std::optional<subscript::Range> range = {}; // promised by the specification
  llvm::StringRef low = {}, high = {};        // the places of its ends
  Spread spread = {};
};
struct Result {
  llvm::StringRef name; // empty if it has no name
  Dimensions dimensions;
  Element element = Element::F32;
};
/// The first position of the part of an axis that the kernel computes: a word of its argument struct.
struct Origin {
  llvm::StringRef name;
  llvm::StringRef axis; // the place of its declaration
  subscript::Range range;
};

/// A name that a statement of the kernel gives to a tensor. Several statements may name one tensor, each with axes of
/// its own.
struct Name {
  llvm::StringRef name;
  const Tensor *tensor = nullptr;
  Dimensions dimensions;
};

/// Source places of lookups that may read out of bounds where they are written, for errors after the whole kernel is
/// typed: reads by their operand, constant tables by their rows.
struct Lookups {
  std::map<std::string, llvm::StringRef> reads;
  std::map<std::vector<int64_t>, llvm::StringRef> tables;
};

struct Kernel {
  llvm::StringRef name; // also gives the place
  std::vector<Operand> operands;
  std::vector<Result> results;
  std::vector<Origin> origins;                          // also arguments, after the operands
  std::vector<std::string> runtimeSizes;                // those that the operands have, in order of declaration
  std::vector<std::pair<std::string, int64_t>> lengths; // with their bounds
  std::vector<std::unique_ptr<Tensor>> tensors;         // in the order of creation
  std::vector<Name> names;                              // in the order of the statements
  std::vector<Tensor *> returned;                       // one for each result
  llvm::StringRef returnPlace;
  Lookups lookups;

  Tensor *append(Tensor);
  /// Erases the tensors that no result depends on.
  void eraseUnused();
  bool hasRuntimeSize(const std::string &) const;
  /// Returns the operand of whole numbers that specifications read by this name; null if there is none.
  const Operand *indexOperand(llvm::StringRef name) const;
  /// Adds the ranges that the kernel promises for elements of its index operands and for the origins of its parts.
  void addRanges(subscript::Domain &) const;
  /// Returns the sizes of an einsum's axes.
  std::optional<subscript::AxisSizes> sizesOf(const Tensor &einsum) const;
};

/// Reports the error about a constant table that is read out of bounds. `place` is the place of the text that contains
/// the table, used if the place of the table itself is unknown.
void sayTableOutside(Diagnostics &, const Lookups &, llvm::StringRef place, const subscript::TableOutside &);

/// Returns how a skew, a pad, a reshape or a slice moves the elements of its operand.
attn::IndexMap indexMapOf(const Tensor &);

/// Returns the name of a function as specifications write it: "exp", "+", "min"; "neg" for the sign.
llvm::StringRef nameOf(Function);
/// Returns the function of that name; nothing if there is none.
std::optional<Function> functionNamed(llvm::StringRef);
/// Returns the name of an element type as specifications write it: "f32", "bf16".
llvm::StringRef nameOf(Element);
/// Returns the element type of that name; f32 if there is none.
Element elementNamed(llvm::StringRef);

/// Returns the dimensions by their first names: "f32[b = batch, i = 14, (jy jx) = 196, _ = 3]".
std::string describe(const Dimensions &, Element);
/// Prints the kernel as text: one line for each tensor with its place, name, operation and dimensions.
void print(const Kernel &, llvm::SourceMgr &, llvm::raw_ostream &);

} // namespace skewer::language::typed
