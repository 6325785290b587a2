// Finds running sums by how the guard depends on a contracted axis and on an axis of the result.
#include "passes/Stages/PrefixSum.h"
#include "dialect/Subscript/Analysis.h"

using namespace mlir;
using namespace skewer;
using subscript::kRuntime;

std::optional<PrefixSum> skewer::prefixSumOf(attn::EinsumOp op) {
  attn::ResolvedEinsum resolved = resolve(op);
  if (!resolved.guard || !resolved.spec.result || resolved.contracted.size() != 1 || !op.getIndices().empty())
    return std::nullopt;
  PrefixSum sum;
  sum.before = resolved.contracted.front();
  for (const std::string &symbol : subscript::symbolsOf(*resolved.guard))
    if (symbol != sum.before)
      sum.along = sum.along.empty() ? symbol : "";
  if (subscript::symbolsOf(*resolved.guard).size() != 2 || sum.along.empty())
    return std::nullopt;
  if (attn::axisExtentsOf(op).count(sum.along)) // the end of the axis is known only at run time
    return std::nullopt;
  int64_t size = resolved.sizes.at(sum.along);
  if (size == kRuntime || size != resolved.sizes.at(sum.before))
    return std::nullopt;
  // The operands must not depend on where the sum ends.
  for (const auto &subscripts : resolved.subscripts)
    for (const subscript::Expr &subscript : subscripts)
      if (subscript::symbolsOf(subscript).count(sum.along))
        return std::nullopt;
  auto interval =
      subscript::asOffsetInterval(*resolved.guard, sum.along, sum.before, subscript::domainOf(resolved.sizes));
  if (!interval)
    return std::nullopt;
  bool isFromBegin = interval->low <= 1 - size, isToEnd = interval->high >= size - 1;
  if (isFromBegin == isToEnd)
    return std::nullopt;
  sum.reversed = isToEnd;
  int64_t last = sum.reversed ? interval->low : -interval->high; // distance from the end of the sum to the position
  if (last != 0 && last != 1)
    return std::nullopt;
  sum.exclusive = last == 1;
  return sum;
}
