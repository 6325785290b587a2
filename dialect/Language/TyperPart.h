// The base of all parts of the typer. It holds what they share: the names that a piece of the specification sees, the
// kernel at hand, and the way to the other parts. Each part is a class of its own, which holds what it alone needs
// (Typer.h has all of them).
#pragma once
#include "dialect/IR/ElementFunction.h"
#include "dialect/Language/Ast.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Language.h"
#include "dialect/Language/Resolver.h"
#include "dialect/Language/Typed.h"
#include "dialect/Subscript/Checks.h"

namespace skewer::language {

/// A part of a longer axis: its position `axis` is the position `axis + origin` of `length`.
struct Part {
  subscript::Expr origin;
  int64_t extent = 0, length = 0;
};

/// The names that a piece of the specification sees. `axes` are the positions that einsums or a scheme's operands have
/// named, in order.
struct Scope {
  std::map<std::string, Value> values;
  std::map<std::string, llvm::StringRef> declared; // the places, for notes and warnings about unused names
  std::set<std::string> used;
  std::vector<Axis> axes;
  std::map<std::string, Part> parts;    // by axis
  std::set<std::string> unknown;        // names already reported as unknown
  const Scope *caller = nullptr;        // only of a scheme: the scope that it does not see
  std::set<std::string> among;          // the axes of the tensor that a condition is about
  std::map<std::string, Clash> clashes; // clashes of the tensor before `where`
  bool isBuiltin = false;               // a built-in scheme, which sees no names of the file

  std::map<std::string, std::vector<Axis>> sizes;   // all sizes that an axis has in this piece
  std::map<std::string, llvm::StringRef> reliances; // where one size of an axis was assumed to be the only one
  std::set<std::string> ownAxes;                    // axes of a condition or a table, whatever is around it
  std::set<std::string> inherited;                  // only of a scheme: axes of its caller
  const Axis *axis(const std::string &name) const;
  /// Adds an axis that the text names; returns whether the axis is new or has a new size. An axis that is summed over
  /// is not a position after its sum.
  bool learn(const Axis &, bool isPosition = true);
  /// Returns the scope of an expression that has axes of its own; `returnFrom` takes back what that scope records.
  Scope withAxes(llvm::ArrayRef<Axis> own) const;
  void returnFrom(const Scope &inner);
};

/// The sizes of axes that the statements of a kernel, and of the schemes that it calls, determine.
struct AxisFacts {
  // By the calls that lead there.
  std::map<std::vector<const Node *>, std::map<std::string, std::vector<Axis>>> found;
};

/// The typer's state: what it knows of the file and of the kernel at hand.
struct TypingState {
  Diagnostics &diagnostics;
  const Options &options;
  mlir::MLIRContext *context;
  Resolver resolver;

  const Program *program = nullptr; // the program of the file
  std::vector<const Program *> builtins = {};
  Scope globals = {};
  std::vector<std::string> runtimeSizes = {};
  std::vector<std::pair<std::string, int64_t>> lengths = {}; // with their bounds

  typed::Kernel kernel = {};               // the current one
  const Kernel *kernelAtHand = nullptr;    // as it is written
  Scope *scope = nullptr;                  // of the kernel or the scheme
  std::vector<const Node *> callPath = {}; // the calls of schemes that lead there
  unsigned schemeDepth = 0;
  llvm::StringRef placeAtHand = {}; // the place of the innermost expression that is being evaluated
  // The number of enclosing choices between numbers that do not take the value that is being evaluated.
  unsigned untaken = 0;
  unsigned tabulating = 0; // open calls of tabulate, in which lists of numbers are functions
  bool isScouting = false; // a second typer, which only finds the sizes of axes and reports nothing
};

struct TyperParts;

class TyperPart {
public:
  TyperPart(TypingState &state, TyperParts &typer)
      : state(state), typer(typer), diagnostics(state.diagnostics), options(state.options), resolver(state.resolver),
        kernel(state.kernel), scope(state.scope) {}

protected:
  Value evaluate(const Node &);
  Value error(llvm::StringRef place, const std::string &message);
  const Axis *findAxis(const std::string &name) const;
  /// Adds a new tensor to the current kernel.
  typed::Tensor *append(const Node &, typed::Operation, llvm::ArrayRef<typed::Tensor *> operands, const Dimensions &,
                        typed::Element = typed::Element::F32);
  Value tensorValue(typed::Tensor *, Dimensions) const;

  TypingState &state;
  TyperParts &typer; // the other parts
  Diagnostics &diagnostics;
  const Options &options;
  Resolver &resolver;
  typed::Kernel &kernel;
  Scope *&scope;
};

} // namespace skewer::language
