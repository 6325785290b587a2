// One step of a sum of weighted rows.
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
