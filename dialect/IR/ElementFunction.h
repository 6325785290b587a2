// Functions of single numbers that plugins provide. `attn.apply` and a term's `apply` name them.
//
// One definition serves all users: the verifier reads the signature, the float64 reference calls `evaluate`, every
// kernel's code comes from `emit`, and explain and bench read the figures. A plugin adds its functions to the dialect
// through a DialectExtension:
//
//   registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) {
//     skewer::attn::ElementFunctions::of(dialect).add(std::make_unique<MyFunction>());
//   });
//
// See docs/extending.md for a whole plugin.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringMap.h"
#include <memory>

namespace skewer::attn {

class ElementFunction {
public:
  virtual ~ElementFunction();
  /// The name by which a specification calls it: letters, digits and underscores.
  virtual llvm::StringRef name() const = 0;
  /// The names of its arguments, for messages. The number of names is the number of arguments.
  virtual llvm::ArrayRef<llvm::StringLiteral> arguments() const = 0;
  /// Computes the value in double precision from as many numbers as there are arguments. It is the reference for the
  /// code that `emit` makes.
  virtual double evaluate(llvm::ArrayRef<double> arguments) const = 0;
  /// Makes operations (of arith, math and vector) that compute the function. All arguments and the result are of one
  /// type: f32 or a vector of f32. If an argument is a NaN, the result must be a NaN.
  virtual mlir::Value emit(mlir::OpBuilder &, mlir::Location, mlir::ValueRange arguments) const = 0;
  /// Floating-point operations of one evaluation, for `bench`, `explain` and the cost model.
  virtual double flops() const { return 1; }
};

/// The functions that a context knows, held by its attn dialect.
class ElementFunctions : public mlir::DialectInterface::Base<ElementFunctions> {
public:
  explicit ElementFunctions(mlir::Dialect *dialect) : Base(dialect) {}
  static ElementFunctions &of(AttnDialect *);
  /// Adds a function. Returns false, and adds nothing, if another function has the name.
  bool add(std::unique_ptr<ElementFunction>);
  const ElementFunction *find(llvm::StringRef name) const;
  std::vector<std::string> names() const;

private:
  std::map<std::string, std::unique_ptr<ElementFunction>> functions;
};

/// Returns the function of that name in the context; null if no plugin provides it.
const ElementFunction *findElementFunction(mlir::MLIRContext *, llvm::StringRef name);
/// Returns the signature, "periodic(frequency, offset)".
std::string signatureOf(const ElementFunction &);
/// Returns the message for a failed lookup: "no plugin has brought the function 'x'; …".
std::string explainMissingFunction(mlir::MLIRContext *, llvm::StringRef name);

/// A function in a term: its arguments are elements of the term's operands, or positions.
struct Application {
  struct Argument {
    int operand = -1;             // the operand whose element it is; -1: a position
    subscript::Expr position = 0; // the position, if `operand` is -1
  };
  const ElementFunction *function = nullptr;
  std::vector<Argument> arguments;

  /// Returns whether the operand is an argument. The term multiplies the function's value by its other operands.
  bool takes(size_t operand) const;
};
/// Returns the term's function, if it has one. The verifier has proven that the function is known and that the
/// arguments parse.
std::optional<Application> applicationOf(TermOp);
/// Returns an argument as a term's `of` writes it: "#0" for an operand, the text of the expression for a position.
std::string printArgument(const Application::Argument &);
std::optional<Application::Argument> parseArgument(llvm::StringRef text, size_t operands);

} // namespace skewer::attn
