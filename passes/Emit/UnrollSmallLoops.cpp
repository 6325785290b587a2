// attn-unroll-small-loops: marks the loops that LLVM unrolls completely; LLVM does not unroll the others. The pipeline
// to the LLVM dialect runs it, and codegen/ABI/Object.cpp turns LLVM's own choice off.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNUNROLLSMALLLOOPS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;

// The most operations of an unrolled loop. The tiles of a kernel are emitted as straight-line code. The loops to unroll
// are copies and sums of the few rows of a window, where the loop costs more than its body. Twice as many operations
// were not faster (Zen 4, the workloads of tests/bench). LLVM's own choice (up to 300 instructions of any loop, and
// several iterations together if the count is unknown) takes a tenth of the time of all compilation, and kernels are
// not faster.
static constexpr int64_t kWrittenOut = 160;

static bool isInnermost(scf::ForOp loop) {
  return !loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Returns whether a loop prefetches. Unrolled, such a loop would issue all prefetches at once, and products would wait
/// for them: the kernel reaches 0.61 instead of 0.66 of the rate of a plain read of the same memory, for keys that are
/// read one after another.
static bool asksAhead(scf::ForOp loop) {
  return loop.getBody()->walk([](memref::PrefetchOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

static int64_t countOperations(scf::ForOp loop) {
  int64_t count = 0;
  loop.getBody()->walk([&](Operation *) { ++count; });
  return count;
}

namespace {
struct UnrollSmallLoops : skewer::impl::AttnUnrollSmallLoopsBase<UnrollSmallLoops> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    auto no = BoolAttr::get(context, false), yes = BoolAttr::get(context, true);
    auto unroll = LLVM::LoopUnrollAttr::get(context, /*disable=*/no, {}, {}, /*full=*/yes, {}, {}, {});
    auto annotation =
        LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
    getOperation().walk([&](scf::ForOp loop) {
      std::optional<APInt> turns = loop.getStaticTripCount();
      if (turns && turns->ule(kWrittenOut) && isInnermost(loop) && !asksAhead(loop) &&
          turns->getSExtValue() * countOperations(loop) <= kWrittenOut)
        // Conversions carry the attribute to the branch back to the head of the loop.
        loop->setAttr("loop_annotation", annotation);
    });
  }
};
} // namespace
