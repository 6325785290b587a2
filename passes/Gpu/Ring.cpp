// Emits the barriers of a ring of tiles.
#include "passes/Gpu/Ring.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer::gpu;

void Ring::create(int64_t producers, int64_t users, bool boxes) {
  for (int64_t copy = 0; copy < copies; ++copy) {
    NVVM::MBarrierInitOp::create(b, barrierAt(b.i32(copy), 0), b.i32(33 * producers + boxes), Value());
    NVVM::MBarrierInitOp::create(b, barrierAt(b.i32(copy), 8), b.i32(users), Value());
  }
}

void skewer::gpu::createBarriers(GpuBuilder &b, const ThreadPlace &at, bool boxes, llvm::function_ref<void()> create) {
  b.when(b.equal(at.thread, b.i32(0)), [&] {
    create();
    NVVM::FenceMbarrierInitOp::create(b);
    if (boxes)
      fenceBeforeBulkCopies(b);
  });
  barrier(b);
}

RingPlace Ring::next(const RingPlace &at) {
  Value behind = b.add(at.copy, 1), wraps = b.equal(behind, b.i32(copies));
  Value flipped = b.createOrFold<arith::XOrIOp>(at.phase, b.i32(1));
  return {b.select(wraps, b.i32(0), behind), b.select(wraps, flipped, at.phase)};
}

void Ring::waitUntilEmpty(const RingPlace &at) {
  // A wait for the phase before the first one ends at once.
  wait(barrierAt(at.copy, 8), arith::XOrIOp::create(b, at.phase, b.i32(1)));
}

void Ring::arriveWhenCopied(const RingPlace &at) {
  NVVM::CpAsyncMBarrierArriveOp::create(b, barrierAt(at.copy, 0), /*noinc=*/true);
}

void Ring::wait(Value barrier, Value phase) {
  constexpr int64_t kTicks = 10000000; // a hint: how long a try may last
  NVVM::MBarrierTryWaitParityOp::create(b, barrier, phase, b.i32(kTicks));
}

void Ring::arrive(Value barrier, Value lane) {
  warpBarrier(b); // the other lanes are done too
  b.when(b.equal(lane, b.i32(0)), [&] { NVVM::MBarrierArriveOp::create(b, Type(), barrier, Value()); });
  warpBarrier(b); // they go on together: products need whole warps
}
