// Types `where`, and carries along which elements of a tensor are absent or -inf. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class AbsentElements : public TyperPart {
public:
  using TyperPart::TyperPart;

  Value typeWhere(const Node &);
  bool refuseAbsent(llvm::StringRef place, const Value &, llvm::StringRef reader);
  bool refuseMixture(const Node &, llvm::StringRef op, const Value &absent);
  bool joinConditions(const Node &, llvm::StringRef op, Value &left, const Value &right);
  Value carried(Value result, const Value &operand) const;
  void moveConditions(Value &, const Value &operand, const subscript::Substitution &places) const;
  Value shown(const Node &, Value, Value *predicate = nullptr, Value *named = nullptr);
  Value written(const Node &, Value);
  Value lowestTensor(const Node &, const Value &real, const LowestSplit &);
};

} // namespace skewer::language
