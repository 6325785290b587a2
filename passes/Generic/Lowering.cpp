// attn-lower-generic: lowers functions whose attentions did not fuse to loops over buffers. It runs after
// attn-lower-to-cpu, and takes every function that is left.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Generic/Kernel.h"
#include "passes/Passes.h"
#include "passes/Stages/AlignedOperands.h"
#include "passes/Stages/EqualStages.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNLOWERGENERIC
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {
struct LowerGeneric : skewer::impl::AttnLowerGenericBase<LowerGeneric> {
  using AttnLowerGenericBase::AttnLowerGenericBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function.getBody().hasOneBlock() && llvm::any_of(function.getResultTypes(), llvm::IsaPred<TensorType>))
        kernels.push_back(function);
    for (func::FuncOp function : kernels) {
      // A module has the plan of one kernel, so a second kernel would overwrite the first plan.
      if (planOf(module)) {
        function.emitError("a module holds one kernel when it is lowered; '") << function.getName() << "' is another";
        return signalPassFailure();
      }
      alignOperands(function);
      mergeEqualStages(function);
      if (!generic::Kernel(module, function).emit())
        return signalPassFailure();
    }
  }
};
} // namespace
