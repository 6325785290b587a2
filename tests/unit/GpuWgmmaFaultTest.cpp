// Plants mistakes into lowered kernels on wgmma: barriers, waits and fences that are missing, parities, counts, and
// operands of products. The interpreter must report each, or the numbers must be wrong, in some order of the warps.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "tests/unit/GpuLayers.h"
#include "tests/unit/GpuMistakes.h"

using namespace skewer;
using namespace skewer::testing;
using mlir::Operation;

namespace {

/// Returns a tile of two warpgroups, so that registers are moved between them.
GpuOptions tile(int64_t keys) {
  GpuOptions options = onWgmma(tileOf(128, keys, 2));
  options.size = 1;
  return options;
}
/// Values of several panels of 32 bytes, and a mask whose edge crosses tiles.
const Subject kPlainSubject{layer(sizes(70, 100, 32, 72, 1), "", kPlain, "f16", " where j <= i + 30"), tile(32)};
/// A table before the first step, a band, and a line of biases.
const Subject kTables{layer(sizes(100, 100, 16, 16, 1),
                            ", few : f16[100, dim], near : f16[2*N - 1, dim], bias : f16[2*N - 1]",
                            "(content + rel1d(q, near) + einsum(\"b h i d, ((3*i + 5*j) % 100) d -> b h i j\", q, few, "
                            "j = N)) * dim^-0.5 + bias[j - i + N - 1]"),
                      tile(32)};

/// Returns the plain layer with a block that is computed again.
Subject withHiddenNan() {
  Subject subject = kPlainSubject;
  subject.options.change = [](const std::string &name, std::vector<double> &values) {
    if (name == "v")
      values[72 * 60] = NAN; // 30 queries do not see this key
  };
  return subject;
}

bool isProduct(mlir::LLVM::InlineAsmOp op) { return op.getAsmString().contains("wgmma.mma_async"); }
/// Returns a Spoil that combines an operand of a product with 1 by `Combine`. The last operand is number 0 (it says
/// whether sums are kept), then come the columns and the rows.
template <typename Combine>
auto editingProduct(unsigned operand, std::function<bool(mlir::LLVM::InlineAsmOp)> matches = isProduct) {
  return editing<mlir::LLVM::InlineAsmOp>(
      [=](Operation *product) { addTo<Combine>(product, product->getNumOperands() - 1 - operand, 1); }, matches);
}

Planted plantEach(const Subject &subject, Spoil spoil, size_t most = 12) {
  auto isSeen = [](const GpuOutcome &outcome) {
    return !outcome.report.faults.empty() || !(outcome.error <= 2 * kHalf);
  };
  return plantEach(subject, spoil, isSeen, most, /*orders=*/10);
}
/// Plants one mistake after another. `spare`: of these places another one does the work too.
void expectSeen(const Subject &subject, Spoil spoil, size_t least, size_t spare = 0) {
  Planted planted = plantEach(subject, spoil);
  EXPECT_GE(planted.places, least);
  EXPECT_EQ(planted.missed.size(), spare) << planted.text();
}

TEST(GpuWgmmaFault, TheLayersAreRightWithoutOne) {
  for (const Subject &subject : {kPlainSubject, kTables, withHiddenNan()}) {
    Planted planted = plantEach(
        subject, [](mlir::gpu::GPUModuleOp module, size_t) { return module; }, 1);
    EXPECT_EQ(planted.missed.size(), 1u) << subject.text;
  }
}
TEST(GpuWgmmaFault, ASignalIsNotGiven) {
  for (const Subject &subject : {kPlainSubject, kTables}) {
    expectSeen(subject, dropping<mlir::NVVM::MBarrierArriveOp>(), 2);
    expectSeen(subject, dropping<mlir::NVVM::CpAsyncMBarrierArriveOp>(), 1);
  }
}
TEST(GpuWgmmaFault, ASignalIsNotAwaited) {
  for (const Subject &subject : {kPlainSubject, kTables})
    expectSeen(subject, dropping<mlir::NVVM::MBarrierTryWaitParityOp>(), 2);
}
TEST(GpuWgmmaFault, TheOtherPhaseIsAwaited) {
  auto spoil =
      editing<mlir::NVVM::MBarrierTryWaitParityOp>([](Operation *wait) { addTo<mlir::LLVM::XOrOp>(wait, 1, 1); });
  expectSeen(kPlainSubject, spoil, 2);
}
TEST(GpuWgmmaFault, ABarrierCountsOtherArrivals) {
  for (int64_t more : {1, -1}) {
    auto add = [=](Operation *init) { addTo<mlir::LLVM::AddOp>(init, 1, more); };
    expectSeen(kPlainSubject, editing<mlir::NVVM::MBarrierInitOp>(add), 4);
  }
  expectSeen(kPlainSubject, dropping<mlir::NVVM::MBarrierInitOp>(), 4);
}
TEST(GpuWgmmaFault, AFenceIsDropped) {
  for (const Subject &subject : {kPlainSubject, kTables}) {
    // The fence of each step is behind that of the queries.
    expectSeen(subject, dropping<mlir::NVVM::FenceProxyOp>(), 2, /*spare=*/1);
    expectSeen(subject, dropping<mlir::NVVM::WgmmaFenceAlignedOp>(), 2);
  }
}
TEST(GpuWgmmaFault, ProductsAreNotWaitedFor) {
  expectSeen(kPlainSubject, dropping<mlir::NVVM::WgmmaGroupSyncAlignedOp>(), 2);
  auto spoil = editing<mlir::LLVM::InlineAsmOp>(
      [](mlir::LLVM::InlineAsmOp wait) { wait.setAsmString("wgmma.wait_group.sync.aligned 1;"); },
      [](mlir::LLVM::InlineAsmOp op) { return op.getAsmString().contains("wait_group.sync.aligned 0"); });
  expectSeen(kPlainSubject, spoil, 2);
}
TEST(GpuWgmmaFault, ABarrierOfThreadsIsDropped) {
  expectSeen(kPlainSubject, dropping<mlir::NVVM::Barrier0Op>(), 1);
  // The first step of the block that is computed again waits once more.
  expectSeen(withHiddenNan(), dropping<mlir::NVVM::BarrierOp>(), 4, /*spare=*/1);
  // The barrier of all threads before the first step does the work of those of the threads that compute, too.
  expectSeen(kTables, dropping<mlir::NVVM::BarrierOp>(), 4, /*spare=*/1);
}
/// Lane 0 signals for a warp that has read numbers, or has written them; here producers write none.
TEST(GpuWgmmaFault, LanesDoNotMeetBeforeTheySignal) {
  auto spoil = dropping<mlir::NVVM::SyncWarpOp>(
      [](Operation *op) { return mlir::isa<mlir::LLVM::CondBrOp>(op->getNextNode()); });
  expectSeen(kTables, spoil, 2, /*spare=*/1);
}
TEST(GpuWgmmaFault, ACopyIsNotAwaited) {
  // The first step of the block that is computed again waits once more.
  expectSeen(withHiddenNan(), dropping<mlir::NVVM::CpAsyncWaitGroupOp>(), 4, /*spare=*/1);
}
TEST(GpuWgmmaFault, MoreRegistersThanThereAre) {
  auto more = [](mlir::NVVM::SetMaxRegisterOp set) { set.setRegCount(set.getRegCount() + 16); };
  expectSeen(kPlainSubject, editing<mlir::NVVM::SetMaxRegisterOp>(more), 2);
  // The producers keep what the others wait for.
  auto isDecrease = [](mlir::NVVM::SetMaxRegisterOp op) {
    return op.getAction() == mlir::NVVM::SetMaxRegisterAction::decrease;
  };
  expectSeen(kPlainSubject, dropping<mlir::NVVM::SetMaxRegisterOp>(isDecrease), 1);
}
TEST(GpuWgmmaFault, PhasesDoNotChange) {
  auto spoil =
      editing<mlir::LLVM::XOrOp>([](mlir::LLVM::XOrOp flip) { flip.replaceAllUsesWith(flip.getLhs()); },
                                 [](mlir::LLVM::XOrOp op) { return mlir::matchPattern(op.getRhs(), mlir::m_One()); });
  expectSeen(kPlainSubject, spoil, 2);
}
TEST(GpuWgmmaFault, OperandsBeginElsewhere) {
  // Columns one chunk of 16 bytes further, and rows.
  expectSeen(kPlainSubject, editingProduct<mlir::LLVM::AddOp>(1), 4);
  auto readsRows = [](mlir::LLVM::InlineAsmOp op) { return isProduct(op) && !op.getConstraints().contains("r,r,r,r"); };
  expectSeen(kPlainSubject, editingProduct<mlir::LLVM::AddOp>(2, readsRows), 2);
}
/// Exchanges the two distances of a descriptor. Along the depth of rows the hardware reads one of them only.
TEST(GpuWgmmaFault, DistancesAreExchanged) {
  auto isDescriptor = [](mlir::LLVM::ConstantOp op) {
    auto value = mlir::dyn_cast<mlir::IntegerAttr>(op.getValue());
    return value && value.getType().isInteger(64) && uint64_t(value.getInt()) >> 62;
  };
  auto exchange = [](mlir::LLVM::ConstantOp op) {
    uint64_t bits = uint64_t(mlir::cast<mlir::IntegerAttr>(op.getValue()).getInt());
    uint64_t leading = bits >> 16 & 0x3fff, stride = bits >> 32 & 0x3fff;
    uint64_t kept = bits & ~(uint64_t(0x3fff) << 16 | uint64_t(0x3fff) << 32);
    mlir::OpBuilder b(op);
    op.setValueAttr(b.getI64IntegerAttr(int64_t(kept | stride << 16 | leading << 32)));
  };
  expectSeen(kPlainSubject, editing<mlir::LLVM::ConstantOp>(exchange, isDescriptor), 2);
}
TEST(GpuWgmmaFault, SumsAreKeptOrNot) { expectSeen(kPlainSubject, editingProduct<mlir::LLVM::XOrOp>(0), 4); }

} // namespace
