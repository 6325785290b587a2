// Runs layers as kernels on wgmma in the interpreter, in several orders of their warps: tiles, widths, masks, and what
// may be in memory that nobody sees. The tests of each class of terms run their layers by wgmma too (expectOnEngines).
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/unit/GpuLayers.h"
#include "llvm/Support/Regex.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

struct WgmmaTile {
  int64_t rows = 64, keys = 64, stages = 2;
};
GpuOptions optionsOf(const WgmmaTile &tile, unsigned order = 0) {
  GpuOptions options = onWgmma(tileOf(tile.rows, tile.keys, tile.stages));
  options.order = order;
  return options;
}
/// Runs the layer with one, two and three warpgroups, and in other orders of warps and copies each time.
void expectWithTiles(const std::string &text, double tolerance = kHalf, GpuOptions options = {}) {
  unsigned order = 1;
  for (auto [rows, keys, stages] : {WgmmaTile{64, 64, 2}, WgmmaTile{128, 32, 3}, WgmmaTile{192, 128, 2}}) {
    options.rows = rows, options.keys = keys, options.stages = stages, options.order = order;
    expectOnWgmma(text, tolerance, options);
    order += 4;
  }
}

TEST(GpuWgmmaKernel, PlainAttention) {
  GpuOutcome outcome = expectOnGpu(layer(sizes(128, 128, 64, 64), "", kPlain), kHalf, optionsOf({128}));
  EXPECT_GT(outcome.error, 0);
  EXPECT_EQ(outcome.launch.threads, 256 + 128); // two warpgroups that compute, and one of producers
  // 2 key tiles × (4 steps of queries and keys + 4 of weights and values) × 8 warps × 4 blocks
  EXPECT_EQ(outcome.report.matrixSteps, 2 * 8 * 8 * 4);
  EXPECT_EQ(outcome.ir.find("nvvm.mma.sync"), std::string::npos);
}
/// Returns a letter for each instruction of a kernel that moves the ring on, in the order of the text.
std::string orderOf(mlir::gpu::GPUModuleOp module) {
  std::string order;
  module.walk([&](mlir::Operation *op) {
    auto text = mlir::dyn_cast<mlir::LLVM::InlineAsmOp>(op);
    order += mlir::isa<mlir::NVVM::MBarrierTryWaitParityOp>(op)   ? "w"
             : mlir::isa<mlir::NVVM::MBarrierArriveOp>(op)        ? "a"
             : mlir::isa<mlir::NVVM::CpAsyncMBarrierArriveOp>(op) ? "A"
             : mlir::isa<mlir::NVVM::CpAsyncOp>(op)               ? "c"
             : mlir::isa<mlir::NVVM::FenceProxyOp>(op)            ? "f"
             : mlir::isa<mlir::NVVM::MmaOp>(op)                   ? "m"
             : text && text.getAsmString().contains("mma_async")  ? "p"
             : text && text.getAsmString().contains("wait_group") ? "g"
                                                                  : "";
  });
  return order;
}
/// A warp that computes waits for a copy, makes it visible to wgmma, multiplies, and says that it is empty. A producer
/// waits, copies, and says that it is full.
TEST(GpuWgmmaKernel, WaitsAndArrivalsAreInOrder) {
  std::string order;
  GpuOptions options = optionsOf({64, 32});
  options.spoil = [&](mlir::gpu::GPUModuleOp module) { order = orderOf(module); };
  expectOnGpu(layer(sizes(64, 64, 32, 32, 1), "", kPlain), kHalf, options);
  EXPECT_TRUE(llvm::Regex("^c+fwfp+gp+gawc+Aa$").match(order)) << order;
  options = onWgmma(options, gpu::kWgmmaAhead);
  expectOnGpu(layer(sizes(64, 64, 32, 32, 1), "", kPlain), kHalf, options);
  // The first scores; a step's scores and the earlier values in flight together; the last values.
  EXPECT_TRUE(llvm::Regex("^c+fwfp+gwfp+p+gwgap+gawc+Aa$").match(order)) << order;
}
TEST(GpuWgmmaKernel, EveryOrderOfWarps) {
  std::string text = layer(sizes(70, 200, 32, 32, 1), "", kPlain, "f16", " where j <= i + 90");
  for (llvm::StringRef engine : {gpu::kWgmma, gpu::kWgmmaAhead})
    expectInEveryOrder(text, kHalf, onWgmma(tileOf(128, 32), engine));
}
TEST(GpuWgmmaKernel, EveryTile) {
  std::string text = layer(sizes(100, 150, 16, 24, 1), "", kPlain, "bf16", " where j <= i + 60");
  unsigned order = 0;
  for (int64_t rows : {64, 128, 192, 256})
    for (int64_t keys : {16, 32, 48, 64, 80, 112, 128})
      if ((rows / 64 + keys / 16) % 2)
        expectOnWgmma(text, kBrain, optionsOf({rows, keys, 2 + keys / 16 % 3}, order++));
}
TEST(GpuWgmmaKernel, EveryClassOfTerms) {
  expectOnWgmma(everything(70, 16, "f16"), 2 * kHalf, optionsOf({64, 64}, 1));
  expectOnWgmma(everything(150, 16, "f16"), 2 * kHalf, optionsOf({128, 32}, 5));
  expectOnWgmma(everything(90, 24, "bf16", " where j <= i"), 2 * kBrain, optionsOf({64, 32, 3}, 14));
  expectOnWgmma(everything(140, 64, "f16", " where abs(j - i) <= 40"), 2 * kHalf, optionsOf({64, 32}, 7));
}
/// Rows of 32, 64 and 128 bytes, of several panels, and rows that are copied element by element.
TEST(GpuWgmmaKernel, EveryWidth) {
  unsigned order = 0;
  for (int64_t dim : {1, 7, 16, 20, 24, 40, 48, 64, 72, 80, 96, 112, 128, 192, 256})
    expectOnWgmma(layer(sizes(67, 70, dim, dim, 1), "", kPlain), kHalf, optionsOf({64, dim > 128 ? 32 : 64}, order++));
  expectOnWgmma(layer(sizes(30, 70, 80, 16, 1), "", kPlain, "bf16"), kBrain, optionsOf({64, 32}, 3));
  expectOnWgmma(layer(sizes(30, 70, 16, 112, 1), "", kPlain, "bf16"), kBrain, optionsOf({64, 32}, 4));
}
TEST(GpuWgmmaKernel, CopiesFallIntoDifferentBanks) {
  for (int64_t dim : {16, 24, 40, 64, 80, 96, 112, 128}) {
    GpuLayer compiled(layer(sizes(64, 64, dim, dim, 1), "", kPlain));
    GpuOutcome outcome = compiled.run(optionsOf({64, 64}));
    ASSERT_TRUE(outcome.lowered) << outcome.messages;
    size_t copies = 0;
    for (const auto &[operation, use] : outcome.report.banks)
      if (mlir::isa<mlir::NVVM::CpAsyncOp>(operation)) {
        EXPECT_FALSE(use.hasConflicts()) << dim << ": " << use.wavefronts << " wavefronts for " << use.accesses;
        ++copies;
      }
    EXPECT_GT(copies, 0u) << dim;
  }
}
TEST(GpuWgmmaKernel, Masks) {
  for (const char *mask : {" where j <= i", " where abs(j - i) <= 5", " where j >= i + 40", " where j <= i or j < 7",
                           " where (i + j) % 3 == 0"})
    expectWithTiles(layer(sizes(150, 130, 16, 16, 1), "", kPlain, "f16", mask));
}
TEST(GpuWgmmaKernel, TilesThatNobodySeesAreNotComputed) {
  auto steps = [](const char *mask) {
    return expectOnWgmma(layer(sizes(256, 256, 16, 16, 1), "", kPlain, "f16", mask), kHalf, optionsOf({64, 64}, 2))
        .report.matrixSteps;
  };
  int64_t all = steps("");
  EXPECT_EQ(steps(" where j <= i") * 16, all * 10); // 1 + 2 + 3 + 4 of 4 × 4 tiles
  EXPECT_EQ(steps(" where abs(j - i) <= 3") * 16, all * 10);
  EXPECT_EQ(steps(" where i floordiv 64 == j floordiv 64") * 16, all * 4);
}
TEST(GpuWgmmaKernel, RowsWithoutKeysAreZero) {
  for (unsigned order : {0u, 8u}) {
    GpuOutcome outcome = expectOnWgmma(layer(sizes(90, 90, 16, 16), "", kPlain, "f16", " where j <= i - 70"), kHalf,
                                       optionsOf({64, 32}, order));
    EXPECT_EQ(outcome.got[16 * 69], 0);
    EXPECT_NE(outcome.got[16 * 70], 0);
  }
}
TEST(GpuWgmmaKernel, LongSumsAreAddedOutsideOfTensorCores) {
  std::string text = "param M = 40000, dim = 16\nkernel layer(q : f16[1, dim], k, v : f16[M, dim]) -> f32[1, dim] {\n"
                     "  content = einsum(\"i d, j d -> i j\", q, k)\n"
                     "  return einsum(\"i j, j d -> i d\", softmax(content), v)\n}\n";
  GpuOptions options = optionsOf({64, 128}, 6);
  options.change = [](const std::string &name, std::vector<double> &values) {
    for (double &value : values)
      value = name == "q" ? 0 : 1 + value / 4;
  };
  expectOnWgmma(text, kWide / 2, options);
}

//===- Numbers that are none --------------------------------------------------------===//

/// Puts numbers that are none into one value and one key of the first head.
GpuOptions withOdd(GpuOptions options, int64_t width, int64_t key, double value, const std::string &operand = "v") {
  options.change = [=](const std::string &name, std::vector<double> &values) {
    if (name == operand)
      values[size_t(key * width + 3)] = value;
  };
  return options;
}
/// A hidden value that is none meets a weight of 0. Only then a block is computed again, by mma.sync.
TEST(GpuWgmmaKernel, HiddenValuesMayBeAnything) {
  for (const char *type : {"f16", "bf16"})
    for (auto [rows, keys, stages] : {WgmmaTile{64, 64, 2}, WgmmaTile{128, 32, 3}, WgmmaTile{192, 128, 2}}) {
      std::string text = layer(sizes(130, 130, 16, 16, 1), "", kPlain, type, " where j <= i");
      double tolerance = type[0] == 'b' ? kBrain : kHalf;
      GpuOptions options = optionsOf({rows, keys, stages}, unsigned(rows / 64 + keys));
      int64_t plain = expectOnWgmma(text, tolerance, options).report.matrixSteps;
      for (double odd : {double(NAN), type[0] == 'b' ? double(INFINITY) : -double(INFINITY)}) {
        GpuOutcome outcome = expectOnWgmma(text, tolerance, withOdd(options, 16, 60, odd));
        EXPECT_GT(outcome.report.matrixSteps, plain) << "the first block sees key 60 in some rows only";
        EXPECT_TRUE(std::isfinite(outcome.got[16 * 59 + 3]));
        EXPECT_FALSE(std::isfinite(outcome.got[16 * 60 + 3]));
        EXPECT_TRUE(std::isfinite(outcome.got[16 * 60 + 4]));
      }
    }
}
TEST(GpuWgmmaKernel, WithoutAMaskNothingIsComputedAgain) {
  std::string text = layer(sizes(70, 70, 16, 16, 1), "", kPlain);
  int64_t plain = expectOnWgmma(text, kHalf, optionsOf({64, 32})).report.matrixSteps;
  GpuOutcome outcome = expectOnWgmma(text, kHalf, withOdd(optionsOf({64, 32}), 16, 60, NAN));
  EXPECT_EQ(outcome.report.matrixSteps, plain);
  EXPECT_TRUE(std::isnan(outcome.got[3]));
  EXPECT_FALSE(std::isnan(outcome.got[4]));
}
TEST(GpuWgmmaKernel, HiddenKeysMayBeAnything) {
  for (double odd : {double(NAN), double(INFINITY)}) {
    GpuOutcome outcome = expectOnWgmma(layer(sizes(90, 90, 16, 16, 1), "", kPlain, "f16", " where j <= i"), kHalf,
                                       withOdd(optionsOf({64, 32}, 4), 16, 89, odd, "k"));
    EXPECT_TRUE(std::isfinite(outcome.got[16 * 88]));
  }
}
/// Behind the keys of a call lie numbers of other tiles, and behind a cache any bits.
TEST(GpuWgmmaKernel, ValuesBehindALength) {
  std::string text =
      layer(sizes(70, 140, 16, 16, 1), ", lengths : i32[batch] in 0..140", kPlain, "bf16", " where j < lengths[b]");
  for (double length : {0.0, 1.0, 64.0, 77.0, 139.0})
    for (WgmmaTile tile : {WgmmaTile{64, 32, 2}, WgmmaTile{128, 64, 3}}) {
      GpuOptions options = optionsOf(tile, unsigned(length));
      options.change = [length](const std::string &name, std::vector<double> &values) {
        if (name == "lengths")
          values = {length, 140 - length};
        if (name == "v")
          for (size_t key = size_t(length); key < 140; ++key)
            values[16 * key + key % 16] = key % 2 ? NAN : INFINITY;
      };
      expectOnWgmma(text, kBrain, options);
    }
}
/// The block that is computed again has value rows of its own, looked-up rows, and bands.
TEST(GpuWgmmaKernel, EveryClassOfTermsIsComputedAgain) {
  GpuOptions options = withOdd(optionsOf({64, 32}, 3), 16, 60, NAN);
  GpuOutcome outcome = expectOnWgmma(everything(90, 16, "f16", " where j <= i"), 2 * kHalf, options);
  EXPECT_TRUE(std::isfinite(outcome.got[16 * 59 + 3]));
  EXPECT_TRUE(std::isnan(outcome.got[16 * 60 + 3]));
  options = withOdd(optionsOf({128, 64}, 9), 24, 60, INFINITY, "each");
  expectOnWgmma(everything(90, 24, "bf16", " where abs(j - i) <= 20"), 2 * kBrain, options);
}

} // namespace
