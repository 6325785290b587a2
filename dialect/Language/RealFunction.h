// Real-valued functions of positions, kept as they are written until their use says how they are rounded.
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
  Single, // f32(…): operands[0] rounded to f32
  Double, // f64(…): operands[0] without rounding to f32
  Negate,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide, // of whole numbers, as Modulo
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
  bool whole = false;         // takes whole numbers only
  RealPtr made;               // Number: how it is made of whole numbers, where lengths are among them
  const Node *node = nullptr; // where it is written
  size_t depth = 1, size = 1; // of the tree that it is written out as; the size saturates
};

RealPtr makeReal(double number, bool whole, const Node *);
RealPtr makeReal(subscript::Expr, const Node *);
RealPtr makeReal(RealKind, std::vector<RealPtr>, const Node *);

/// The kind of a binary operator or of a function by its name in the language.
std::optional<RealKind> realOperator(std::string_view);
std::optional<RealKind> realFunction(std::string_view);

/// The first index expression in it that is wanted; null where none is. `isWanted` sees those before it too.
const subscript::Expr *findIndex(const RealFunction &, llvm::function_ref<bool(const subscript::Expr &)> isWanted);
/// The function with others for parts of its index expressions. `replace` gives them, of the largest parts first.
RealPtr withIndices(const RealPtr &,
                    llvm::function_ref<std::optional<subscript::Expr>(const subscript::Expr &)> replace);
/// Adds the whole numbers in it that lengths may decide.
void collectWholes(const RealFunction &, std::vector<int64_t> &wholes);
/// Whether the function is made of arithmetic alone: no function of the mathematical kind, no selection.
bool isArithmetic(const RealFunction &);

/// A function that is -inf wherever `holds`, a condition, does not hold; elsewhere it is `value`.
struct LowestSplit {
  RealPtr value, holds;
};
/// Nothing where no -inf is selected or added in it, and where one of the other sign is.
std::optional<LowestSplit> splitLowest(const RealPtr &);
/// Whether an infinity is multiplied by something that may be 0.
bool multipliesInfinity(const RealFunction &);

/// A function compiled for evaluation at many points. Where `single`, what is written outside f64(…) is rounded to f32
/// operation by operation, numbers and positions included, as a tensor of f32 would be; else everything is a double.
class RealProgram {
public:
  RealProgram(const RealFunction &, const std::vector<std::string> &axes, bool single);
  /// NaN where an index expression has no value.
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

/// What a function of positions depends on: linear forms such as j - i, without their constants, each with its range.
/// A table over them has as many dimensions as there are forms.
struct RealForms {
  std::vector<subscript::Expr> forms;
  std::vector<subscript::Range> ranges;
  /// Rows of the table; saturates.
  int64_t points() const;
  /// 0 for the first form at the low end of its range, ….
  std::vector<subscript::Expr> rows() const;
  /// The function over the symbols "form0", "form1", … in the place of the forms.
  RealPtr function;
  std::vector<std::string> symbols;
};
/// The symbol of the k-th form.
std::string formSymbol(size_t k);
/// Those with the smaller table: of positions, or of quotients and remainders that the function takes of them. Nothing
/// where an axis has no range in `domain`.
std::optional<RealForms> formsOf(const RealPtr &, const subscript::Domain &);
/// The function as a selection between two others, each of which may depend on less; null where nothing is selected in
/// it.
RealPtr choiceOf(const RealPtr &);

} // namespace skewer::language
