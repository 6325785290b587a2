// What numbers decide is written down where it is decided; without anybody who asks nothing is.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// Nobody hears what a value that is not taken would decide.
void Typer::record(Decision decision) {
  if (options.decisions && !untaken)
    options.decisions->push_back(std::move(decision));
}

/// A whole number that comes of rounding or of a choice; the number itself.
Value Typer::decided(const Node &node, Value number, RealPtr made) {
  Decision decision;
  decision.kind = Decision::Quantity, decision.place = node.text, decision.number = number.integer;
  decision.made = made ? std::move(made) : number.function;
  record(std::move(decision));
  return number;
}

bool Typer::decided(const Node &node, bool truth, RealPtr made) {
  Decision decision;
  decision.kind = Decision::Choice, decision.place = node.text, decision.number = truth;
  decision.made = std::move(made);
  record(std::move(decision));
  return truth;
}

bool Typer::decidedWhole(const Node &node, bool isWhole, RealPtr remainder) {
  Decision decision;
  decision.kind = Decision::Whole, decision.place = node.text, decision.number = isWhole;
  decision.made = std::move(remainder);
  record(std::move(decision));
  return isWhole;
}

/// A function of positions, evaluated at each of them.
void Typer::decidedTable(const Node &node, std::vector<double> values, const RealForms &forms, bool isTensor) {
  Decision decision;
  decision.kind = Decision::Table, decision.place = node.text, decision.number = isTensor;
  decision.values = std::move(values), decision.ranges = forms.ranges;
  decision.made = forms.function;
  collectWholes(*forms.function, decision.wholes);
  record(std::move(decision));
}

/// The expression without what the ranges decide.
Expr Typer::simplified(const Expr &written, const subscript::Domain &domain) const {
  Expr kept = subscript::simplify(written, domain);
  if (options.decisions && !untaken) {
    Decision decision;
    decision.kind = Decision::Rewritten, decision.place = placeAtHand;
    decision.written = written, decision.kept = kept, decision.domain = domain;
    options.decisions->push_back(std::move(decision));
  }
  return kept;
}

} // namespace skewer::language
