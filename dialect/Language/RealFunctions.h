// Types real-valued functions of positions, and numbers that a kernel computes from lengths. A part of the typer
// (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class RealFunctions : public TyperPart {
public:
  using TyperPart::TyperPart;

  static bool isFunctionOfPositions(const Value &);
  Value realValue(const Node &, RealKind, llvm::ArrayRef<Value> operands);
  std::optional<subscript::Expr> asIndex(const Node &, const Value &, const std::string &what);
  Value realTensor(const Node &, const Value &);
  Value typeTabulate(const Node &);
  RealPtr madeBy(const Node &, RealKind, llvm::ArrayRef<Value> operands) const;
  Value made(const Node &, RealKind, llvm::ArrayRef<Value> operands, Value number);
  typed::Tensor *beside(const Node &, const Value &number, const Dimensions &);
  void noteFiniteMask(const Node &, llvm::StringRef op, const Value &operand, const Node &place);

private:
  std::optional<RealForms> smallForms(const Node &, const Value &, bool complain);
  std::optional<subscript::Expr> asSteps(const Value &);
  Value typeReal(const Node &, const RealFunction &, const Value &);
  Value atRunTime(const Node &, const RealFunction &);
  typed::Tensor *tableAtRunTime(const Node &, const RealForms &);

  size_t factors = 0;     // the count of numbers that met a tensor, and of tables of numbers, so far
  bool computing = false; // typing a table of such numbers that the kernel computes
  bool spelling = false;  // the kernel also computes the whole numbers in the current number
};

} // namespace skewer::language
