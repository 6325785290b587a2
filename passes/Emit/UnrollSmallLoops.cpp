// Which loops LLVM writes out: it is told so loop by loop, and leaves all others as they are.
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

// A kernel's tiles are straight-line code when they are emitted; what is left to write out are the copies and sums of a
// window's few rows, where the turns cost more than what is done in them. Twice as many operations gained nothing more
// (Zen 4, the workloads of tests/bench), and LLVM's own choice, up to 300 instructions of any loop and turns put
// together where the count is not known, takes a tenth of the time of all compilation for the same kernels' times.
static constexpr int64_t kWrittenOut = 160;

static bool isInnermost(scf::ForOp loop) {
  return !loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Written out, all that a loop asks for ahead is asked for at once, and products wait for it: 0.61 instead of 0.66 of a
/// plain read of the same memory where keys are read one after the other.
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
        // Conversions carry it to the branch back to the loop's head.
        loop->setAttr("loop_annotation", annotation);
    });
  }
};
} // namespace
