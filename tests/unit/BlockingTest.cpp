// Runs one layer under every blocking: row blocks, key blocks (the online softmax), work items and workers must not
// change the result, and the kernel must stay inside its workspace. For layers that are quick to test the cost model
// chooses a single block, so that the tests give schedules.
#include "codegen/ABI/Emit.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/KernelPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Register.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace skewer;

namespace {
constexpr int64_t kHeads = 2, kCount = 45, kDepth = 40, kWidth = 10; // queries and keys: kCount each
constexpr size_t kGuard = 256;                                       // bytes before and after the workspace
constexpr int64_t kNone = 1 << 20;

/// Four lanes run on every x86-64, and allow blocks of few keys.
struct Blocking {
  int64_t rowBlock, keyBlock, rowsPerItem;
};
constexpr Blocking kWhole{45, 48, 45};
const std::vector<Blocking> kBlockings = {kWhole, {3, 48, 45}, {12, 24, 48}, {6, 8, 12}, {3, 16, 3}, {12, 48, 24}};

/// softmax over keys with low <= key - query <= high of q·k/4 + q·table[head, key - query + kCount - 1]·tableScale,
/// times v; `shared`: all heads have one table.
struct Layer {
  std::vector<float> q = normal(kDepth * kCount, 1), k = normal(kDepth * kCount, 2), v = normal(kWidth * kCount, 3),
                     table = normal(kDepth * (2 * kCount - 1), 4);
  int64_t low = -kNone, high = kNone;
  int64_t hidden = kNone; // a key that no query sees
  int64_t prefix = 0;     // keys before are seen although `low` hides them
  // Scales of table and content twice as large or more are not added up in one product.
  const char *strategy = "band";
  bool shared = false;
  double tableScale() const { return strategy == std::string("band") ? 0.5 : 0.375; }

  static std::vector<float> normal(int64_t elementsOfHead, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> distribution;
    std::vector<float> values(kHeads * elementsOfHead);
    for (float &value : values)
      value = distribution(random);
    return values;
  }

  std::string text(Blocking b) const {
    if (strategy == std::string("strided_add")) { // an item is one of four phases, with 12 rows at most
      b.rowBlock = std::min<int64_t>(b.rowBlock, 12);
      b.rowsPerItem = (12 + b.rowBlock - 1) / b.rowBlock * b.rowBlock;
    }
    std::string mask;
    if (high != kNone || low != -kNone)
      mask = fmt::format("where \"j - i <= {} and j - i >= {}\" ", high, low);
    if (hidden != kNone)
      mask = fmt::format("where \"j - i <= {} and j != {}\" ", high, hidden);
    if (prefix)
      mask = fmt::format("where \"j - i <= {} and (j < {} or j - i >= {})\" ", high, prefix, low);
    std::string positions = fmt::format("tensor<{}x{}x{}xf32>", kHeads, kCount, kDepth);
    std::string values = fmt::format("tensor<{}x{}x{}xf32>", kHeads, kCount, kWidth);
    std::string heads = shared ? "" : fmt::format("{}x", kHeads);
    std::string rows = fmt::format("tensor<{}{}x{}xf32>", heads, 2 * kCount - 1, kDepth);
    return fmt::format(R"ir(
func.func @layer(%q: {0} {{attn.name = "q"}}, %k: {0} {{attn.name = "k"}}, %v: {1} {{attn.name = "v"}},
                 %table: {2} {{attn.name = "table"}}) -> {1} attributes {{attn.kernel}} {{
  %o = attn.attention "h i j" {3}value "h j e -> h i e" (%v) score {{
    attn.term "h i d, h j d" (%q, %k) scale 0.25 : {0}, {0}
    attn.term "h i d, {10}(j - i + {4}) d" (%q, %table) scale {8} : {0}, {2}
  }} : {1} -> {1}
    schedule #attn.cpu_schedule<target = "x86-64-v2", lanes = 4, tile_rows = 3, tile_vectors = 2, row_block = {5},
                                key_block = {6}, rows_per_item = {7}, strategies = ["matmul", "{9}"]>
  return %o : {1}
}})ir",
                       positions, values, rows, mask, kCount - 1, b.rowBlock, b.keyBlock, b.rowsPerItem, tableScale(),
                       strategy, shared ? "" : "h ");
  }

  std::vector<double> expected() const {
    std::vector<double> result;
    auto dot = [](const float *a, const float *b) {
      double sum = 0;
      for (int64_t d = 0; d < kDepth; ++d)
        sum += double(a[d]) * b[d];
      return sum;
    };
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < kCount; ++i) {
        const float *query = &q[(h * kCount + i) * kDepth];
        double total = 0;
        std::vector<double> sums(kWidth, 0.0);
        for (int64_t j = 0; j < std::min(kCount, i + high + 1); ++j) {
          if (j == hidden || (j < i + low && j >= prefix))
            continue;
          int64_t row = (shared ? 0 : h) * (2 * kCount - 1) + j - i + kCount - 1;
          double score =
              dot(query, &k[(h * kCount + j) * kDepth]) / 4 + dot(query, &table[row * kDepth]) * tableScale();
          double weight = std::exp(score); // of normal numbers: no overflow
          total += weight;
          for (int64_t e = 0; e < kWidth; ++e)
            sums[e] += weight * v[(h * kCount + j) * kWidth + e];
        }
        for (double sum : sums)
          result.push_back(total == 0 ? 0 : sum / total);
      }
    return result;
  }
};

/// Runs workers with uneven, contiguous ranges, which begin inside a head; one after the other, the last first.
void unevenly(void *, int64_t count, void (*body)(void *data, int64_t begin, int64_t end, int32_t worker), void *data) {
  int64_t first = count / 3 + (count > 3), second = std::min(count, first + 1);
  body(data, second, count, 2);
  body(data, first, second, 1);
  body(data, 0, first, 0);
}

class Blockings : public ::testing::Test {
protected:
  Blockings() : context(MLIRContext::Threading::DISABLED) {
    DialectRegistry registry;
    registry.insert<attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, memref::MemRefDialect,
                    scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect, linalg::LinalgDialect>();
    registerLlvmConversions(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  std::unique_ptr<JitKernel> compile(const std::string &text) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    auto target = findTarget("x86-64-v2");
    EXPECT_TRUE(module && target) << text;
    PassManager manager(&context);
    addCpuLoweringPipeline(manager, *target);
    EXPECT_TRUE(succeeded(manager.run(*module))) << text;
    auto plan = planOf(*module);
    EXPECT_TRUE(plan && plan->phases.back().title == "attend") << text;
    PassManager lower(&context);
    lower.enableVerifier(false); // toLlvmModule verifies what becomes of it
    addLlvmPipeline(lower, *target);
    EXPECT_TRUE(succeeded(lower.run(*module))) << text;
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto llvmModule = llvm::cantFail(toLlvmModule(*module, *plan, *target, *llvmContext, "0"));
    llvm::cantFail(optimize(*llvmModule, *target));
    return llvm::cantFail(JitKernel::create(std::move(llvmModule), std::move(llvmContext), *plan, *target));
  }

  static std::vector<float> run(const JitKernel &kernel, const Layer &layer, int32_t workers) {
    Exec exec;
    exec.workers = workers;
    exec.parallelFor = workers > 1 ? unevenly : nullptr;
    exec.workspaceBytes = kernel.workspaceBytes({}, workers);
    // The workspace is full of NaN, and no result may depend on it.
    std::vector<uint8_t> memory(exec.workspaceBytes + 2 * kGuard + 64, 0xff);
    uint8_t *start = memory.data() + kGuard;
    start += (64 - reinterpret_cast<uintptr_t>(start) % 64) % 64;
    exec.workspace = start;
    std::vector<float> output(kHeads * kCount * kWidth, 77.0f);
    std::vector<const void *> inputs{layer.q.data(), layer.k.data(), layer.v.data(), layer.table.data()};
    EXPECT_EQ(kernel.run(inputs, output.data(), {}, exec), 0);
    for (size_t k = 1; k <= kGuard; ++k) {
      EXPECT_EQ(start[-int64_t(k)], 0xff) << "wrote " << k << " bytes before the workspace";
      EXPECT_EQ(start[exec.workspaceBytes + k - 1], 0xff) << "wrote " << k << " bytes behind the workspace";
    }
    return output;
  }

  /// Tests a band, and a table whose rows are added to the keys. `others` differ from the layer in the numbers of its
  /// operands: the kernel is compiled once for all of them.
  void check(Layer layer, std::vector<Layer> others = {}) {
    others.insert(others.begin(), layer);
    for (const char *strategy : {"band", "strided_add"}) {
      if (layer.hidden != kNone && strategy != std::string("band"))
        continue;
      for (Layer &other : others)
        other.strategy = strategy;
      for (const Blocking &blocking : kBlockings) {
        std::string text = others.front().text(blocking);
        auto kernel = compile(text);
        for (const Layer &other : others) {
          ASSERT_EQ(other.text(blocking), text);
          checkBlocking(*kernel, other, blocking);
        }
      }
    }
  }
  void checkBlocking(const JitKernel &kernel, const Layer &layer, const Blocking &blocking) {
    std::vector<double> expected = layer.expected();
    double largest = 0;
    for (double value : expected)
      largest = std::max(largest, std::isnan(value) ? 0 : std::fabs(value));
    std::string title =
        fmt::format("{}, offsets {} to {}, row block {}, key block {}, rows an item {}", layer.strategy, layer.low,
                    layer.high, blocking.rowBlock, blocking.keyBlock, blocking.rowsPerItem);
    std::vector<float> serial = run(kernel, layer, 1), parallel = run(kernel, layer, 3);
    EXPECT_EQ(std::memcmp(serial.data(), parallel.data(), serial.size() * 4), 0)
        << title << ": other bits with three workers";
    for (size_t n = 0; n < expected.size(); ++n)
      if (std::isnan(expected[n]))
        ASSERT_TRUE(std::isnan(serial[n])) << title << ": element " << n << " is " << serial[n] << ", not NaN";
      else
        ASSERT_NEAR(serial[n], expected[n], 2e-6 * largest) << title << ": element " << n;
  }

  MLIRContext context;
};

TEST_F(Blockings, AllKeys) { check(Layer()); }

TEST_F(Blockings, HeadsOfOneTableTakeTurnsAtItsPhases) {
  Layer layer;
  layer.shared = true;
  check(layer);
  layer.high = 0;
  check(layer);
}

TEST_F(Blockings, AStrategyThatCannotBeIsRefused) {
  auto messageOf = [&](bool hidden) {
    Layer layer;
    layer.hidden = hidden ? 9 : kNone;
    layer.strategy = "strided_add";
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
    auto module = parseSourceString<ModuleOp>(layer.text(kWhole), &context);
    PassManager manager(&context);
    addCpuLoweringPipeline(manager, *findTarget("x86-64-v2"));
    EXPECT_EQ(succeeded(manager.run(*module)), !hidden);
    return message;
  };
  EXPECT_EQ(messageOf(false), "");
  EXPECT_EQ(messageOf(true), "strategy 2 is 'strided_add', but that term is computed by 'band' (cpu_schedule_c9)");
}

// Also with NaN in operands: a visible one makes its row NaN and no other.
TEST_F(Blockings, Causal) {
  Layer causal;
  causal.high = 0;
  Layer layer = causal;
  layer.q[7 * kDepth + 3] = NAN;             // row 7 of the first head
  layer.k[(kCount + 30) * kDepth + 1] = NAN; // rows 30 … of the second head
  layer.v[20 * kWidth + 5] = NAN;            // one column of rows 20 … of the first head
  check(causal, {layer});
}

TEST_F(Blockings, Windows) {
  // The last mask leaves rows without keys, and rows whose first key blocks are all masked.
  for (auto [low, high] : {std::pair<int64_t, int64_t>{-5, 5}, {2, kNone}, {-20, -3}}) {
    Layer layer;
    layer.low = low, layer.high = high;
    check(layer);
  }
}

TEST_F(Blockings, FirstKeysBesideAWindow) {
  // The prefix ends inside the first block of keys, at its end, and after it; the last case has no window for the first
  // rows.
  for (auto [prefix, low, high] :
       {std::tuple<int64_t, int64_t, int64_t>{5, -6, 0}, {8, -9, kNone}, {19, -4, 21}, {2, -8, -3}}) {
    Layer layer;
    layer.prefix = prefix, layer.low = low, layer.high = high;
    check(layer);
  }
}

TEST_F(Blockings, AHiddenNaNIsSeenByNoRow) {
  Layer layer;
  layer.high = 0;
  layer.hidden = 9;
  layer.k[9 * kDepth + 1] = NAN;
  layer.v[9 * kWidth + kWidth - 1] = NAN; // in the last vector of the first head's values
  check(layer);
}

} // namespace
