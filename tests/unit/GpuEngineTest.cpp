// Tests engines: their description for scheduling agrees with their code; the costs of their products; copies of tiles.
#include "passes/Gpu/Schedule/GpuEngine.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Gpu/AsyncCopies.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/Ring.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "passes/Gpu/Shape/RingRegisters.h"
#include "tests/unit/GpuLayers.h"

using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::testing;

namespace {

/// A function to build in.
class GpuEngines : public ::testing::Test {
protected:
  GpuEngines() : context(mlir::MLIRContext::Threading::DISABLED), b(mlir::UnknownLoc::get(&context), &context) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect,
                        mlir::scf::SCFDialect>();
    module = mlir::ModuleOp::create(b.getLoc());
    b.setInsertionPointToStart(module->getBody());
    auto pointer = mlir::LLVM::LLVMPointerType::get(&context, kSharedSpace);
    shared.emplace(b, mlir::LLVM::ZeroOp::create(b, pointer));
    at = threadPlace(b);
  }
  template <typename Op> size_t count() {
    size_t found = 0;
    module->walk([&](Op) { ++found; });
    return found;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  GpuBuilder b;
  std::optional<BlockMemory> shared;
  ThreadPlace at;
};

TEST_F(GpuEngines, EveryEngineHasCode) {
  for (const GpuEngine *engine : gpuEngines()) {
    EXPECT_TRUE(makeEngine(engine->name(), {b, *shared, at, b.getF16Type(), 64})) << engine->name().str();
    EXPECT_EQ(factsOf(engine->name()).name, engine->name());
    EXPECT_EQ(findGpuEngine(engine->name()), engine);
  }
  EXPECT_FALSE(makeEngine("none such", {b, *shared, at, b.getF16Type(), 64}));
  EXPECT_EQ(findGpuEngine("none such"), nullptr);
}
TEST_F(GpuEngines, EveryMachineHasOne) {
  for (const GpuMachine &machine : knownGpuMachines())
    EXPECT_EQ(engineNames(machine), machine.target == "sm_90a" ? "mma_sync, wgmma, wgmma_ahead" : "mma_sync")
        << machine.target;
  GpuMachine bare = *findGpuMachine("sm_80");
  bare.engines.clear();
  EXPECT_FALSE(gpuEngines().front()->fits(bare));
  EXPECT_EQ(engineNames(bare), "");
}
TEST_F(GpuEngines, TilesAreWholeFragments) {
  for (const GpuEngine *engine : gpuEngines()) {
    for (int64_t rows : engine->rows())
      EXPECT_EQ(rows % 16, 0);
    for (int64_t keys : engine->keys())
      EXPECT_EQ(keys % 16, 0);
    EXPECT_EQ(engine->warpRows().front(), 16);
  }
}

/// Warpgroups that compute take registers that producers leave, and never more than there are.
TEST_F(GpuEngines, RegistersOfABlockWithProducers) {
  constexpr int64_t kAll = 65536; // of a multiprocessor
  for (llvm::StringRef engine : {kWgmma, kWgmmaAhead})
    for (int64_t rows : {64, 128, 192, 256}) {
      GpuTile tile;
      tile.rows = rows;
      tile.engine = engine;
      EXPECT_EQ(tile.blockThreads(), 2 * rows + 128);
      RingRegisters registers = ringRegistersOf(tile);
      EXPECT_EQ(registers.move, rows > 64);
      EXPECT_LE(registers.entry * tile.blockThreads(), kAll);
      if (!registers.move)
        continue;
      int64_t moved = registers.computing * tile.threads() + registers.producing * 128;
      EXPECT_LE(moved, registers.entry * tile.blockThreads()) << rows;
      EXPECT_GT(moved, registers.entry * tile.blockThreads() - 8 * tile.threads()) << "no step of 8 is left over";
      for (int64_t count : {registers.computing, registers.producing}) {
        EXPECT_EQ(count % 8, 0) << rows; // setmaxnreg
        EXPECT_GE(count, 24) << rows;
        EXPECT_LT(count, 256) << rows;
      }
      EXPECT_GT(registers.computing, registers.entry);
    }
  EXPECT_FALSE(ringRegistersOf(GpuTile()).move);
}
/// Two barriers of 8 bytes for each copy: filled by the producers' warps, read by the others.
TEST_F(GpuEngines, BarriersOfARing) {
  Ring ring(b, *shared, /*offset=*/64, /*copies=*/3);
  createBarriers(b, at, /*boxes=*/false, [&] { ring.create(/*producers=*/4, /*users=*/8, /*boxes=*/false); });
  std::vector<int64_t> arrivals;
  module->walk([&](mlir::NVVM::MBarrierInitOp init) {
    llvm::APInt count;
    ASSERT_TRUE(mlir::matchPattern(init.getCount(), mlir::m_ConstantInt(&count)));
    arrivals.push_back(count.getSExtValue());
  });
  ASSERT_EQ(arrivals.size(), 6u);
  for (size_t copy = 0; copy < 3; ++copy) {
    EXPECT_GE(arrivals[2 * copy], 4);
    EXPECT_EQ(arrivals[2 * copy + 1], 8);
  }
  EXPECT_EQ(count<mlir::NVVM::FenceMbarrierInitOp>(), 1u);
  EXPECT_EQ(count<mlir::NVVM::Barrier0Op>(), 1u); // nobody uses them before
  EXPECT_EQ(count<mlir::NVVM::FenceProxyOp>(), 0u);
  // Where bytes are counted, one thread announces them.
  createBarriers(b, at, /*boxes=*/true, [&] { ring.create(/*producers=*/0, /*users=*/8, /*boxes=*/true); });
  arrivals.clear();
  module->walk([&](mlir::NVVM::MBarrierInitOp init) {
    llvm::APInt count;
    ASSERT_TRUE(mlir::matchPattern(init.getCount(), mlir::m_ConstantInt(&count)));
    arrivals.push_back(count.getSExtValue());
  });
  EXPECT_EQ(arrivals[6], 1);
  EXPECT_EQ(count<mlir::NVVM::FenceProxyOp>(), 1u);
  // The place goes round: copies 0, 1, 2, and 0 in the other phase.
  RingPlace place = ring.first();
  for (auto [copy, phase] : {std::pair(0, 0), {1, 0}, {2, 0}, {0, 1}, {1, 1}}) {
    EXPECT_EQ(mlir::getConstantIntValue(place.copy), copy);
    EXPECT_EQ(mlir::getConstantIntValue(place.phase), phase);
    place = ring.next(place);
  }
}

TEST_F(GpuEngines, LongSumsAreAddedOutsideOfTensorCores) {
  auto addsOutside = [&](mlir::Type type, int64_t products) {
    return makeEngine("mma_sync", {b, *shared, at, type, products})->addsOutside();
  };
  EXPECT_FALSE(addsOutside(b.getF16Type(), 4096));
  EXPECT_TRUE(addsOutside(b.getF16Type(), 1 << 16));
  EXPECT_TRUE(addsOutside(b.getF32Type(), 16));
}

TEST(GpuEngineCosts, ProductsOfMmaSync) {
  const GpuEngine &engine = *findGpuEngine("mma_sync");
  GpuPipes half, wide, two, shared;
  engine.countProducts({64, 32, 64}, half);
  EXPECT_EQ(half.matrixFlops, 2.0 * 64 * 32 * 64);
  // A warp's fragments: each of its 16 rows' four warps reads 32 rows of 128 bytes.
  EXPECT_EQ(half.sharedTraffic, 4.0 * 32 * 128);
  engine.countProducts({64, 32, 64, 2}, two);
  EXPECT_EQ(two.sharedTraffic, half.sharedTraffic / 2);
  engine.countProducts({64, 32, 64, 1, /*isHeld=*/false}, shared);
  EXPECT_EQ(shared.sharedTraffic, half.sharedTraffic + 64 * 128);
  // Three products at half the rate, of operands twice as large, which are divided first.
  engine.countProducts({64, 32, 64, 1, true, /*isF32=*/true}, wide);
  EXPECT_EQ(wide.matrixFlops, 6 * half.matrixFlops);
  EXPECT_EQ(wide.sharedTraffic, 2 * half.sharedTraffic);
  EXPECT_GT(wide.floats, 0);
  EXPECT_EQ(half.floats, 0);
}
TEST(GpuEngineCosts, WeightedRowsOfMmaSync) {
  const GpuEngine &engine = *findGpuEngine("mma_sync");
  GpuPipes half, wide;
  engine.countWeighted({64, 32, 48}, half);
  engine.countWeighted({64, 32, 48, 1, true, true}, wide);
  EXPECT_EQ(half.matrixFlops, 2.0 * 64 * 32 * 48);
  EXPECT_EQ(wide.sharedTraffic, 2 * half.sharedTraffic);
  // Values of f32 come a number at a time, four instructions for one of ldmatrix.
  EXPECT_GT(wide.issued, 6 * half.issued);
}

TEST_F(GpuEngines, StepsAheadAndTheirCopies) {
  AsyncCopies single(b, *shared, at, b.getF16Type(), {64}, 1), triple(b, *shared, at, b.getF16Type(), {64}, 3);
  EXPECT_TRUE(single.isSingleBuffered());
  EXPECT_FALSE(triple.isSingleBuffered());
  EXPECT_EQ(single.stepsAhead(), 0);
  EXPECT_EQ(triple.stepsAhead(), 2);
  // If tiles have several copies, nothing is loaded between two operands.
  bool filled = false;
  triple.bring([&] { filled = true; });
  EXPECT_FALSE(filled);
  EXPECT_EQ(count<mlir::NVVM::Barrier0Op>(), 0u);
  single.bring([&] { filled = true; });
  EXPECT_TRUE(filled);
  EXPECT_EQ(count<mlir::NVVM::Barrier0Op>(), 2u); // empty, and full
}
TEST_F(GpuEngines, AStepWaitsForAllGroupsButThoseAhead) {
  for (int64_t stages : {1, 2, 3, 4}) {
    AsyncCopies copies(b, *shared, at, b.getF16Type(), {64}, stages);
    copies.full();
    unsigned pending = ~0u;
    module->walk([&](mlir::NVVM::CpAsyncWaitGroupOp wait) { pending = wait.getN(); });
    EXPECT_EQ(pending, stages > 2 ? stages - 2 : 0) << stages;
  }
}
TEST_F(GpuEngines, RowsInChunksAreCopiedAsTheyAre) {
  SharedPlaces places(2);
  SharedTile tile = places.place(16, 64, 1);
  AsyncCopies copies(b, *shared, at, b.getF16Type(), {64}, 2);
  auto global = mlir::LLVM::LLVMPointerType::get(&context, kGlobalSpace);
  RowSource source;
  source.pointer = mlir::LLVM::ZeroOp::create(b, global);
  source.base = b.toI64(b.i32(0));
  source.element = b.getF16Type();
  source.rowStride = source.depth = 64;
  source.aligned = true;
  copies.fillRows(tile, source, b.i32(0), b.i32(16));
  EXPECT_EQ(count<mlir::NVVM::CpAsyncOp>(), 2u); // 16 rows of 8 chunks by 64 threads
  EXPECT_EQ(count<mlir::LLVM::StoreOp>(), 0u);
  source.aligned = false;
  copies.fillRows(tile, source, b.i32(0), b.i32(16));
  EXPECT_EQ(count<mlir::NVVM::CpAsyncOp>(), 2u);
  EXPECT_EQ(count<mlir::LLVM::StoreOp>(), 1u); // element by element: two to a register
}

} // namespace
