// Evaluates expressions without tensors, and finds out which part types a call. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Expressions : public TyperPart {
public:
  using TyperPart::TyperPart;

  Value evaluate(const Node &);
  Value evaluateNumbers(const Node &, llvm::StringRef op, const Value &, const Value &);
  std::optional<int64_t> evaluateWhole(const Node &, llvm::StringRef what);
  std::optional<std::vector<int64_t>> evaluateWholes(const Node &, llvm::StringRef what);
  /// Evaluates an argument that is a tensor. If `movesElements`, some of its elements may be absent: the caller carries
  /// the conditions along.
  std::optional<Value> tensorArgument(const Node &call, size_t position, bool movesElements = false,
                                      bool readsPlaces = true);
  bool checkArguments(const Node &call, size_t minimum, size_t maximum, llvm::ArrayRef<llvm::StringRef> keywords,
                      llvm::StringRef usage);
  const Node *keyword(const Node &call, llvm::StringRef name) const;

private:
  Value evaluateNode(const Node &);
  bool isPlainNumber(const Node &);
  Value evaluateName(const Node &);
  Value evaluateUnary(const Node &);
  Value evaluateBinary(const Node &);
  Value evaluateBits(const Node &, llvm::StringRef op, const Value &, const Value &);
  Value bitsOf(const Node &, const Value &, const Value &, const subscript::Expr &);
  Value evaluateIndices(const Node &, llvm::StringRef op, const Value &, const Value &);
  Value evaluateCall(const Node &);
  Value elementOf(const Node &, const Value &list);

  unsigned depth = 0;
};

} // namespace skewer::language
