// Records what numbers decide, at the place of the decision. Without a receiver (Options::decisions) it records
// nothing.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// Records a decision, except those of values that are not taken.
void DecisionLog::record(Decision decision) {
  if (options.decisions && !state.untaken)
    options.decisions->push_back(std::move(decision));
}

/// Records a whole number that results from a rounding or a choice; returns the number.
Value DecisionLog::decided(const Node &node, Value number, RealPtr made) {
  Decision decision;
  decision.kind = Decision::Quantity, decision.place = node.text, decision.number = number.integer;
  decision.made = made ? std::move(made) : number.function;
  record(std::move(decision));
  return number;
}

bool DecisionLog::decided(const Node &node, bool truth, RealPtr made) {
  Decision decision;
  decision.kind = Decision::Choice, decision.place = node.text, decision.number = truth;
  decision.made = std::move(made);
  record(std::move(decision));
  return truth;
}

bool DecisionLog::decidedWhole(const Node &node, bool isWhole, RealPtr remainder) {
  Decision decision;
  decision.kind = Decision::Whole, decision.place = node.text, decision.number = isWhole;
  decision.made = std::move(remainder);
  record(std::move(decision));
  return isWhole;
}

/// Records the values of a function of positions, evaluated at each of them.
void DecisionLog::decidedTable(const Node &node, std::vector<double> values, const RealForms &forms, bool isTensor) {
  Decision decision;
  decision.kind = Decision::Table, decision.place = node.text, decision.number = isTensor;
  decision.values = std::move(values), decision.ranges = forms.ranges, decision.forms = forms.forms;
  decision.made = forms.function;
  collectWholes(*forms.function, decision.wholes);
  record(std::move(decision));
}

/// Returns the expression simplified by the ranges, and records the change.
Expr DecisionLog::simplified(const Expr &written, const subscript::Domain &domain) const {
  Expr kept = subscript::simplify(written, domain);
  if (options.decisions && !state.untaken) {
    Decision decision;
    decision.kind = Decision::Rewritten, decision.place = state.placeAtHand;
    decision.written = written, decision.kept = kept, decision.domain = domain;
    options.decisions->push_back(std::move(decision));
  }
  return kept;
}

} // namespace skewer::language
