// Emits bulk copies of boxes.
#include "passes/Gpu/TensorCopies.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

void TensorCopies::fillRows(const SharedTile &to, const RowSource &from, Value first, Value end, Value copy) {
  const TensorBox *box = llvm::find_if(boxes, [&](const TensorBox &one) { return one.tile == to.offset; });
  if (box == boxes.end())
    return AsyncCopies::fillRows(to, from, first, end, copy);
  // Rows behind `end` do not exist in the tensor, so that the hardware makes them zeros.
  Value place = arith::DivUIOp::create(b, from.base, b.i64(box->placeStride));
  noted.push_back(
      {box, maps[size_t(box - boxes.begin())], first, arith::TruncIOp::create(b, b.getI32Type(), place), copy});
}

void TensorCopies::askForBoxes(Value full) {
  int64_t bytes = 0;
  for (const Box &box : noted)
    bytes += box.of->tileBytes;
  b.when(electedLane(b), [&] {
    // What lies outside of a tensor counts too.
    NVVM::MBarrierArriveExpectTxOp::create(b, Type(), full, b.i32(bytes), NVVM::MemScopeKind::CTA, /*relaxed=*/false,
                                           Value());
    for (const Box &box : noted)
      ask(box, full);
  });
  warpBarrier(b); // the other lanes wait for nothing else
  noted.clear();
}

void TensorCopies::ask(const Box &box, Value full) {
  // The instruction names a place in the shared memory of a cluster of blocks; here the block is alone in its cluster.
  constexpr unsigned kClusterSpace = 7;
  auto type = LLVM::LLVMPointerType::get(b.getContext(), kClusterSpace);
  const TensorBox &of = *box.of;
  Value begin = b.i32(of.tile);
  if (box.copy)
    begin = b.add(begin, b.mul(box.copy, of.tileBytes));
  for (int64_t panel = 0; panel < of.boxes; ++panel) {
    Value to = shared.at(b.add(begin, panel * (of.tileBytes / of.boxes)));
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, LLVM::AddrSpaceCastOp::create(b, type, to), box.map,
        ValueRange{b.i32(panel * of.boxColumns), box.row, box.place}, full, /*im2colOffsets=*/ValueRange(),
        /*multicastMask=*/Value(), /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
        NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
  }
}
