// Emits shuffles, votes and barriers.
#include "passes/Gpu/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

static Value i32(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }

Value skewer::gpu::shuffle(ImplicitLocOpBuilder &b, Value x, int64_t distance) {
  return NVVM::ShflOp::create(b, x.getType(), i32(b, -1), x, i32(b, distance), i32(b, 31), NVVM::ShflKind::bfly,
                              nullptr);
}
Value skewer::gpu::shuffleFrom(ImplicitLocOpBuilder &b, Value x, Value from) {
  return NVVM::ShflOp::create(b, x.getType(), i32(b, -1), x, from, i32(b, 31), NVVM::ShflKind::idx, nullptr);
}
Value skewer::gpu::anyLane(ImplicitLocOpBuilder &b, Value condition) {
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), i32(b, -1), condition, NVVM::VoteSyncKind::any);
}
Value skewer::gpu::electedLane(ImplicitLocOpBuilder &b) { return NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()); }
void skewer::gpu::warpBarrier(ImplicitLocOpBuilder &b) { NVVM::SyncWarpOp::create(b, i32(b, -1)); }
void skewer::gpu::barrier(ImplicitLocOpBuilder &b) { NVVM::Barrier0Op::create(b); }
void skewer::gpu::barrierOf(ImplicitLocOpBuilder &b, int64_t number, int64_t threads) {
  NVVM::BarrierOp::create(b, TypeRange(), i32(b, number), i32(b, threads), NVVM::BarrierReductionAttr(), Value());
}
void skewer::gpu::fenceBeforeBulkCopies(ImplicitLocOpBuilder &b) {
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async, NVVM::SharedSpaceAttr());
}
void skewer::gpu::fenceBeforeAsyncReads(ImplicitLocOpBuilder &b) {
  auto space = NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  auto kind = NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared);
  NVVM::FenceProxyOp::create(b, kind, space);
}
