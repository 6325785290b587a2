// What strategies for summands without a query's vector share.
#include "passes/Cpu/Strategies/Others.h"

using namespace skewer;

void BiasStrategy::take(const TermForm &form, AttentionShape &shape) const {
  if (!form.as<OtherTerm>())
    return;
  OtherTerm &term = shape.others[form.number];
  term.own = nullptr;
  if (term.bias == kind)
    return;
  // Meant for another strategy: what that one would have left out of its tables is computed with the rest.
  term.bias = kind;
  term.gates.clear();
}
