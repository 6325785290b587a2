// Records the decisions that numbers cause, for callers that ask (Options::decisions). A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class DecisionLog : public TyperPart {
public:
  using TyperPart::TyperPart;

  Value decided(const Node &, Value number, RealPtr made = nullptr);
  bool decided(const Node &, bool truth, RealPtr made);
  bool decidedWhole(const Node &, bool isWhole, RealPtr remainder);
  void decidedTable(const Node &, std::vector<double> values, const RealForms &, bool isTensor = false);
  subscript::Expr simplified(const subscript::Expr &, const subscript::Domain &) const;

private:
  void record(Decision);
};

} // namespace skewer::language
