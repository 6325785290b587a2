// Recognises einsums that are running sums: out[…, i, …] = Σ over t <= i of Π x[…, t, …]. The generic path computes
// them in one pass over the operand (PrefixSums.cpp), not with a sum for each element.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer {

/// A sum along `before` up to the position along `along`, an axis of the result that no operand has.
struct PrefixSum {
  std::string along, before;
  bool reversed = false;  // from the position to the end: t >= i
  bool exclusive = false; // without the position itself: t < i, t > i
};
/// Recognises a running sum by the einsum's guard and subscripts; returns nothing for other einsums.
std::optional<PrefixSum> prefixSumOf(attn::EinsumOp);

} // namespace skewer
