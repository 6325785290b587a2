// Types calls of elementwise functions, of numbers, positions and tensors. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Functions : public TyperPart {
public:
  using TyperPart::TyperPart;

  bool isFunction(llvm::StringRef name) const;
  Value typeFunction(const Node &);
  Value elementwiseFunction(const Node &, llvm::StringRef name, Value tensor);
  /// Returns the name of a function of one argument, which tensors have too; empty if the kind is no such function.
  static llvm::StringRef elementwiseName(RealKind);
  Value typeApplied(const Node &, const attn::ElementFunction &);
  Value applied(const Node &, const attn::ElementFunction &, std::vector<Value> arguments);

private:
  Value typeLength(const Node &);
  Value chosen(const Node &, llvm::ArrayRef<Value> arguments, size_t k);
  Value functionOfNumbers(const Node &, llvm::ArrayRef<Value> arguments);
  Value functionOfIndices(const Node &, llvm::ArrayRef<Value> arguments);
  Value functionOfPositions(const Node &, llvm::ArrayRef<Value> arguments);
  Value functionOfTensors(const Node &, llvm::ArrayRef<Value> arguments);
};

} // namespace skewer::language
