// A kernel after typing: every tensor that it computes, with all that is decided about it. Typing makes these; emission
// (Emission.h) writes an operation for each, one after the other, and decides nothing. Plain data: no MLIR.
#pragma once
#include "dialect/IR/IndexMaps.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Values.h"
#include "dialect/Subscript/Checks.h"
#include <memory>
#include <variant>

namespace skewer::language::typed {

/// How elements are stored. Arithmetic is in f32.
enum class Element { F32, F16, BF16, I32, I8 };

/// One of the kernel's operands, which no operation computes.
struct Argument {
  size_t number = 0;
};
/// Numbers that are known at compile time, row-major.
struct Constant {
  std::vector<float> elements;
};
/// One number everywhere.
struct Splat {
  float number = 0;
};
/// A function of positions along `axes`, which name the dimensions.
struct Position {
  std::string axes;
  subscript::Expr expression;
};

/// Where the text of an einsum stands, for what is said of its subscripts when all of the kernel is known.
struct Places {
  std::vector<std::string> operandNames;                // as written
  std::vector<std::vector<llvm::StringRef>> dimensions; // of the operands' dimensions
  Diagnostics::Calls calls;                             // of schemes, that were open
};
/// A contraction. `spec` is what `text` says; `sizes` are those of the axes that no operand has.
struct Einsum {
  std::string text;
  subscript::Einsum spec;
  subscript::AxisSizes sizes;
  std::optional<subscript::Expr> guard; // the elements at which it does not hold are 0
  std::shared_ptr<const Places> places; // null where no text of a subscript stands behind it

  Einsum(std::string text, subscript::AxisSizes sizes, std::optional<subscript::Expr> guard = std::nullopt);
};

/// A softmax, or the logarithm of what it divides by, of the rows along `over` less what the mask hides.
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

/// A function of each element, or of the elements of two tensors of one shape, that is one operation.
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

/// A tensor of a kernel and what computes it.
struct Tensor {
  Operation operation;
  std::vector<Tensor *> operands;
  Dimensions dimensions; // in their order, by the names that they had when it was made
  Element element = Element::F32;
  llvm::StringRef place;        // of the text that says it
  Diagnostics::Calls calls = {}; // of schemes, that led there
  /// What the first statement that names it calls it, and its elements then; empty where none does.
  llvm::StringRef name = {};
  Element namedElement = Element::F32;
  size_t uses = 0; // by other tensors, and as results

  template <typename Kind> const Kind *as() const { return std::get_if<Kind>(&operation); }
};

/// How seeded values of an operand lie: around a mean, or between two numbers.
struct Spread {
  std::optional<double> deviation, mean, from, to;
};
struct Operand {
  llvm::StringRef name; // and its place
  Dimensions dimensions;
  Element element = Element::F32;
  bool isConst = false;
  std::optional<subscript::Range> range = {}; // that the text promises
  llvm::StringRef low = {}, high = {};        // the places of its ends
  Spread spread = {};
};
struct Result {
  llvm::StringRef name; // empty where it has none
  Dimensions dimensions;
  Element element = Element::F32;
};
/// Where the part of an axis begins that the kernel computes: a word of its argument struct.
struct Origin {
  llvm::StringRef name;
  llvm::StringRef axis; // the place of its declaration
  subscript::Range range;
};

/// What a statement of the kernel gives a name to: several may name one tensor, each by axes of its own.
struct Name {
  llvm::StringRef name;
  const Tensor *tensor = nullptr;
  Dimensions dimensions;
};

/// Where lookups are written that are not certain to stay inside there, for what is said of them when all of the kernel
/// is known: reads by their operand, constant tables by their rows.
struct Lookups {
  std::map<std::string, llvm::StringRef> reads;
  std::map<std::vector<int64_t>, llvm::StringRef> tables;
};

struct Kernel {
  llvm::StringRef name; // and its place
  std::vector<Operand> operands;
  std::vector<Result> results;
  std::vector<Origin> origins;                          // arguments too, behind the operands
  std::vector<std::string> runtimeSizes;                // that its operands have, in order of declaration
  std::vector<std::pair<std::string, int64_t>> lengths; // and their bounds
  std::vector<std::unique_ptr<Tensor>> tensors;         // in the order in which they were made
  std::vector<Name> names;                              // in the order of the statements
  std::vector<Tensor *> returned;                       // one a result
  llvm::StringRef returnPlace;
  Lookups lookups;

  Tensor *append(Tensor);
  /// Erases what neither a result nor a tensor that is left is made of.
  void eraseUnused();
  bool hasRuntimeSize(const std::string &) const;
  /// The operand, of whole numbers, that texts read by this name; null where it is none.
  const Operand *indexOperand(llvm::StringRef name) const;
  /// What the kernel promises of the elements of its index operands, and where its parts begin.
  void addRanges(subscript::Domain &) const;
  /// The sizes of an einsum's axes.
  std::optional<subscript::AxisSizes> sizesOf(const Tensor &einsum) const;
};

/// The error about a constant table that is read outside its places. `place` is that of the text which the table stands
/// in, if it is not known where the table itself is written.
void sayTableOutside(Diagnostics &, const Lookups &, llvm::StringRef place, const subscript::TableOutside &);

/// How a skew, a pad, a reshape or a slice moves the elements of its operand.
attn::IndexMap indexMapOf(const Tensor &);

/// "exp", "+", "min": a function as texts write it, "neg" where they write a sign.
llvm::StringRef nameOf(Function);
/// The function of that name.
std::optional<Function> functionNamed(llvm::StringRef);
/// "f32", "bf16": an element type as texts write it.
llvm::StringRef nameOf(Element);
/// The element type of that name; f32 where it is none.
Element elementNamed(llvm::StringRef);

/// "f32[b = batch, i = 14, (jy jx) = 196, _ = 3]": the dimensions by their first names.
std::string describe(const Dimensions &, Element);
/// The kernel as text: a line for each tensor with its place, name, operation and dimensions.
void print(const Kernel &, llvm::SourceMgr &, llvm::raw_ostream &);

} // namespace skewer::language::typed
