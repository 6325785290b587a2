// Finds the stages that a caller can run once: all operands of such a stage are the same at every call. Their results
// go to prepared memory (docs/abi.md). Part of the class Kernel.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Generic/Kernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

bool Tensors::isConst(Value tensor) {
  Value owner = memoryOf(tensor);
  if (auto argument = dyn_cast<BlockArgument>(owner))
    return plan.inputs[argument.getArgNumber()].isConst;
  return storage[owner].number || prepared.contains(owner) || isa<arith::ConstantOp>(owner.getDefiningOp());
}

void Kernel::findPrepared() {
  // With run-time lengths, the place of a tensor depends on them.
  bool anyLength = llvm::any_of(plan.inputs, [](const TensorArgument &input) { return input.isLength; });
  mayPrepare = knowsPrepared() && plan.hasConst() && !anyLength;
  if (!mayPrepare)
    return;
  auto isFixed = [](const Extent &extent) { return extent.name.empty(); };
  for (const Stage &stage : stages) {
    SmallVector<Value> made = resultsOf(stage);
    bool mayOutlive = llvm::all_of(made, [&](Value result) {
      return !tensors.outputOf.count(memoryOf(result)) && llvm::all_of(tensors.storage[result].shape, isFixed);
    });
    if (mayOutlive && llvm::all_of(tensors.readsOf(stage), [&](Value read) { return tensors.isConst(read); }))
      for (Value result : made)
        tensors.prepared.insert(memoryOf(result));
  }
}
