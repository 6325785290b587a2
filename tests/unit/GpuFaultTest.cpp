// Plants mistakes that somebody could make in a GPU kernel into the lowered code. The interpreter must report each, or
// the numbers must be wrong.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "tests/unit/GpuMistakes.h"

using namespace skewer;
using namespace skewer::testing;
using mlir::Operation;

namespace {

constexpr double kHalf = 2e-3;

std::string layer(const std::string &more, const std::string &score, const std::string &mask = "") {
  return "param N = 130, heads = 2, dim = 32\nkernel layer(q, k, v : f16[heads, N, dim]" + more +
         ") -> f16[heads, N, dim] {\n  content = einsum(\"h i d, h j d -> h i j\", q, k)\n  return einsum(\"h i j, h j "
         "d "
         "-> h i d\", softmax((content" +
         score + ") * dim^-0.5" + mask + "), v)\n}\n";
}
/// A layer with a band that shuffles skew, under a mask whose edge crosses tiles.
const std::string kBand = layer(", table : f16[2*N - 1, dim]",
                                " + einsum(\"h i d, (j - i + N - 1) d -> h i j\", q, table, j = N)", " where j <= i");
/// A layer with logits in shared memory: looked-up ones, those of keys, a line of biases.
const std::string kThroughMemory =
    layer(", few : f16[100, dim], turned : f16[2*N - 1, dim], bias : f16[2*N - 1]",
          " + einsum(\"h i d, ((3*i + 5*j) % 100) d -> h i j\", q, few, j = N) + "
          "einsum(\"h j d, (i - j + N - 1) d -> h i j\", k, turned, i = N) + bias[j - i + N - 1]");
const std::string kPlain = layer("", "");

GpuOptions options(double spread = 3) {
  GpuOptions options;
  options.rows = options.keys = 32;
  options.size = 1;
  options.spread = spread; // with a large one the maximum of a row moves from tile to tile
  return options;
}

/// Plants one mistake after another, expects that each is seen, and returns their number.
size_t expectSeen(const std::string &text, Spoil spoil, llvm::function_ref<bool(const GpuOutcome &)> isSeen,
                  size_t most = 16, double spread = 3) {
  Planted planted = plantEach({text, options(spread)}, spoil, isSeen, most);
  EXPECT_TRUE(planted.missed.empty()) << planted.text() << "\n" << text;
  return planted.places;
}

bool hasFault(const GpuOutcome &outcome, gpu::FaultKind kind) {
  return llvm::any_of(outcome.report.faults, [&](const gpu::Fault &fault) { return fault.kind == kind; });
}
bool races(const GpuOutcome &outcome) { return hasFault(outcome, gpu::FaultKind::Race); }
bool isWrong(const GpuOutcome &outcome) { return !(outcome.error <= kHalf); }

bool isConstant(mlir::Value value, int64_t number) {
  llvm::APInt constant;
  return mlir::matchPattern(value, mlir::m_ConstantInt(&constant)) && constant.getSExtValue() == number;
}

TEST(GpuFault, TheLayersAreRightWithoutOne) {
  for (const std::string &text : {kBand, kThroughMemory, kPlain})
    EXPECT_GT(expectOnGpu(text, kHalf, options()).error, 0);
}
TEST(GpuFault, ABarrierIsDropped) {
  for (const std::string &text : {kBand, kThroughMemory, kPlain})
    EXPECT_GE(expectSeen(text, dropping<mlir::NVVM::Barrier0Op>(), races), 2u);
}
TEST(GpuFault, AWaitForCopiesIsDropped) {
  EXPECT_GE(expectSeen(kBand, dropping<mlir::NVVM::CpAsyncWaitGroupOp>(), races), 2u);
  EXPECT_GE(expectSeen(kThroughMemory, dropping<mlir::NVVM::CpAsyncWaitGroupOp>(), races), 3u);
}
TEST(GpuFault, AWaitLeavesOneGroupTooMany) {
  // It leaves the group whose bytes are read next, or that is still being copied at the end.
  auto spoil =
      editing<mlir::NVVM::CpAsyncWaitGroupOp>([](mlir::NVVM::CpAsyncWaitGroupOp wait) { wait.setN(wait.getN() + 1); });
  EXPECT_GE(expectSeen(kPlain, spoil, races), 2u);
}
TEST(GpuFault, ACopyIsNotCommitted) {
  auto caught = [](const GpuOutcome &outcome) {
    return races(outcome) || hasFault(outcome, gpu::FaultKind::Uninitialised);
  };
  EXPECT_GE(expectSeen(kPlain, dropping<mlir::NVVM::CpAsyncCommitGroupOp>(), caught), 1u);
}
TEST(GpuFault, RowsStandInTheSameBanks) {
  // 32 elements and a chunk of 16 bytes are 80 bytes a row; without the chunk eight rows meet two banks each.
  GpuLayer compiled(kPlain);
  GpuOptions how = options();
  size_t changed = 0;
  how.spoil = [&](mlir::gpu::GPUModuleOp module) {
    module.walk([&](mlir::LLVM::MulOp op) {
      if (isConstant(op.getRhs(), 80))
        setConstant(op, 1, 64), ++changed;
    });
  };
  GpuOutcome outcome = compiled.run(how);
  EXPECT_GT(changed, 0u);
  bool conflicts = false;
  for (const auto &[operation, use] : outcome.report.banks)
    conflicts |= mlir::isa<mlir::NVVM::LdMatrixOp>(operation) && use.hasConflicts();
  EXPECT_TRUE(conflicts);
  EXPECT_FALSE(isWrong(outcome)); // it is only slow
  EXPECT_NE(outcome.report.conflicts().find("ldmatrix"), std::string::npos) << outcome.report.conflicts();
}
TEST(GpuFault, TheSkewIsOffByOne) {
  auto spoil = editing<mlir::LLVM::SubOp>([](mlir::LLVM::SubOp shift) { setConstant(shift, 0, 6); },
                                          [](mlir::LLVM::SubOp op) { return isConstant(op.getLhs(), 7); });
  EXPECT_EQ(expectSeen(kBand, spoil, isWrong), 1u);
}
TEST(GpuFault, TheWindowOfATableIsOffByOne) {
  // row = offset + 129, for offsets from -129 on
  auto spoil = editing<mlir::LLVM::AddOp>([](mlir::LLVM::AddOp row) { setConstant(row, 1, 128); },
                                          [](mlir::LLVM::AddOp op) { return isConstant(op.getRhs(), 129); });
  EXPECT_GE(expectSeen(kBand, spoil, isWrong, 4), 1u);
}
TEST(GpuFault, AShuffleAsksTheWrongLane) {
  auto spoil = editing<mlir::NVVM::ShflOp>([](mlir::NVVM::ShflOp shuffle) {
    addTo<mlir::LLVM::XOrOp>(shuffle, shuffle.getOffsetMutable().getOperandNumber(), 4);
  });
  EXPECT_EQ(expectSeen(kBand, spoil, isWrong), 16u);
  EXPECT_EQ(expectSeen(kPlain, spoil, isWrong), 8u); // two of the maximum and two of the sum, of two rows
}
TEST(GpuFault, KeysBehindTheLastOneCount) {
  // key < 130, of the scores: what stands in a select with -infinity
  auto ofScores = [](mlir::LLVM::ICmpOp op) {
    return isConstant(op.getRhs(), 130) && llvm::any_of(op->getUsers(), [&](Operation *user) {
             return mlir::isa<mlir::LLVM::SelectOp>(user) && user->getResult(0).getType().isF32();
           });
  };
  auto spoil = editing<mlir::LLVM::ICmpOp>([](mlir::LLVM::ICmpOp compare) { setConstant(compare, 1, 160); }, ofScores);
  EXPECT_GE(expectSeen(kPlain, spoil, isWrong, 4, /*spread=*/0.5), 4u);
}
TEST(GpuFault, ASumIsNotRescaled) {
  auto carried = [](mlir::Value value) { return mlir::isa<mlir::BlockArgument>(value); };
  auto spoil = editing<mlir::LLVM::FMulOp>(
      [&](mlir::LLVM::FMulOp op) { op.replaceAllUsesWith(carried(op.getLhs()) ? op.getLhs() : op.getRhs()); },
      [&](mlir::LLVM::FMulOp op) { return carried(op.getLhs()) != carried(op.getRhs()); });
  // The sums of two rows, and 4 × 4 accumulators of the result.
  EXPECT_GE(expectSeen(kPlain, spoil, isWrong, 18), 18u);
}
TEST(GpuFault, AnAddressIsOutsideOrOdd) {
  // The last row of a result is written one place too far: after the buffer, or into the next row.
  auto outside = editing<mlir::LLVM::ICmpOp>(
      [](mlir::LLVM::ICmpOp below) { setConstant(below, 1, 131); },
      [](mlir::LLVM::ICmpOp op) {
        return op.getPredicate() == mlir::LLVM::ICmpPredicate::slt && isConstant(op.getRhs(), 130) &&
               llvm::any_of(op->getUsers(), [](Operation *user) { return mlir::isa<mlir::LLVM::CondBrOp>(user); });
      });
  auto caught = [](const GpuOutcome &outcome) {
    return hasFault(outcome, gpu::FaultKind::OutOfBounds) || races(outcome);
  };
  EXPECT_GE(expectSeen(kPlain, outside, caught, 1), 1u);
  // Rows of 76 bytes: ldmatrix and cp.async want multiples of 16.
  auto odd = editing<mlir::LLVM::MulOp>([](mlir::LLVM::MulOp row) { setConstant(row, 1, 76); },
                                        [](mlir::LLVM::MulOp op) { return isConstant(op.getRhs(), 80); });
  auto misaligned = [](const GpuOutcome &outcome) { return hasFault(outcome, gpu::FaultKind::Misaligned); };
  EXPECT_GE(expectSeen(kPlain, odd, misaligned, 3), 2u);
}

} // namespace
