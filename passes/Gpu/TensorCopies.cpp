// Emits bulk copies of boxes.
#include "passes/Gpu/TensorCopies.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

void TensorCopies::fillRun(const SharedTile &to, const RowSource &from, const RowSource &run, Value first, Value isRun,
                           RowMap map, Value copy) {
  const TensorBox *box = llvm::find_if(boxes, [&](const TensorBox &one) { return one.tile == to.offset; });
  if (box == boxes.end())
    return AsyncCopies::fillRun(to, from, run, first, isRun, map, copy);
  Value place = arith::DivUIOp::create(b, from.base, b.i64(box->placeStride));
  noted.push_back(
      {box, maps[size_t(box - boxes.begin())], first, arith::TruncIOp::create(b, b.getI32Type(), place), copy});
}

void TensorCopies::askForBoxes(Value full) {
  int64_t bytes = 0;
  for (const Noted &one : noted)
    bytes += one.of->tileBytes;
  b.when(electedLane(b), [&] {
    // The hardware counts the whole box, also the part outside of the tensor.
    NVVM::MBarrierArriveExpectTxOp::create(b, Type(), full, b.i32(bytes), NVVM::MemScopeKind::CTA, /*relaxed=*/false,
                                           Value());
    for (const Noted &one : noted)
      ask(one, full);
  });
  warpBarrier(b); // the other lanes wait for nothing else
  noted.clear();
}

void TensorCopies::ask(const Noted &one, Value full) {
  // The instruction names a place in the shared memory of a cluster of blocks; here the block is alone in its cluster.
  constexpr unsigned kClusterSpace = 7;
  auto type = LLVM::LLVMPointerType::get(b.getContext(), kClusterSpace);
  const TensorBox &of = *one.of;
  Value begin = b.i32(of.tile);
  if (one.copy)
    begin = b.add(begin, b.mul(one.copy, of.tileBytes));
  int64_t boxes = of.panels * of.boxesOfPanel; // one behind the other: of a panel, then of the next one
  for (int64_t box = 0; box < boxes; ++box) {
    Value to = shared.at(b.add(begin, box * (of.tileBytes / boxes)));
    Value row = b.add(one.row, box % of.boxesOfPanel * of.boxRows);
    Value column = b.i32(box / of.boxesOfPanel * of.boxColumns);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, LLVM::AddrSpaceCastOp::create(b, type, to), one.map, ValueRange{column, row, one.place}, full,
        /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(), /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE,
        /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
  }
}
