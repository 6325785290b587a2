// Plants mistakes into lowered kernels on wgmma: barriers, waits and fences that are missing, parities, counts, and
// operands of products. The interpreter must report each, or the numbers must be wrong, in some order of the warps.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "tests/unit/GpuLayers.h"

using namespace skewer;
using namespace skewer::testing;
using mlir::Operation;
using mlir::Value;

namespace {

/// A layer and its tile: two warpgroups, so that registers are moved between them.
struct Subject {
  std::string text;
  GpuOptions options;
};
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

/// Changes the n-th place that it knows and returns it, or what stands there now; null if there is no such place.
using Spoil = llvm::function_ref<Operation *(mlir::gpu::GPUModuleOp, size_t)>;

/// The number of places with a mistake, and the mistakes that no order of warps shows.
struct Planted {
  size_t places = 0;
  std::vector<std::string> missed;
  std::string text() const {
    std::string all = std::to_string(missed.size()) + " of " + std::to_string(places) + " are not seen:";
    for (const std::string &one : missed)
      all += "\n  " + one;
    return all;
  }
};
/// Plants one mistake after another.
Planted plantEach(const Subject &subject, Spoil spoil, size_t most = 12) {
  constexpr unsigned kOrders = 10;
  Planted planted;
  GpuLayer compiled(subject.text);
  for (; planted.places < most; ++planted.places) {
    GpuOptions options = subject.options;
    GpuOutcome outcome = compiled.lower(options);
    EXPECT_TRUE(outcome.lowered) << outcome.messages;
    bool found = false, caught = false;
    std::string what;
    options.spoil = [&](mlir::gpu::GPUModuleOp module) {
      if (Operation *place = spoil(module, planted.places)) {
        found = true;
        llvm::raw_string_ostream(what) << planted.places << ": " << *place;
      }
    };
    for (options.order = 0; options.order < kOrders && !caught; ++options.order) {
      compiled.interpret(options, outcome);
      options.spoil = nullptr;
      if (!found)
        return planted;
      caught = !outcome.report.faults.empty() || !(outcome.error <= 2 * kHalf);
    }
    if (!caught)
      planted.missed.push_back(what.substr(0, 300));
  }
  return planted;
}

/// Returns the n-th operation that `matches`; null if there is none.
template <typename Op> Op nth(mlir::gpu::GPUModuleOp module, size_t number, llvm::function_ref<bool(Op)> matches) {
  Op found;
  module.walk([&](Op op) {
    if (!found && matches(op) && number-- == 0)
      found = op;
  });
  return found;
}
template <typename Op> Op nth(mlir::gpu::GPUModuleOp module, size_t number) {
  return nth<Op>(module, number, [](Op) { return true; });
}
/// Erases the n-th operation, and returns what stands behind it.
template <typename Op> Operation *drop(mlir::gpu::GPUModuleOp module, size_t number) {
  Op op = nth<Op>(module, number);
  if (!op)
    return nullptr;
  Operation *next = op->getNextNode();
  op->erase();
  return next;
}
Value constant(mlir::OpBuilder &b, Operation *at, mlir::Type type, int64_t number) {
  b.setInsertionPoint(at);
  return mlir::LLVM::ConstantOp::create(b, at->getLoc(), type, b.getIntegerAttr(type, number));
}
/// Adds a number to an operand.
template <typename Op> void addTo(Operation *op, unsigned operand, int64_t number) {
  mlir::OpBuilder b(op);
  Value before = op->getOperand(operand), other = constant(b, op, before.getType(), number);
  op->setOperand(operand, Op::create(b, op->getLoc(), before, other));
}

bool isProduct(mlir::LLVM::InlineAsmOp op) { return op.getAsmString().contains("wgmma.mma_async"); }
mlir::LLVM::InlineAsmOp nthProduct(mlir::gpu::GPUModuleOp module, size_t number) {
  return nth<mlir::LLVM::InlineAsmOp>(module, number, isProduct);
}
/// Returns the number of the product's last operand: whether sums are kept. Before it stand the columns.
unsigned lastOperand(Operation *product) { return product->getNumOperands() - 1; }

/// `spare`: of these places another one does the work too.
void expectSeen(const Planted &planted, size_t least, size_t spare = 0) {
  EXPECT_GE(planted.places, least);
  EXPECT_EQ(planted.missed.size(), spare) << planted.text();
}

TEST(GpuWgmmaFault, TheLayersAreRightWithoutOne) {
  for (const Subject &subject : {kPlainSubject, kTables, withHiddenNan()}) {
    Planted planted = plantEach(subject, [](mlir::gpu::GPUModuleOp module, size_t) { return module; }, 1);
    EXPECT_EQ(planted.missed.size(), 1u) << subject.text;
  }
}
TEST(GpuWgmmaFault, ASignalIsNotGiven) {
  for (const Subject &subject : {kPlainSubject, kTables}) {
    expectSeen(plantEach(subject, drop<mlir::NVVM::MBarrierArriveOp>), 2);
    expectSeen(plantEach(subject, drop<mlir::NVVM::CpAsyncMBarrierArriveOp>), 1);
  }
}
TEST(GpuWgmmaFault, ASignalIsNotAwaited) {
  for (const Subject &subject : {kPlainSubject, kTables})
    expectSeen(plantEach(subject, drop<mlir::NVVM::MBarrierTryWaitParityOp>), 2);
}
TEST(GpuWgmmaFault, TheOtherPhaseIsAwaited) {
  expectSeen(plantEach(kPlainSubject,
                       [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                         auto wait = nth<mlir::NVVM::MBarrierTryWaitParityOp>(module, number);
                         if (wait)
                           addTo<mlir::LLVM::XOrOp>(wait, 1, 1);
                         return wait;
                       }),
             2);
}
TEST(GpuWgmmaFault, ABarrierCountsOtherArrivals) {
  for (int64_t more : {1, -1})
    expectSeen(plantEach(kPlainSubject,
                         [&](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                           auto init = nth<mlir::NVVM::MBarrierInitOp>(module, number);
                           if (init)
                             addTo<mlir::LLVM::AddOp>(init, 1, more);
                           return init;
                         }),
               4);
  expectSeen(plantEach(kPlainSubject, drop<mlir::NVVM::MBarrierInitOp>), 4);
}
TEST(GpuWgmmaFault, AFenceIsDropped) {
  for (const Subject &subject : {kPlainSubject, kTables}) {
    // The fence of each step is behind that of the queries.
    expectSeen(plantEach(subject, drop<mlir::NVVM::FenceProxyOp>), 2, /*spare=*/1);
    expectSeen(plantEach(subject, drop<mlir::NVVM::WgmmaFenceAlignedOp>), 2);
  }
}
TEST(GpuWgmmaFault, ProductsAreNotWaitedFor) {
  expectSeen(plantEach(kPlainSubject, drop<mlir::NVVM::WgmmaGroupSyncAlignedOp>), 2);
  expectSeen(plantEach(kPlainSubject,
                       [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                         auto wait = nth<mlir::LLVM::InlineAsmOp>(module, number, [](mlir::LLVM::InlineAsmOp op) {
                           return op.getAsmString().contains("wait_group.sync.aligned 0");
                         });
                         if (wait)
                           wait.setAsmString("wgmma.wait_group.sync.aligned 1;");
                         return wait;
                       }),
             2);
}
TEST(GpuWgmmaFault, ABarrierOfThreadsIsDropped) {
  expectSeen(plantEach(kPlainSubject, drop<mlir::NVVM::Barrier0Op>), 1);
  // The first step of the block that is computed again waits once more.
  expectSeen(plantEach(withHiddenNan(), drop<mlir::NVVM::BarrierOp>), 4, /*spare=*/1);
  // The barrier of all threads before the first step does the work of those of the threads that compute, too.
  expectSeen(plantEach(kTables, drop<mlir::NVVM::BarrierOp>), 4, /*spare=*/1);
}
/// Lane 0 signals for a warp that has read numbers, or has written them; here producers write none.
TEST(GpuWgmmaFault, LanesDoNotMeetBeforeTheySignal) {
  auto spoil = [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
    auto meeting = nth<mlir::NVVM::SyncWarpOp>(module, number, [](mlir::NVVM::SyncWarpOp op) {
      return mlir::isa<mlir::LLVM::CondBrOp>(op->getNextNode());
    });
    if (!meeting)
      return nullptr;
    Operation *next = meeting->getNextNode();
    meeting->erase();
    return next;
  };
  expectSeen(plantEach(kTables, spoil), 2, /*spare=*/1);
}
TEST(GpuWgmmaFault, ACopyIsNotAwaited) {
  // The first step of the block that is computed again waits once more.
  expectSeen(plantEach(withHiddenNan(), drop<mlir::NVVM::CpAsyncWaitGroupOp>), 4, /*spare=*/1);
}
TEST(GpuWgmmaFault, MoreRegistersThanThereAre) {
  expectSeen(plantEach(kPlainSubject,
                       [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                         auto set = nth<mlir::NVVM::SetMaxRegisterOp>(module, number);
                         if (set)
                           set.setRegCount(set.getRegCount() + 16);
                         return set;
                       }),
             2);
  // The producers keep what the others wait for.
  auto dropDecrease = [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
    auto set = nth<mlir::NVVM::SetMaxRegisterOp>(module, number, [](mlir::NVVM::SetMaxRegisterOp op) {
      return op.getAction() == mlir::NVVM::SetMaxRegisterAction::decrease;
    });
    if (!set)
      return nullptr;
    Operation *next = set->getNextNode();
    set->erase();
    return next;
  };
  expectSeen(plantEach(kPlainSubject, dropDecrease), 1);
}
TEST(GpuWgmmaFault, PhasesDoNotChange) {
  expectSeen(plantEach(kPlainSubject,
                       [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                         auto flip = nth<mlir::LLVM::XOrOp>(module, number, [](mlir::LLVM::XOrOp op) {
                           return mlir::matchPattern(op.getRhs(), mlir::m_One());
                         });
                         if (flip)
                           flip.replaceAllUsesWith(flip.getLhs());
                         return flip;
                       }),
             2);
}
TEST(GpuWgmmaFault, OperandsBeginElsewhere) {
  // Columns one chunk of 16 bytes further, and rows.
  expectSeen(plantEach(kPlainSubject,
                       [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                         auto product = nthProduct(module, number);
                         if (product)
                           addTo<mlir::LLVM::AddOp>(product, lastOperand(product) - 1, 1);
                         return product;
                       }),
             4);
  expectSeen(plantEach(kPlainSubject,
                       [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                         auto product = nth<mlir::LLVM::InlineAsmOp>(module, number, [](mlir::LLVM::InlineAsmOp op) {
                           return isProduct(op) && !op.getConstraints().contains("r,r,r,r");
                         });
                         if (product)
                           addTo<mlir::LLVM::AddOp>(product, lastOperand(product) - 2, 1);
                         return product;
                       }),
             2);
}
/// Exchanges the two distances of a descriptor. Along the depth of rows the hardware reads one of them only.
TEST(GpuWgmmaFault, DistancesAreExchanged) {
  expectSeen(plantEach(kPlainSubject,
                       [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                         auto found = nth<mlir::LLVM::ConstantOp>(module, number, [](mlir::LLVM::ConstantOp op) {
                           auto value = mlir::dyn_cast<mlir::IntegerAttr>(op.getValue());
                           return value && value.getType().isInteger(64) && uint64_t(value.getInt()) >> 62;
                         });
                         if (!found)
                           return nullptr;
                         uint64_t bits = uint64_t(mlir::cast<mlir::IntegerAttr>(found.getValue()).getInt());
                         uint64_t leading = bits >> 16 & 0x3fff, stride = bits >> 32 & 0x3fff;
                         uint64_t kept = bits & ~(uint64_t(0x3fff) << 16 | uint64_t(0x3fff) << 32);
                         mlir::OpBuilder b(found);
                         found.setValueAttr(b.getI64IntegerAttr(int64_t(kept | stride << 16 | leading << 32)));
                         return found;
                       }),
             2);
}
TEST(GpuWgmmaFault, SumsAreKeptOrNot) {
  expectSeen(plantEach(kPlainSubject,
                       [](mlir::gpu::GPUModuleOp module, size_t number) -> Operation * {
                         auto product = nthProduct(module, number);
                         if (product)
                           addTo<mlir::LLVM::XOrOp>(product, lastOperand(product), 1);
                         return product;
                       }),
             4);
}

} // namespace
