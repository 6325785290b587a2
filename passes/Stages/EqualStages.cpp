// Compares stages operation by operation, together with the operations that are folded into them.
#include "passes/Stages/EqualStages.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Stages/Matmul.h"
#include "passes/Stages/Stages.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace skewer;

namespace {
class Comparison {
public:
  bool areEqual(Value a, Value b) {
    if (a == b)
      return true;
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    if (!first || !second || first->getNumRegions() || second->getNumRegions() || first->getNumResults() != 1 ||
        second->getNumResults() != 1)
      return false;
    auto [known, fresh] = pairs.insert({{first, second}, false});
    if (!fresh)
      return known->second;
    bool equal = OperationEquivalence::isEquivalentTo(
        first, second, [&](Value x, Value y) { return success(areEqual(x, y)); }, nullptr,
        OperationEquivalence::IgnoreLocations);
    return pairs[{first, second}] = equal;
  }

private:
  llvm::DenseMap<std::pair<Operation *, Operation *>, bool> pairs;
};

bool isResult(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user) || (isa<attn::ReshapeOp>(user) && isResult(user->getResult(0)));
  });
}
} // namespace

void skewer::mergeEqualStages(func::FuncOp function) {
  IsMatmul isMatmul = [](attn::EinsumOp einsum) { return matmulOf(einsum).has_value(); };
  Comparison comparison;
  SmallVector<Value> made;
  for (const Stage &stage : stagesOf(function, isMatmul)) {
    Operation *op = stage.result.getDefiningOp();
    if (!op || op->getNumRegions() || isResult(stage.result))
      continue;
    auto equal = llvm::find_if(made, [&](Value other) { return comparison.areEqual(other, stage.result); });
    if (equal == made.end()) {
      made.push_back(stage.result);
      continue;
    }
    Value(stage.result).replaceAllUsesWith(*equal);
  }
  // Erase operations without readers, because each would be a stage of its own.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}
