// One step of a sum of weighted rows; sums of vectors.
#include "passes/Cpu/WeightedSums.h"

using namespace mlir;
using namespace skewer;

void skewer::addWeighted(VectorBuilder &b, int64_t rows, ArrayRef<Value> values,
                         function_ref<Value(int64_t row)> weight, const std::function<Value(Value weight)> &isSeen,
                         SmallVectorImpl<Value> &sums) {
  for (int64_t r = 0; r < rows; ++r) {
    Value p = weight(r);
    Value seen = isSeen ? isSeen(p) : Value();
    Value wide = b.broadcast(p);
    for (auto [v, value] : llvm::enumerate(values)) {
      Value &sum = sums[r * values.size() + v];
      Value next = b.fma(wide, value, sum);
      sum = seen ? b.select(seen, next, sum) : next;
    }
  }
}

Value skewer::sumOfVectors(VectorBuilder &b, Value count, Value start, int64_t chain,
                           function_ref<Value(Value x)> term) {
  auto addUp = [&](Value from, Value to, Value start) {
    return b.loop(from, to, b.lanes, ValueRange{start},
                  [&](Value x, ValueRange sum) { return SmallVector<Value>{b.addf(sum[0], term(x))}; })[0];
  };
  if (chain == 0)
    return addUp(b.index(0), count, start);
  int64_t step = chain * b.lanes;
  return b.loop(b.index(0), count, step, ValueRange{start}, [&](Value from, ValueRange sum) {
    Value to = b.minimum(b.add(from, step), count);
    return SmallVector<Value>{b.addf(sum[0], addUp(from, to, b.constant(0)))};
  })[0];
}
