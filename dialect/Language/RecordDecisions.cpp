// What numbers decide is written down where it is decided; without anybody who asks nothing is.
#include "dialect/Language/Emitter.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// A whole number that comes of rounding or of a choice; the number itself.
Value Emitter::decided(const Node &node, Value number) {
  if (options.decisions)
    options.decisions->push_back({Decision::Quantity, node.text, number.integer, {}, {}, {}, {}, {}});
  return number;
}

bool Emitter::decided(const Node &node, bool truth) {
  if (options.decisions)
    options.decisions->push_back({Decision::Choice, node.text, truth, {}, {}, {}, {}, {}});
  return truth;
}

bool Emitter::decidedWhole(const Node &node, bool isWhole) {
  if (options.decisions)
    options.decisions->push_back({Decision::Whole, node.text, isWhole, {}, {}, {}, {}, {}});
  return isWhole;
}

/// A function of positions, evaluated at each of them.
void Emitter::decidedTable(const Node &node, std::vector<double> values, ArrayRef<subscript::Range> ranges,
                           bool isTensor) {
  if (options.decisions)
    options.decisions->push_back({Decision::Table, node.text, isTensor, {}, {}, {}, std::move(values), ranges.vec()});
}

/// The expression without what the ranges decide.
Expr Emitter::simplified(const Expr &written, const subscript::Domain &domain) const {
  Expr kept = subscript::simplify(written, domain);
  if (options.decisions)
    options.decisions->push_back({Decision::Rewritten, placeAtHand, 0, written, kept, domain, {}, {}});
  return kept;
}

} // namespace skewer::language
