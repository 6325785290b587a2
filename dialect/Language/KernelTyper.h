// Types declarations, kernels and their statements. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class KernelTyper : public TyperPart {
public:
  using TyperPart::TyperPart;

  void declare(const Program &);
  bool typeBody(const std::vector<Statement> &, Value &result, llvm::StringRef &place, llvm::StringRef end);
  bool typeKernel(const Kernel &);

private:
  void declareLength(const LengthDeclaration &);
  bool shape(const TypeExpression &, Dimensions &);
  bool assign(const Statement &, Value);
  void nameAt(llvm::StringRef name, const Value &);
  bool checkRequirement(const Statement &);
  bool declareOperands(const Kernel &, Scope &own, typed::Kernel &);
  bool declareResults(const Kernel &, Scope &own, typed::Kernel &);
  void bindOperands(Scope &own);
  void finishKernel(const Kernel &, Value result, llvm::StringRef place);
  typed::Tensor *finishResult(const Kernel &, size_t number, const Value &, llvm::StringRef place);
  bool declaredRange(const KernelOperand &, typed::Operand &);
  std::optional<double> numberOfSpread(const Node &, const std::string &what);
  bool declaredSpread(const KernelOperand &, typed::Spread &);
};

} // namespace skewer::language
