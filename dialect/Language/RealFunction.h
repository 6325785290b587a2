// Real-valued functions of positions. They stay as written until their use decides how they are rounded.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include "dialect/Subscript/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <string_view>

namespace skewer::language {

struct Node;
struct RealFunction;
using RealPtr = std::shared_ptr<const RealFunction>;

enum class RealKind {
  Number, // number
  Index,  // index: a whole number
  Single, // f32(…): operands[0], rounded to f32
  Double, // f64(…): operands[0], not rounded to f32
  Negate,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide, // of whole numbers, like Modulo
  Modulo,
  Power,
  Less,
  LessEqual,
  Equal,
  NotEqual,
  And,
  Or,
  Not,
  Minimum,
  Maximum,
  Select,
  Abs,
  Floor,
  Ceil,
  Round, // to the nearest whole number, halves to the even one
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Tanh,
  Erf,
  Relu,
  Sigmoid
};

struct RealFunction {
  RealKind kind = RealKind::Number;
  double number = 0;
  subscript::Expr index;
  std::vector<RealPtr> operands;
  bool whole = false;         // accepts whole numbers only
  RealPtr made;               // Number: how it is computed from whole numbers, if lengths are among them
  const Node *node = nullptr; // where the specification writes it
  // The depth and size of the function written out as a tree; the size saturates.
  size_t depth = 1, size = 1;
};

RealPtr makeReal(double number, bool whole, const Node *);
RealPtr makeReal(subscript::Expr, const Node *);
RealPtr makeReal(RealKind, std::vector<RealPtr>, const Node *);

/// Returns the kind of a binary operator or of a function, by its name in the language.
std::optional<RealKind> realOperator(std::string_view);
std::optional<RealKind> realFunction(std::string_view);

/// Returns the first index expression for which `isWanted` is true; null if there is none. `isWanted` sees all index
/// expressions before it too.
const subscript::Expr *findIndex(const RealFunction &, llvm::function_ref<bool(const subscript::Expr &)> isWanted);
/// Returns the function with parts of its index expressions replaced. `replace` gives the replacements; it sees the
/// largest parts first.
RealPtr withIndices(const RealPtr &,
                    llvm::function_ref<std::optional<subscript::Expr>(const subscript::Expr &)> replace);
/// Adds the whole numbers of the function that lengths may decide.
void collectWholes(const RealFunction &, std::vector<int64_t> &wholes);
/// Returns whether the function consists of arithmetic alone, without mathematical functions and selections.
bool isArithmetic(const RealFunction &);
/// Returns whether the function consists of operations that tensors have. The condition of a selection is an index
/// expression, whatever it is made of.
bool isOfTensors(const RealFunction &);

/// The split of a function that is -inf wherever the condition `holds` is false, and `value` elsewhere.
struct LowestSplit {
  RealPtr value, holds;
};
/// Splits a function that selects or adds -inf. Nothing if it does neither, or if it selects or
/// adds an infinity of the other sign.
std::optional<LowestSplit> splitLowest(const RealPtr &);
/// Returns whether the function multiplies an infinity by something that may be 0.
bool multipliesInfinity(const RealFunction &);

/// A function compiled for evaluation at many points. If `single`, everything written outside f64(…) is rounded to f32
/// operation by operation, numbers and positions included, as a tensor of f32 would be; otherwise everything is a
/// double.
class RealProgram {
public:
  RealProgram(const RealFunction &, const std::vector<std::string> &axes, bool single);
  /// Returns the value at `point`; NaN if an index expression has no value.
  double run(const std::vector<int64_t> &point);

private:
  struct Instruction {
    RealKind kind;
    size_t operands[3];
    double number; // Index: the register of `indices` is operands[0]
    bool single;
  };
  size_t add(const RealFunction &, bool single);
  std::map<std::pair<const RealFunction *, bool>, size_t> known;
  std::vector<Instruction> code;
  std::vector<double> registers;
  subscript::Program indices;
};

/// The dependence of a function on positions: linear forms such as j - i, without their constants, each with its range.
/// A table over them has one dimension for each form.
struct RealForms {
  std::vector<subscript::Expr> forms;
  std::vector<subscript::Range> ranges;
  /// Returns the number of rows of the table; saturates.
  int64_t points() const;
  /// Returns the row of each form in the table: 0 at the low end of its range.
  std::vector<subscript::Expr> rows() const;
  /// The function, with the symbols "form0", "form1", … in place of the forms.
  RealPtr function;
  std::vector<std::string> symbols;
};
/// Returns the symbol of the k-th form.
std::string formSymbol(size_t k);
/// Returns the forms that give the smaller table: forms of positions, or forms of the quotients and remainders that the
/// function takes of positions. Nothing if an axis has no range in `domain`.
std::optional<RealForms> formsOf(const RealPtr &, const subscript::Domain &);
/// Returns the function as a selection between two others, each of which may depend on fewer positions; null if the
/// function selects nothing.
RealPtr choiceOf(const RealPtr &);

} // namespace skewer::language
