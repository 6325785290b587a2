// Plants mistakes into kernels whose producers copy boxes of tensors: announced bytes, signals, waits, fences, and what
// a copy is asked for. The interpreter must report each, or the numbers must be wrong, in some order of the warps.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "passes/Gpu/Shape/TensorBoxes.h"
#include "tests/unit/GpuLayers.h"
#include "tests/unit/GpuMistakes.h"

using namespace skewer;
using namespace skewer::testing;
using mlir::Operation;

namespace {

using BoxCopy = mlir::NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp;
using Announcement = mlir::NVVM::MBarrierArriveExpectTxOp;

/// Returns a tile of two warpgroups, so that registers are moved between them.
GpuOptions tile(llvm::StringRef engine) {
  GpuOptions options = onWgmma(tileOf(128, 32, 2), engine);
  options.copies = gpu::kTma.str();
  options.size = 1;
  return options;
}
/// Returns the same with two copies, which are enough where keys and values are handed over apart.
GpuOptions ahead() {
  GpuOptions options = tile(gpu::kWgmmaAhead);
  options.stages = 2;
  return options;
}
/// All rows are boxes: values of several panels, and a mask whose edge crosses tiles.
const Subject kBoxes{layer(sizes(70, 100, 32, 72, 2), "", kPlain, "f16", " where j <= i + 30"), tile(gpu::kWgmma)};
const Subject kAhead{kBoxes.text, ahead()};
/// Threads copy the window of a table that goes down beside the boxes; mma.sync reads boxes of keys and of another
/// table.
const Subject kBeside{
    layer(sizes(100, 100, 16, 16, 2), ", near, turned : f16[2*N - 1, dim], few : f16[100, dim]",
          "(content + rel1d(q, near) + einsum(\"b h j d, (i - j + N - 1) d -> b h i j\", k, turned, i = N) "
          "+ einsum(\"b h i d, ((3*i + 5*j) % 100) d -> b h i j\", q, few, j = N)) * dim^-0.5"),
    tile(gpu::kWgmma)};

/// A window of a table is a box too, which mma.sync reads.
const Subject kWindow{relative(70, 100, 32, "f16[N + M - 1, dim]", "(j - i + N - 1)"), tile(gpu::kWgmma)};
/// Threads copy keys, whose rows do not begin at multiples of 16 bytes.
const Subject kValuesAlone{layer(sizes(70, 100, 20, 32, 2), "", kPlain, "f16", " where j <= i + 30"),
                           tile(gpu::kWgmma)};

/// Plants one mistake after another in the kernel that copies boxes. `spare`: of these places another one does the work
/// too.
void expectSeen(const Subject &subject, Spoil spoil, size_t least, size_t spare = 0) {
  auto inBoxKernel = [&](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
    if (auto plain = module.lookupSymbol<mlir::LLVM::LLVMFuncOp>("layer"))
      plain.erase(); // it runs only where no map can be made
    return spoil(module, number);
  };
  auto isSeen = [](const GpuOutcome &outcome) {
    return !outcome.report.faults.empty() || !(outcome.error <= 2 * kHalf);
  };
  Planted planted = plantEach(subject, inBoxKernel, isSeen, /*most=*/12, /*orders=*/15);
  EXPECT_GE(planted.places, least);
  EXPECT_EQ(planted.missed.size(), spare) << planted.text();
}
/// Adds a number to an operand of each copy of a box: 2, 3 and 4 are the column, the row and the place.
auto movingBoxes(unsigned operand, int64_t by) {
  return editing<BoxCopy>([=](Operation *copy) { addTo<mlir::LLVM::AddOp>(copy, operand, by); });
}

TEST(GpuTensorCopiesFault, TheLayersAreRightWithoutOne) {
  for (const Subject &subject : {kBoxes, kAhead, kBeside, kWindow, kValuesAlone})
    expectSeen(
        subject, [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * { return number ? nullptr : module; },
        1,
        /*spare=*/1);
}
TEST(GpuTensorCopiesFault, OtherBytesAreAnnounced) {
  for (const Subject &subject : {kBoxes, kAhead, kBeside})
    for (int64_t more : {16, -16, 1024}) {
      auto add = [=](Operation *announcement) { addTo<mlir::LLVM::AddOp>(announcement, 1, more); };
      expectSeen(subject, editing<Announcement>(add), 1);
    }
}
TEST(GpuTensorCopiesFault, BytesAreNotAnnounced) {
  for (const Subject &subject : {kBoxes, kBeside})
    expectSeen(subject, dropping<Announcement>(), 1);
}
TEST(GpuTensorCopiesFault, ABoxIsNotAskedFor) {
  expectSeen(kBoxes, dropping<BoxCopy>(), 6); // a panel of the keys, and five of the values' 144 bytes
  expectSeen(kBeside, dropping<BoxCopy>(), 2);
}
TEST(GpuTensorCopiesFault, ABoxLiesElsewhere) {
  for (unsigned operand : {2, 3, 4})
    expectSeen(kBoxes, movingBoxes(operand, 1), 6);
  for (unsigned operand : {2, 3})
    expectSeen(kWindow, movingBoxes(operand, 1), 3);
  expectSeen(kBoxes, movingBoxes(3, -32), 6); // the tile before
}
TEST(GpuTensorCopiesFault, ABoxOfAnotherTensor) {
  auto exchange = [](BoxCopy copy) {
    auto function = copy->getParentOfType<mlir::LLVM::LLVMFuncOp>();
    auto maps = function.getArguments().take_back(2);
    copy->setOperand(1, copy->getOperand(1) == maps[0] ? maps[1] : maps[0]);
  };
  expectSeen(kBoxes, editing<BoxCopy>(exchange), 6);
}
TEST(GpuTensorCopiesFault, ASignalIsNotGiven) {
  expectSeen(kBoxes, dropping<mlir::NVVM::MBarrierArriveOp>(), 1);              // empty; full is told by the bytes
  expectSeen(kAhead, dropping<mlir::NVVM::MBarrierArriveOp>(), 2, /*spare=*/1); // nobody waits for the last step
  expectSeen(kBeside, dropping<mlir::NVVM::MBarrierArriveOp>(), 2);
  expectSeen(kBeside, dropping<mlir::NVVM::CpAsyncMBarrierArriveOp>(), 1);
}
TEST(GpuTensorCopiesFault, ASignalIsNotAwaited) {
  for (const Subject &subject : {kBoxes, kBeside})
    expectSeen(subject, dropping<mlir::NVVM::MBarrierTryWaitParityOp>(), 2);
}
TEST(GpuTensorCopiesFault, TheOtherPhaseIsAwaited) {
  auto spoil =
      editing<mlir::NVVM::MBarrierTryWaitParityOp>([](Operation *wait) { addTo<mlir::LLVM::XOrOp>(wait, 1, 1); });
  for (const Subject &subject : {kBoxes, kBeside})
    expectSeen(subject, spoil, 2);
}
TEST(GpuTensorCopiesFault, PhasesDoNotChange) {
  auto spoil =
      editing<mlir::LLVM::XOrOp>([](mlir::LLVM::XOrOp flip) { flip.replaceAllUsesWith(flip.getLhs()); },
                                 [](mlir::LLVM::XOrOp op) { return mlir::matchPattern(op.getRhs(), mlir::m_One()); });
  expectSeen(kBoxes, spoil, 2);
}
TEST(GpuTensorCopiesFault, ABarrierCountsOtherArrivals) {
  for (int64_t more : {1, -1}) {
    auto add = [=](Operation *init) { addTo<mlir::LLVM::AddOp>(init, 1, more); };
    expectSeen(kBoxes, editing<mlir::NVVM::MBarrierInitOp>(add), 4);
    expectSeen(kWindow, editing<mlir::NVVM::MBarrierInitOp>(add), 8);
    // All warps meet in each step, behind all that reads keys and windows: one arrival less makes no difference.
    expectSeen(kBeside, editing<mlir::NVVM::MBarrierInitOp>(add), 8, /*spare=*/more < 0 ? 2 : 0);
  }
  expectSeen(kBoxes, dropping<mlir::NVVM::MBarrierInitOp>(), 4);
}
TEST(GpuTensorCopiesFault, AFenceIsDropped) {
  for (const Subject &subject : {kBoxes, kBeside})
    expectSeen(subject, dropping<mlir::NVVM::FenceMbarrierInitOp>(), 1);
  // Of the barriers; of the queries.
  expectSeen(kBoxes, dropping<mlir::NVVM::FenceProxyOp>(), 2);
  // Of the copies by threads, too; each step has a fence behind that of the queries.
  expectSeen(kValuesAlone, dropping<mlir::NVVM::FenceProxyOp>(), 3, /*spare=*/1);
  expectSeen(kWindow, dropping<mlir::NVVM::FenceProxyOp>(), 3); // also before a box overwrites what mma.sync reads
  // Of the keys that mma.sync has read, too. The thread of the barriers has another fence, and so has the work before
  // the first step.
  expectSeen(kBeside, dropping<mlir::NVVM::FenceProxyOp>(), 4, /*spare=*/2);
}
TEST(GpuTensorCopiesFault, MoreRegistersThanThereAre) {
  auto more = [](mlir::NVVM::SetMaxRegisterOp set) { set.setRegCount(set.getRegCount() + 16); };
  expectSeen(kBoxes, editing<mlir::NVVM::SetMaxRegisterOp>(more), 2);
}

} // namespace
