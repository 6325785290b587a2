// Emits one step of a sum of weighted rows, and sums of vectors (WeightedSums.h).
#include "passes/Cpu/WeightedSums.h"
#include "passes/Analysis/Summation.h"

using namespace mlir;
using namespace skewer;

void skewer::addWeighted(VectorBuilder &b, int64_t rows, ArrayRef<Value> values,
                         function_ref<Value(int64_t row)> weight, const std::function<Value(Value weight)> &isSeen,
                         SmallVectorImpl<Value> &sums, Value scale) {
  for (int64_t r = 0; r < rows; ++r) {
    Value p = weight(r);
    Value seen = isSeen ? isSeen(p) : Value();
    Value wide = b.broadcast(scale ? b.mulf(p, scale) : p);
    for (auto [v, value] : llvm::enumerate(values)) {
      Value &sum = sums[r * values.size() + v];
      Value next = b.fma(wide, value, sum);
      sum = seen ? b.select(seen, next, sum) : next;
    }
  }
}

Value skewer::sumOfVectors(VectorBuilder &b, Value count, int64_t most, Value start, int64_t chain,
                           function_ref<Value(Value x)> term) {
  auto vectors = [&](Value from, Value to, Value start) {
    return b.loop(from, to, b.lanes, ValueRange{start},
                  [&](Value x, ValueRange sum) { return SmallVector<Value>{b.addf(sum[0], term(x))}; })[0];
  };
  if (chain == 0)
    return vectors(b.index(0), count, start);
  auto groups = [&](Value from, Value to, int64_t step, Value start, auto &&ofGroup) {
    return b.loop(from, to, step, ValueRange{start}, [&](Value first, ValueRange sum) {
      Value end = b.minimum(b.add(first, step), to);
      return SmallVector<Value>{b.addf(sum[0], ofGroup(first, end, b.constant(0)))};
    })[0];
  };
  int64_t step = chain * b.lanes;
  auto chains = [&](Value from, Value to, Value start) { return groups(from, to, step, start, vectors); };
  return most <= step * kChain ? chains(b.index(0), count, start)
                               : groups(b.index(0), count, step * kChain, start, chains);
}
