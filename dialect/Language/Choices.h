// Types choices between values: `a if P else b`, select, and einsum(…, where = P). A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Choices : public TyperPart {
public:
  using TyperPart::TyperPart;

  std::optional<Value> timesCondition(const Node &, const Value &left, const Value &right);
  Value typeConditional(const Node &, const Node &condition, const Node &yes, const Node &no);
  Value selectTensors(const Node &, const subscript::Expr &condition, const Value &axes, Value yes, Value no);
  Dimensions inOrder(std::map<std::string, Axis> axes) const;
  bool extend(const Node &, const Node &condition, Value &, const std::map<std::string, Axis> &axes);
  Value guarded(const Node &, const Node &condition, const Value &tensor, const Value &predicate);
  Value constantWhere(const Node &, const Node &condition, double number, const Value &predicate, const Dimensions &);
  Value onlyWhere(const Node &condition, const Value &einsum, const std::map<std::string, Axis> &axes,
                  llvm::ArrayRef<std::string> summed);

private:
  bool isOfNumbers(const Node &);
  Value selectPositions(const Node &, const Value &condition, const Value &yes, const Value &no);
  Value choose(const Node &, const Node &condition, const Value &predicate, Value yes, Value no);
  std::optional<std::vector<Naming>> ownNamings(const Value &tensor) const;
  std::optional<subscript::Expr> overOwnAxes(const subscript::Expr &holds, const Value &tensor) const;
  Value guardEinsum(Value einsum, const subscript::Expr &guard);
};

} // namespace skewer::language
