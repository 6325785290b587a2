// Runs layers whose producers copy boxes of tensors by TMA in the interpreter, in several orders of their warps: the
// kernels, the maps that a launch makes for them, and the kernels that run where no map can be made. GpuWgmmaKernelTest
// and the tests of each class of terms have such copies too (expectOnWgmma, expectOnEngines).
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Gpu/Shape/TensorBoxes.h"
#include "tests/unit/GpuLayers.h"
#include <cmath>

using namespace skewer;
using namespace skewer::testing;

namespace {

GpuOptions byTma(int64_t rows, int64_t keys, int64_t stages = 2, unsigned order = 0) {
  GpuOptions options = onWgmma(tileOf(rows, keys, stages));
  options.copies = gpu::kTma.str();
  options.order = order;
  return options;
}

/// Returns the layer's outcome by TMA, after it has compared the kernel that needs no maps too.
GpuOutcome expectBoth(const std::string &text, double tolerance, GpuOptions options) {
  GpuOutcome boxed = expectOnGpu(text, tolerance, options);
  options.boxes = false;
  GpuOutcome plain = expectOnGpu(text, tolerance, options);
  auto isSame = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  EXPECT_TRUE(std::equal(boxed.got.begin(), boxed.got.end(), plain.got.begin(), plain.got.end(), isSame)) << text;
  return boxed;
}

/// Counts the operations of a kind in a kernel of the text.
template <typename Op> int64_t countIn(mlir::gpu::GPUModuleOp module, const std::string &kernel) {
  int64_t count = 0;
  if (auto function = module.lookupSymbol<mlir::LLVM::LLVMFuncOp>(kernel))
    function.walk([&](Op) { ++count; });
  return count;
}
using BoxCopy = mlir::NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp;

TEST(GpuTensorCopies, OneThreadAsksForKeysAndValues) {
  std::string text = layer(sizes(100, 150, 64, 128), "", kPlain);
  GpuOptions options = byTma(64, 64);
  int64_t boxes = 0, copies = 0, arrivals = 0, plainBoxes = 0;
  options.spoil = [&](mlir::gpu::GPUModuleOp module) {
    boxes = countIn<BoxCopy>(module, "layer_tma");
    copies = countIn<mlir::NVVM::CpAsyncOp>(module, "layer_tma");
    arrivals = countIn<mlir::NVVM::CpAsyncMBarrierArriveOp>(module, "layer_tma");
    plainBoxes = countIn<BoxCopy>(module, "layer");
  };
  GpuOutcome outcome = expectOnGpu(text, kHalf, options);
  EXPECT_EQ(boxes, 3);  // a panel of the keys, two of the values
  EXPECT_GT(copies, 0); // of the queries
  EXPECT_EQ(arrivals, 0);
  EXPECT_EQ(plainBoxes, 0);
  ASSERT_EQ(outcome.launch.maps.size(), 2u);
  EXPECT_EQ(outcome.launch.kernel, "layer");
  EXPECT_EQ(outcome.launch.boxKernel, "layer_tma");
  const gpu::GpuTensorMap &keys = outcome.launch.maps[0], &values = outcome.launch.maps[1];
  EXPECT_EQ(keys.argument, 1u);
  EXPECT_EQ(values.argument, 2u);
  EXPECT_EQ(keys.type, ElementType::F16);
  EXPECT_EQ(std::tuple(keys.columns, keys.rowBytes, keys.placeBytes, keys.boxColumns, keys.boxRows),
            std::tuple(64, 128, 150 * 128, 64, 64));
  EXPECT_EQ(std::tuple(values.columns, values.rowBytes, values.placeBytes, values.boxColumns, values.boxRows),
            std::tuple(128, 256, 150 * 256, 64, 64));
  EXPECT_EQ(keys.rows.fixed, 150);
  EXPECT_EQ(keys.places.scaled, 2); // heads of a batch
  EXPECT_EQ(keys.places.factors, std::vector<std::string>{"batch"});
}
TEST(GpuTensorCopies, EveryOrderOfWarps) {
  std::string text = layer(sizes(70, 200, 32, 80, 1), "", kPlain, "f16", " where j <= i + 90");
  for (llvm::StringRef engine : {gpu::kWgmma, gpu::kWgmmaAhead})
    expectInEveryOrder(text, kHalf, onWgmma(byTma(128, 32), engine));
}
/// Rows of 32, 64 and 128 bytes, rows of several panels, and rows that end inside of a panel.
TEST(GpuTensorCopies, EveryWidth) {
  unsigned order = 0;
  for (int64_t dim : {8, 16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 128, 192, 256})
    expectBoth(layer(sizes(67, 70, dim, dim, 1), "", kPlain, dim % 16 ? "f16" : "bf16"), dim % 16 ? kHalf : kBrain,
               byTma(64, dim > 128 ? 32 : 64, 2, order++));
  expectBoth(layer(sizes(30, 70, 80, 16, 1), "", kPlain, "bf16"), kBrain, byTma(64, 32, 3, 3));
  expectBoth(layer(sizes(30, 70, 16, 112, 1), "", kPlain, "bf16"), kBrain, byTma(64, 32, 3, 4));
}
TEST(GpuTensorCopies, EveryTile) {
  std::string text = layer(sizes(100, 150, 16, 24, 1), "", kPlain, "bf16", " where j <= i + 60");
  unsigned order = 0;
  for (int64_t rows : {64, 128, 192, 256})
    for (int64_t keys : {16, 48, 112, 128})
      expectBoth(text, kBrain, byTma(rows, keys, 2 + keys / 16 % 3, order++));
}
/// Keys and values have barriers of their own, so that two copies are enough to run ahead; the kernel that needs no
/// maps has them too.
TEST(GpuTensorCopies, TwoCopiesAreEnoughToRunAhead) {
  unsigned order = 0;
  for (const char *mask : {"", " where j <= i", " where abs(j - i) <= 20"})
    for (int64_t keys : {32, 64, 128}) {
      GpuOptions options = byTma(128, keys, 2, order++);
      options.engine = gpu::kWgmmaAhead.str();
      expectBoth(layer(sizes(150, 200, 32, 48, 1), "", kPlain, "bf16", mask), kBrain, options);
    }
  GpuOptions options = byTma(128, 64, 2, 3);
  options.engine = gpu::kWgmmaAhead.str();
  expectBoth(relative(150, 200, 32, "f16[N + M - 1, dim]", "(j - i + N - 1)"), kHalf, options);
  options.copies = "";
  GpuOutcome together = GpuLayer(layer(sizes(150, 200, 32, 48, 1), "", kPlain)).lower(options);
  EXPECT_FALSE(together.lowered);
  EXPECT_NE(together.messages.find("needs three stages or more"), std::string::npos) << together.messages;
}
TEST(GpuTensorCopies, TilesThatKeysDoNotFill) {
  for (int64_t keys : {2, 15, 63, 64, 65, 127, 129})
    expectBoth(layer(sizes(20, keys, 16, 16), "", kPlain), kHalf, byTma(64, 64, 2, unsigned(keys)));
}
TEST(GpuTensorCopies, Masks) {
  unsigned order = 0;
  for (const char *mask : {" where j <= i", " where abs(j - i) <= 5", " where j >= i + 40", " where j <= i or j < 7",
                           " where (i + j) % 3 == 0"})
    expectBoth(layer(sizes(150, 130, 16, 16, 1), "", kPlain, "f16", mask), kHalf, byTma(128, 32, 3, order++));
}
/// A hidden value that is no number: the block is computed again, in the memory where boxes were.
TEST(GpuTensorCopies, BlocksAreComputedAgain) {
  for (unsigned order = 0; order < 15; order += 4) {
    GpuOptions options = byTma(128, 32, 2, order);
    options.change = [](const std::string &name, std::vector<double> &values) {
      if (name == "v")
        values[16 * 60 + 3] = NAN;
    };
    expectBoth(layer(sizes(130, 130, 16, 16, 1), "", kPlain, "f16", " where j <= i"), kHalf, options);
  }
}

//===- Threads copy beside boxes -----------------------------------------------------===//

/// Windows of tables, lines, rows that keys meet, further rows of values, and a table before the first step.
TEST(GpuTensorCopies, EveryClassOfTerms) {
  expectBoth(everything(70, 16, "f16"), 2 * kHalf, byTma(64, 64, 2, 1));
  expectBoth(everything(150, 16, "f16"), 2 * kHalf, byTma(128, 32, 2, 5));
  expectBoth(everything(90, 24, "bf16", " where j <= i"), 2 * kBrain, byTma(64, 32, 3, 14));
  expectBoth(everything(140, 64, "f16", " where abs(j - i) <= 40"), 2 * kHalf, byTma(64, 32, 2, 7));
}
/// Rows of a table that follow each other upwards, in one box of a panel or two; behind its ends the hardware makes
/// zeros.
TEST(GpuTensorCopies, WindowsOfTables) {
  unsigned order = 0;
  const std::string table = "f16[N + M - 1, dim]", row = "(j - i + N - 1)";
  for (auto [rows, keys] : {std::pair<int64_t, int64_t>{64, 32}, {128, 64}, {192, 128}, {256, 48}})
    for (const char *mask : {"", " where j <= i"}) {
      GpuOutcome outcome =
          expectBoth(relative(90, 150, 32, table, row, " * dim^-0.5", mask), kHalf, byTma(rows, keys, 2, order++));
      ASSERT_EQ(outcome.launch.maps.size(), 3u);
      const gpu::GpuTensorMap &window = outcome.launch.maps[2];
      EXPECT_EQ(window.argument, 3u);
      EXPECT_EQ(window.rows.fixed, 239);
      EXPECT_EQ(window.boxRows, rows + keys > 256 ? (rows + keys) / 2 : rows + keys);
    }
  // A table that ends before the farthest offsets, and one whose rows go down: threads copy it.
  expectBoth(
      relative(90, 150, 32, "f16[120, dim]", "(j - i + 40)", " * dim^-0.5", " where j <= i + 79 and i <= j + 40"),
      kHalf, byTma(64, 32, 2, 3));
  GpuOutcome down = expectBoth(relative(90, 150, 32, table, "(i - j + M - 1)"), kHalf, byTma(64, 32, 2, 4));
  EXPECT_EQ(down.launch.maps.size(), 2u);
}
/// Where tables are boxes too, nothing is left to threads, and mma.sync reads what the next box overwrites.
TEST(GpuTensorCopies, NoThreadCopiesBesideWindows) {
  GpuOptions options = byTma(64, 32);
  int64_t arrivals = -1, fences = -1;
  options.spoil = [&](mlir::gpu::GPUModuleOp module) {
    arrivals = countIn<mlir::NVVM::CpAsyncMBarrierArriveOp>(module, "layer_tma");
    fences = countIn<mlir::NVVM::FenceProxyOp>(module, "layer_tma");
  };
  expectOnGpu(relative(90, 150, 32, "f16[N + M - 1, dim]", "(j - i + N - 1)"), kHalf, options);
  EXPECT_EQ(arrivals, 0);
  EXPECT_EQ(fences, 3); // of the barriers, of the queries, and before a copy is empty
}
/// Keys whose rows do not begin at multiples of 16 bytes, beside values that do; and keys of another type.
TEST(GpuTensorCopies, OnlySomeTilesAreBoxes) {
  GpuOutcome odd = expectBoth(layer(sizes(40, 70, 20, 32), "", kPlain), kHalf, byTma(64, 32, 2, 2));
  ASSERT_EQ(odd.launch.maps.size(), 1u);
  EXPECT_EQ(odd.launch.maps[0].argument, 2u);
  std::string text = layer(sizes(40, 70, 32, 32), "", kPlain);
  text.replace(text.find("k : f16"), 7, "k : f32");
  GpuOutcome wide = expectOnGpu(text, kHalf, byTma(64, 32, 2, 9));
  for (const gpu::GpuTensorMap &map : wide.launch.maps)
    EXPECT_NE(map.argument, 1u) << "f32 is no type of these boxes";
}
TEST(GpuTensorCopies, NoTileIsABox) {
  GpuLayer compiled(layer(sizes(40, 70, 20, 20), "", kPlain));
  GpuOutcome outcome = compiled.lower(byTma(64, 32));
  EXPECT_FALSE(outcome.lowered);
  EXPECT_NE(
      outcome.messages.find("copies are 'tma', but no keys, values or tables have rows at fixed distances of whole "
                            "16 bytes, of the type that is multiplied (gpu_schedule_c14)"),
      std::string::npos)
      << outcome.messages;
  GpuOptions options = byTma(64, 32);
  options.engine = gpu::kMmaSync.str();
  outcome = GpuLayer(layer(sizes(40, 70, 32, 32), "", kPlain)).lower(options);
  EXPECT_FALSE(outcome.lowered);
  EXPECT_NE(outcome.messages.find("'mma_sync' has no threads that only fill tiles"), std::string::npos)
      << outcome.messages;
}

//===- Where rows lie ----------------------------------------------------------------===//

/// Queries, keys and values in one tensor, whose rows are three times as long as all heads.
TEST(GpuTensorCopies, ColumnsOfOneProjection) {
  std::string text = R"(param N = 75, heads = 3, dim = 32
size batch
kernel layer(q : bf16[batch, N, heads, dim], kv : bf16[batch, N, 2, heads, dim]) -> bf16[batch, N, heads, dim] {
  content = einsum("b i h d, b j (0) h d -> b h i j", q, kv)
  return einsum("b h i j, b j (1) h d -> b i h d", softmax(content * dim^-0.5), kv)
}
)";
  GpuOutcome outcome = expectBoth(text, kBrain, byTma(64, 32, 2, 3));
  ASSERT_EQ(outcome.launch.maps.size(), 2u);
  for (const gpu::GpuTensorMap &map : outcome.launch.maps) {
    EXPECT_EQ(map.argument, 1u);
    EXPECT_EQ(map.rowBytes, 2 * 2 * 3 * 32);
    EXPECT_EQ(map.placeBytes, 2 * 32); // a head
  }
}
TEST(GpuTensorCopies, HeadsThatShareKeys) {
  std::string text = R"(param N = 40, M = 100, heads = 6, groups = 2, dim = 16
size batch
kernel layer(q : f16[batch, heads, N, dim], k, v : f16[batch, groups, M, dim]) -> f16[batch, heads, N, dim] {
  content = einsum("b h i d, b (h floordiv 3) j d -> b h i j", q, k)
  return einsum("b h i j, b (h floordiv 3) j d -> b h i d", softmax(content * dim^-0.5), v)
}
)";
  expectBoth(text, kHalf, byTma(64, 32, 2, 4));
}
/// The rows of all leading indices are the same.
TEST(GpuTensorCopies, KeysWithoutALeadingIndex) {
  std::string text = R"(param N = 40, M = 100, dim = 16
size batch
kernel layer(q : f16[batch, N, dim], k, v : f16[M, dim]) -> f16[batch, N, dim] {
  content = einsum("b i d, j d -> b i j", q, k)
  return einsum("b i j, j d -> b i d", softmax(content * dim^-0.5), v)
}
)";
  expectBoth(text, kHalf, byTma(64, 32, 2, 4));
}
/// One kernel for all lengths: rows behind the length are rows of the next head, or none.
TEST(GpuTensorCopies, RunTimeLengths) {
  std::string text = R"(size N <= 150
param heads = 2, dim = 16
kernel layer(q, k, v : f16[heads, N, dim]) -> f16[heads, N, dim] {
  content = einsum("h i d, h j d -> h i j", q, k)
  return einsum("h i j, h j d -> h i d", softmax(content * dim^-0.5), v)
}
)";
  GpuLayer compiled(text);
  GpuOptions options = byTma(64, 32);
  GpuOutcome outcome = compiled.lower(options);
  ASSERT_TRUE(outcome.lowered) << outcome.messages;
  for (int64_t length : {1, 31, 32, 33, 64, 100, 149, 150}) {
    options.lengths = {{"N", length}};
    options.order = unsigned(length);
    compiled.interpret(options, outcome);
    EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text() << length;
    EXPECT_LE(outcome.error, kHalf) << length;
    outcome.error = 0;
  }
  ASSERT_EQ(outcome.launch.maps.size(), 2u);
  EXPECT_EQ(outcome.launch.maps[0].rows.factors, std::vector<std::string>{"N"});
}
/// Keys that a kernel before the attention stores in the workspace.
TEST(GpuTensorCopies, KeysInTheWorkspace) {
  for (const char *leading : {"batch", "2"}) {
    std::string text = "param N = 70, heads = 2, dim = 32\n";
    if (leading[0] == 'b')
      text += "size batch\n";
    std::string tensor = std::string("f16[") + leading + ", heads, N, dim]";
    text += "kernel layer(q, k, v : " + tensor + ", w : f16[dim, dim]) -> " + tensor +
            " {\n  turned = einsum(\"b h j d, d e -> b h j e\", k, w)\n"
            "  content = einsum(\"b h i d, b h j d -> b h i j\", q, turned)\n"
            "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(content * dim^-0.5), v)\n}\n";
    GpuOutcome outcome = expectBoth(text, 4 * kHalf, byTma(64, 32, 2, 6));
    const std::vector<gpu::GpuLaunch> &launches = outcome.program.launches;
    ASSERT_GE(launches.size(), 2u);
    ASSERT_EQ(launches.back().maps.size(), 2u);
    EXPECT_EQ(launches.back().maps[0].argument, 5u) << "the workspace is behind four operands and the result";
    EXPECT_EQ(launches.back().maps[1].argument, 2u);
  }
}
/// Blocks that divide the columns of the values begin at other columns.
TEST(GpuTensorCopies, ColumnsOfValuesAreDivided) {
  for (int64_t width : {64, 80, 88}) {
    GpuOptions options = byTma(64, 32, 2, unsigned(width));
    options.columns = 48;
    expectBoth(layer(sizes(40, 70, 32, width, 1), "", kPlain), kHalf, options);
  }
}
TEST(GpuTensorCopies, KeysAreDivided) {
  GpuOptions options = byTma(64, 32, 2, 5);
  options.keyParts = 3;
  expectBoth(layer(sizes(20, 200, 32, 32, 1), "", kPlain), kHalf, options);
}

} // namespace
