// Fused CPU kernels against loops in double, over shapes around the edges of tiles, offsets of both signs, maps and masks.
#include "codegen/ABI/Emit.h"
#include "dialect/IR/Attn.h"
#include "passes/Lowering/KernelPlan.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace mlir;
using namespace skewer;

namespace {

struct Table {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// A kernel's text, its inputs and what it must return.
struct Case {
  std::string text;
  std::vector<Table> inputs;
  std::vector<int64_t> outputShape;
  std::vector<int64_t> sizes;
};

Table normal(std::mt19937 &random, std::vector<int64_t> shape) {
  Table table{shape, {}};
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::normal_distribution<float> distribution;
  for (int64_t k = 0; k < count; ++k)
    table.values.push_back(distribution(random));
  return table;
}

std::string tensor(const std::vector<int64_t> &shape, bool runtimeFirst) {
  std::string text = "tensor<";
  for (size_t k = 0; k < shape.size(); ++k)
    text += (k == 0 && runtimeFirst ? std::string("?") : std::to_string(shape[k])) + "x";
  return text + "f32>";
}

std::string attribute(const std::vector<int64_t> &shape, bool runtimeFirst) {
  std::string text = "[";
  for (size_t k = 0; k < shape.size(); ++k)
    text += (k ? ", " : "") + (k == 0 && runtimeFirst ? std::string("\"batch\"") : std::to_string(shape[k]));
  return text + "]";
}

/// One attention with `terms` (lines of attn.term text) over q [B,H,N,D], k [B,H,M,D], v [B,H,M,E] and more tables.
struct Layer {
  int64_t B = 2, H = 2, N, M, D, E;
  std::string space = "b h i j", sizes, mask, keyAxes = "j", queryAxes = "i";
  std::vector<std::pair<std::string, Table>> tables;
  std::string terms;
  /// Score without scale conversions, in double; and visibility.
  std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)> score;
  std::function<bool(int64_t i, int64_t j)> visible = [](int64_t, int64_t) { return true; };
  Table q, k, v;
  std::string target = "host";
};

double dot(const Table &a, int64_t rowA, const Table &b, int64_t rowB, int64_t depth) {
  double sum = 0;
  for (int64_t d = 0; d < depth; ++d)
    sum += double(a.values[rowA * depth + d]) * b.values[rowB * depth + d];
  return sum;
}

Layer plain(int64_t N, int64_t M, int64_t D, int64_t E, unsigned seed = 1) {
  std::mt19937 random(seed);
  Layer layer;
  layer.N = N, layer.M = M, layer.D = D, layer.E = E;
  layer.q = normal(random, {layer.B, layer.H, N, D});
  layer.k = normal(random, {layer.B, layer.H, M, D});
  layer.v = normal(random, {layer.B, layer.H, M, E});
  return layer;
}

double content(const Layer &l, int64_t b, int64_t h, int64_t i, int64_t j) {
  return dot(l.q, (b * l.H + h) * l.N + i, l.k, (b * l.H + h) * l.M + j, l.D);
}

std::string contentTerm(const Layer &l, double scale) {
  return fmt::format("attn.term \"b h {} d, b h {} d\" (%q, %k) scale {:e} : {}, {}\n", l.queryAxes, l.keyAxes, scale,
                     tensor(l.q.shape, true), tensor(l.k.shape, true));
}

/// Compiles, runs, and returns the largest error over the largest value.
void check(const Layer &l, double tolerance = 2e-6) {
  std::string arguments, names;
  std::vector<const Table *> inputs{&l.q, &l.k, &l.v};
  auto add = [&](const std::string &name, const Table &table, bool runtime) {
    arguments += fmt::format("{}%{}: {} {{attn.name = \"{}\", attn.shape = {}}}", arguments.empty() ? "" : ", ", name,
                             tensor(table.shape, runtime), name, attribute(table.shape, runtime));
  };
  add("q", l.q, true), add("k", l.k, true), add("v", l.v, true);
  for (const auto &[name, table] : l.tables) {
    add(name, table, false);
    inputs.push_back(&table);
  }
  std::vector<int64_t> outputShape{l.B, l.H, l.N, l.E};
  std::string result = tensor(outputShape, true);
  std::string text = fmt::format(
      "func.func @layer({}) -> ({} {{attn.shape = {}}}) attributes {{attn.kernel, attn.sizes = [\"batch\"]}} {{\n"
      "  %o = attn.attention \"{}\" {} {} value \"b h {} e -> b h {} e\" (%v) score {{\n{}  }} : {} -> {}\n"
      "  return %o : {}\n}}\n",
      arguments, result, attribute(outputShape, true), l.space,
      l.mask.empty() ? "" : "where \"" + l.mask + "\"", l.sizes.empty() ? "" : "sizes " + l.sizes, l.keyAxes,
      l.queryAxes, l.terms, tensor(l.v.shape, true), result, result);

  DialectRegistry registry;
  registry.insert<attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect, linalg::LinalgDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  auto target = findTarget(l.target);
  ASSERT_TRUE(target);
  PassManager manager(&context);
  addSchedulePipeline(manager, *target);
  addCpuLoweringPipeline(manager, *target);
  ASSERT_TRUE(succeeded(manager.run(*module))) << text;
  auto plan = planOf(*module);
  ASSERT_TRUE(plan) << text;
  ASSERT_FALSE(plan->phases.empty());
  EXPECT_EQ(plan->phases.back().title, "attend") << "took the generic path:\n" << text;
  PassManager lower(&context);
  addLlvmPipeline(lower, *target);
  ASSERT_TRUE(succeeded(lower.run(*module)));
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto llvmModule = toLlvmModule(*module, *plan, *target, *llvmContext, "0");
  ASSERT_TRUE(bool(llvmModule)) << llvm::toString(llvmModule.takeError());
  ASSERT_FALSE(bool(optimize(**llvmModule, *target)));
  auto kernel = JitKernel::create(std::move(*llvmModule), std::move(llvmContext), *plan, *target);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());

  std::vector<const void *> pointers;
  for (const Table *input : inputs)
    pointers.push_back(input->values.data());
  std::vector<float> output(l.B * l.H * l.N * l.E, 77.0f);
  Exec exec;
  exec.workspaceBytes = (*kernel)->workspaceBytes({l.B}, 1);
  // Filled with NaN: nothing may depend on what the workspace held.
  std::vector<float> workspace(exec.workspaceBytes / 4 + 32, std::numeric_limits<float>::quiet_NaN());
  exec.workspace = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
  ASSERT_EQ((*kernel)->run(pointers, output.data(), {l.B}, exec), 0);

  double worst = 0, largest = 0;
  for (int64_t b = 0; b < l.B; ++b)
    for (int64_t h = 0; h < l.H; ++h)
      for (int64_t i = 0; i < l.N; ++i) {
        std::vector<double> weights(l.M, 0.0);
        double maximum = -INFINITY, total = 0;
        for (int64_t j = 0; j < l.M; ++j)
          if (l.visible(i, j))
            maximum = std::max(maximum, weights[j] = l.score(b, h, i, j));
        for (int64_t j = 0; j < l.M; ++j) {
          weights[j] = l.visible(i, j) ? std::exp(weights[j] - maximum) : 0;
          total += weights[j];
        }
        for (int64_t e = 0; e < l.E; ++e) {
          double sum = 0;
          for (int64_t j = 0; j < l.M; ++j)
            if (l.visible(i, j))
              sum += weights[j] * l.v.values[((b * l.H + h) * l.M + j) * l.E + e];
          double expected = total == 0 ? 0 : sum / total;
          double got = output[((b * l.H + h) * l.N + i) * l.E + e];
          if (std::isnan(got) || std::isnan(expected))
            worst = std::isnan(got) && std::isnan(expected) ? worst : INFINITY;
          else
            worst = std::max(worst, std::abs(got - expected));
          largest = std::max(largest, std::isnan(expected) ? 0 : std::abs(expected));
        }
      }
  EXPECT_LE(worst / largest, tolerance) << text;
}

TEST(CpuKernel, PlainAttentionAtEverySize) {
  for (auto [N, M, D, E] : std::vector<std::array<int64_t, 4>>{
           {1, 1, 1, 1}, {7, 7, 3, 5}, {49, 49, 32, 32}, {16, 64, 16, 16}, {30, 197, 64, 64}, {65, 131, 80, 24}, {5, 300, 7, 130}}) {
    Layer l = plain(N, M, D, E);
    l.terms = contentTerm(l, 0.25);
    l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.25 * content(l, b, h, i, j); };
    check(l);
  }
}

TEST(CpuKernel, EveryTarget) {
  for (const char *target : {"x86-64-v2", "x86-64-v3"}) {
    Layer l = plain(37, 45, 20, 12);
    l.target = target;
    l.terms = contentTerm(l, 0.25);
    l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.25 * content(l, b, h, i, j); };
    check(l);
  }
}

TEST(CpuKernel, CausalAndWindows) {
  for (auto [N, low, high] : std::vector<std::array<int64_t, 3>>{{1, -9999, 0}, {45, -9999, 0}, {200, -9999, 0}, {130, -4, 4}, {130, -20, -3}, {77, 3, 9999}}) {
    Layer l = plain(N, N, 24, 20);
    l.terms = contentTerm(l, 0.3);
    l.mask = fmt::format("j - i <= {} and j - i >= {}", high, low);
    l.visible = [low = low, high = high](int64_t i, int64_t j) { return j - i >= low && j - i <= high; };
    l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.3 * content(l, b, h, i, j); };
    check(l);
  }
}

TEST(CpuKernel, MaskedKeysMayHoldNaN) {
  Layer l = plain(40, 40, 16, 16);
  for (int64_t d = 0; d < 16; ++d) {
    l.k.values[39 * 16 + d] = NAN;
    l.v.values[39 * 16 + d] = NAN;
  }
  l.terms = contentTerm(l, 0.25);
  l.mask = "j <= i";
  l.visible = [](int64_t i, int64_t j) { return j <= i; };
  l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.25 * content(l, b, h, i, j); };
  check(l);
  l.mask = "j <= i and j != 7";
  l.visible = [](int64_t i, int64_t j) { return j <= i && j != 7; };
  check(l);
}

TEST(CpuKernel, OffsetsOfBothSigns) {
  for (int64_t N : {1, 12, 45, 100, 257})
    for (int64_t sign : {1, -1}) {
      Layer l = plain(N, N, 20, 16);
      std::mt19937 random(3);
      l.tables.push_back({"r", normal(random, {2 * N - 1, 20})});
      l.terms = contentTerm(l, 0.25) +
                fmt::format("attn.term \"b h i d, ({} + {}) d\" (%q, %r) scale 2.5e-1 : {}, {}\n",
                            sign > 0 ? "j - i" : "i - j", N - 1, tensor(l.q.shape, true),
                            tensor({2 * N - 1, 20}, false));
      l.score = [&, sign](int64_t b, int64_t h, int64_t i, int64_t j) {
        return 0.25 * (content(l, b, h, i, j) +
                       dot(l.q, (b * l.H + h) * l.N + i, l.tables[0].second, sign * (j - i) + N - 1, 20));
      };
      check(l);
    }
}

TEST(CpuKernel, OffsetTableAHead) {
  int64_t N = 70;
  Layer l = plain(N, N, 16, 16);
  std::mt19937 random(3);
  l.tables.push_back({"r", normal(random, {l.H, 2 * N - 1, 16})});
  l.terms = contentTerm(l, 0.25) + fmt::format("attn.term \"b h i d, h (j - i + {}) d\" (%q, %r) scale 5.0e-1 : {}, {}\n",
                                               N - 1, tensor(l.q.shape, true), tensor({l.H, 2 * N - 1, 16}, false));
  l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return 0.25 * content(l, b, h, i, j) +
           0.5 * dot(l.q, (b * l.H + h) * N + i, l.tables[0].second, h * (2 * N - 1) + j - i + N - 1, 16);
  };
  check(l);
}

TEST(CpuKernel, CausalOffsetsOfATableWithoutTheFuture) {
  for (int64_t N : {5, 64, 150, 333}) {
    Layer l = plain(N, N, 16, 16);
    std::mt19937 random(3);
    l.tables.push_back({"r", normal(random, {N, 16})});
    l.mask = "j <= i";
    l.visible = [](int64_t i, int64_t j) { return j <= i; };
    l.terms = contentTerm(l, 0.25) + fmt::format("attn.term \"b h i d, (j - i + {}) d\" (%q, %r) scale 2.5e-1 : {}, {}\n",
                                                 N - 1, tensor(l.q.shape, true), tensor({N, 16}, false));
    l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
      return 0.25 * (content(l, b, h, i, j) + dot(l.q, (b * l.H + h) * N + i, l.tables[0].second, j - i + N - 1, 16));
    };
    check(l);
  }
}

TEST(CpuKernel, MapsOfEveryShape) {
  for (auto [height, width] : std::vector<std::array<int64_t, 2>>{{1, 1}, {5, 7}, {7, 5}, {14, 14}, {3, 40}, {40, 3}, {8, 16}})
    for (int64_t sign : {1, -1}) {
      int64_t N = height * width;
      Layer l = plain(N, N, 16, 16);
      std::mt19937 random(3);
      l.space = "b h (iy ix) (jy jx)";
      l.queryAxes = "(iy ix)", l.keyAxes = "(jy jx)";
      l.sizes = fmt::format("{{iy = {0} : i64, ix = {1} : i64, jy = {0} : i64, jx = {1} : i64}}", height, width);
      l.tables.push_back({"rh", normal(random, {2 * height - 1, 16})});
      l.tables.push_back({"rw", normal(random, {2 * width - 1, 16})});
      auto term = [&](const char *axis, const char *name, int64_t extent) {
        return fmt::format("attn.term \"b h (iy ix) d, ({} + {}) d\" (%q, %{}) scale 1.0 : {}, {}\n",
                           sign > 0 ? fmt::format("j{0} - i{0}", axis) : fmt::format("i{0} - j{0}", axis), extent - 1,
                           name, tensor(l.q.shape, true), tensor({2 * extent - 1, 16}, false));
      };
      l.terms = contentTerm(l, 0.25) + term("y", "rh", height) + term("x", "rw", width);
      l.score = [&, sign, height = height, width = width](int64_t b, int64_t h, int64_t i, int64_t j) {
        int64_t row = (b * l.H + h) * l.N + i;
        return 0.25 * content(l, b, h, i, j) +
               dot(l.q, row, l.tables[0].second, sign * (j / width - i / width) + height - 1, 16) +
               dot(l.q, row, l.tables[1].second, sign * (j % width - i % width) + width - 1, 16);
      };
      check(l, 4e-6);
    }
}

TEST(CpuKernel, TermsOfNoClass) {
  int64_t N = 33;
  Layer l = plain(N, N, 16, 16);
  std::mt19937 random(3);
  l.tables.push_back({"t", normal(random, {l.H, 9})});
  l.tables.push_back({"full", normal(random, {N, N})});
  l.mask = "(i + j) mod 5 != 2";
  l.visible = [](int64_t i, int64_t j) { return (i + j) % 5 != 2; };
  l.terms = contentTerm(l, 0.25) +
            fmt::format("attn.term \"h (clamp(j - i, -4, 4) + 4)\" (%t) scale 5.0e-1 where \"abs(i - j) <= 20\" : {}\n"
                        "attn.term \"i j\" (%full) times \"j - i\" scale 1.0e-2 : {}\n",
                        tensor({l.H, 9}, false), tensor({N, N}, false));
  l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    double bias = std::abs(i - j) <= 20 ? 0.5 * l.tables[0].second.values[h * 9 + std::clamp<int64_t>(j - i, -4, 4) + 4] : 0;
    return 0.25 * content(l, b, h, i, j) + bias + 0.01 * (j - i) * l.tables[1].second.values[i * N + j];
  };
  check(l);
}

} // namespace
