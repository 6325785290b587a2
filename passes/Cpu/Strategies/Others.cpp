// The shared part of strategies for summands without a query vector (Others.h).
#include "passes/Cpu/Strategies/Others.h"

using namespace skewer;

void BiasStrategy::take(const TermForm &form, AttentionShape &shape) const {
  if (!form.as<OtherTerm>())
    return;
  OtherTerm &term = shape.others[form.number];
  term.own = nullptr;
  if (term.bias == kind)
    return;
  // The term was meant for another strategy. The gates, which that one would have left out of its tables, are computed
  // with the rest.
  term.bias = kind;
  term.gates.clear();
}
