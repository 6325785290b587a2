// Types arithmetic between tensors, and brings its operands to one shape. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Arithmetic : public TyperPart {
public:
  using TyperPart::TyperPart;

  Value arithmetic(const Node &, llvm::StringRef op, Value, Value);
  bool align(const Node &, Value &, Value &);
  bool alignByName(const Node &, Value &small, const Value &large);
  bool alignByPosition(const Node &, Value &small, const Value &large);
  Value toTensor(const Node &, const Value &, const Dimensions *beside = nullptr);
  static Value sizedBy(Value function, const Dimensions &);
  Value positionTensor(const Node &, const subscript::Expr &, Dimensions);
  Value widen(const Node &, Value);
  typed::Tensor *splat(const Node &, double number, const Dimensions &);
  typed::Tensor *elementwise(const Node &, typed::Function, llvm::ArrayRef<typed::Tensor *> operands,
                             const Dimensions &);

private:
  bool fillOnes(const Node &, const Value &named, Value &tensor);
  void noteOnShapes(const Node &, const Value &small, const Value &large);
  Value repeatedAlong(const Node &, Value, const std::map<std::string, Axis> &axes, const Dimensions *beside);
};

} // namespace skewer::language
