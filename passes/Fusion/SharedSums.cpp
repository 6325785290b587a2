// Counts how often an expansion would write out each sum below a tensor.
#include "passes/Fusion/SharedSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Fusion/Views.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;

// Published layers have up to 7 terms. 16 contents, each of which is a matrix product, take 2 s to compile.
static constexpr size_t kMostSummands = 8;

namespace {
/// Visits the tensors that an expansion visits, but each one once.
struct Counting {
  size_t summands(Value tensor) {
    auto [known, fresh] = counts.insert({tensor, 1});
    if (!fresh)
      return known->second;
    size_t count = 0;
    if (Operation *op = tensor.getDefiningOp(); op && isLookedThrough(op))
      for (Value operand : op->getOperands()) {
        ++readers[operand];
        count = std::min(count + summands(operand), kMany);
      }
    return counts[tensor] = std::max<size_t>(count, 1);
  }

  static bool isLookedThrough(Operation *op) {
    // A tensor that is repeated along a run-time size is an einsum with ones.
    if (isa<EinsumOp>(op))
      return llvm::count_if(op->getOperands(), [](Value operand) { return !splatValue(operand); }) == 1;
    return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::MulFOp, arith::DivFOp, ApplyOp>(op) || mapOf(op);
  }

  static constexpr size_t kMany = size_t(1) << 32; // counts double from sum to sum
  llvm::DenseMap<Value, size_t> counts, readers;
};
} // namespace

llvm::DenseSet<Value> skewer::sharedSums(Value tensor) {
  Counting counting;
  llvm::DenseSet<Value> shared;
  if (counting.summands(tensor) > kMostSummands)
    for (auto [operand, readers] : counting.readers)
      if (readers > 1 && counting.counts[operand] > 1)
        shared.insert(operand);
  return shared;
}

bool skewer::isCopiedTooOften(Value sum) {
  return !sum.hasOneUse() &&
         Counting().summands(sum) * size_t(std::distance(sum.use_begin(), sum.use_end())) > kMostSummands;
}
