// Functions of single numbers that plugins bring: what `attn.apply` and a term's `apply` name.
//
// One definition gives the verifier its signature, the float64 reference its meaning (`evaluate`), every kernel its
// code
// (`emit`) and explain and bench their figures. A plugin adds its functions to the dialect through a DialectExtension:
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
  /// As it is called in a specification: a name of letters, digits and underscores.
  virtual llvm::StringRef name() const = 0;
  /// The names of its arguments, for messages; there are as many arguments as names.
  virtual llvm::ArrayRef<llvm::StringLiteral> arguments() const = 0;
  /// What it means, in double precision: the judge of what `emit` makes. As many numbers as arguments.
  virtual double evaluate(llvm::ArrayRef<double> arguments) const = 0;
  /// Operations (of arith, math and vector) that compute it. All arguments, and the result, are f32 or vectors of f32
  /// of one type. A NaN in an argument must come through.
  virtual mlir::Value emit(mlir::OpBuilder &, mlir::Location, mlir::ValueRange arguments) const = 0;
  /// Floating-point operations of one evaluation, for `bench`, `explain` and the cost model.
  virtual double flops() const { return 1; }
};

/// The functions that a context knows, held by its attn dialect.
class ElementFunctions : public mlir::DialectInterface::Base<ElementFunctions> {
public:
  explicit ElementFunctions(mlir::Dialect *dialect) : Base(dialect) {}
  static ElementFunctions &of(AttnDialect *);
  /// False, and nothing is added, where another function has the name.
  bool add(std::unique_ptr<ElementFunction>);
  const ElementFunction *find(llvm::StringRef name) const;
  std::vector<std::string> names() const;

private:
  std::map<std::string, std::unique_ptr<ElementFunction>> functions;
};

/// The function of that name in the context; null if no plugin has brought it.
const ElementFunction *findElementFunction(mlir::MLIRContext *, llvm::StringRef name);
/// "periodic(frequency, offset)".
std::string signatureOf(const ElementFunction &);
/// "no plugin has brought the function 'x'; …": for messages of those who look one up.
std::string explainMissingFunction(mlir::MLIRContext *, llvm::StringRef name);

/// A function in a term: its arguments are elements of the term's operands, or positions.
struct Application {
  struct Argument {
    int operand = -1;             // its element, where it is one
    subscript::Expr position = 0; // else this number
  };
  const ElementFunction *function = nullptr;
  std::vector<Argument> arguments;

  /// Whether the operand is an argument; the others multiply the function's value.
  bool takes(size_t operand) const;
};
/// The term's function, if it has one; its verifier has proven that it is known and that the arguments parse.
std::optional<Application> applicationOf(TermOp);
/// "#0" for an operand, the text of the expression for a position: how a term's `of` writes an argument.
std::string printArgument(const Application::Argument &);
std::optional<Application::Argument> parseArgument(llvm::StringRef text, size_t operands);

} // namespace skewer::attn
