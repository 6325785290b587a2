// Compiles one attention in MLIR, runs it and compares it with loops in double, for the tests of the CPU lowering.
#pragma once
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
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Register.h"
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace skewer::test {
using namespace mlir;

struct Table {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// A kernel's text, its inputs and its expected result.
struct Case {
  std::string text;
  std::vector<Table> inputs;
  std::vector<int64_t> outputShape;
  std::vector<int64_t> sizes;
};

inline Table normal(std::mt19937 &random, std::vector<int64_t> shape) {
  Table table{shape, {}};
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::normal_distribution<float> distribution;
  for (int64_t k = 0; k < count; ++k)
    table.values.push_back(distribution(random));
  return table;
}

inline std::string tensorType(const std::vector<int64_t> &shape, bool runtimeFirst) {
  std::string text = "tensor<";
  for (size_t k = 0; k < shape.size(); ++k)
    text += (k == 0 && runtimeFirst ? std::string("?") : std::to_string(shape[k])) + "x";
  return text + "f32>";
}

inline std::string attribute(const std::vector<int64_t> &shape, bool runtimeFirst) {
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
  std::string terms, valueTerms;
  /// Returns the score without scale conversions, in double, and whether the key is visible.
  std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)> score;
  /// Returns what the value terms add to the value of a key.
  std::function<double(int64_t h, int64_t i, int64_t j, int64_t e)> added;
  std::function<bool(int64_t i, int64_t j)> visible = [](int64_t, int64_t) { return true; };
  Table q, k, v;
  std::string target = "host";
  /// Row block (in tiles), key block (in tiles) and blocks of an item, if the schedule is not the cost model's.
  std::vector<int64_t> blocking;
  /// The strategies that the schedule must have for the terms, if they matter.
  std::vector<std::string> strategies;
};

inline double dot(const Table &a, int64_t rowA, const Table &b, int64_t rowB, int64_t depth) {
  double sum = 0;
  for (int64_t d = 0; d < depth; ++d)
    sum += double(a.values[rowA * depth + d]) * b.values[rowB * depth + d];
  return sum;
}

inline Layer plain(int64_t N, int64_t M, int64_t D, int64_t E, unsigned seed = 1) {
  std::mt19937 random(seed);
  Layer layer;
  layer.N = N, layer.M = M, layer.D = D, layer.E = E;
  layer.q = normal(random, {layer.B, layer.H, N, D});
  layer.k = normal(random, {layer.B, layer.H, M, D});
  layer.v = normal(random, {layer.B, layer.H, M, E});
  return layer;
}

inline double content(const Layer &l, int64_t b, int64_t h, int64_t i, int64_t j) {
  return dot(l.q, (b * l.H + h) * l.N + i, l.k, (b * l.H + h) * l.M + j, l.D);
}

inline std::string contentTerm(const Layer &l, double scale) {
  return fmt::format("attn.term \"b h {} d, b h {} d\" (%q, %k) scale {:e} : {}, {}\n", l.queryAxes, l.keyAxes, scale,
                     tensorType(l.q.shape, true), tensorType(l.k.shape, true));
}

/// Compiles and runs a layer, and checks that the largest error, over the largest value, is within the tolerance.
inline void check(const Layer &l, double tolerance = 2e-6) {
  std::string arguments, names;
  std::vector<const Table *> inputs{&l.q, &l.k, &l.v};
  auto add = [&](const std::string &name, const Table &table, bool runtime) {
    arguments += fmt::format("{}%{}: {} {{attn.name = \"{}\", attn.shape = {}}}", arguments.empty() ? "" : ", ", name,
                             tensorType(table.shape, runtime), name, attribute(table.shape, runtime));
  };
  add("q", l.q, true), add("k", l.k, true), add("v", l.v, true);
  for (const auto &[name, table] : l.tables) {
    add(name, table, false);
    inputs.push_back(&table);
  }
  std::vector<int64_t> outputShape{l.B, l.H, l.N, l.E};
  std::string result = tensorType(outputShape, true);
  std::string text = fmt::format(
      "func.func @layer({}) -> ({} {{attn.shape = {}}}) attributes {{attn.kernel, attn.sizes = [\"batch\"]}} {{\n"
      "  %o = attn.attention \"{}\" {} {} value \"b h {} e -> b h {} e\" (%v) score {{\n{}  }}{} : {} -> {}\n"
      "  return %o : {}\n}}\n",
      arguments, result, attribute(outputShape, true), l.space, l.mask.empty() ? "" : "where \"" + l.mask + "\"",
      l.sizes.empty() ? "" : "sizes " + l.sizes, l.keyAxes, l.queryAxes, l.terms,
      l.valueTerms.empty() ? "" : " values {\n" + l.valueTerms + "  }", tensorType(l.v.shape, true), result, result);

  DialectRegistry registry;
  registry.insert<attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect, linalg::LinalgDialect>();
  registerLlvmConversions(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  auto target = findTarget(l.target);
  ASSERT_TRUE(target);
  PassManager manager(&context), lowering(&context);
  addSchedulePipeline(manager, *target);
  ASSERT_TRUE(succeeded(manager.run(*module))) << text;
  module->walk([&](attn::AttentionOp op) {
    auto schedule = dyn_cast_or_null<attn::CpuScheduleAttr>(op.getScheduleAttr());
    ASSERT_TRUE(schedule) << text;
    if (!l.strategies.empty()) {
      std::vector<std::string> strategies;
      for (StringAttr strategy : schedule.getStrategies())
        strategies.push_back(strategy.str());
      EXPECT_EQ(strategies, l.strategies) << text;
    }
    if (l.blocking.empty())
      return;
    // The requested number of units, but none beyond the queries and the keys (attention_c11).
    auto within = [](int64_t count, int64_t unit, int64_t size) {
      return std::min(count * unit, (size + unit - 1) / unit * unit);
    };
    attn::ScoreSpace space = attn::scoreSpace(op);
    int64_t rows = within(l.blocking[0], schedule.getTileRows(), space.queries());
    int64_t keys = within(l.blocking[1], schedule.getTileVectors() * schedule.getLanes(), space.keys());
    op.setScheduleAttr(attn::CpuScheduleAttr::get(
        &context, schedule.getTarget(), schedule.getLanes(), schedule.getTileRows(), schedule.getTileVectors(), rows,
        keys, within(l.blocking[2], rows, space.queries()), schedule.getStrategies(), 0));
  });
  addCpuLoweringPipeline(lowering, *target);
  ASSERT_TRUE(succeeded(lowering.run(*module))) << text;
  auto plan = planOf(*module);
  ASSERT_TRUE(plan) << text;
  ASSERT_FALSE(plan->phases.empty());
  EXPECT_EQ(plan->phases.back().title, "attend") << "took the generic path:\n" << text;
  PassManager lower(&context);
  lower.enableVerifier(false); // toLlvmModule verifies what becomes of it
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
  // The workspace is filled with NaN, because nothing may depend on its contents.
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
              sum +=
                  weights[j] * (l.v.values[((b * l.H + h) * l.M + j) * l.E + e] + (l.added ? l.added(h, i, j, e) : 0));
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

} // namespace skewer::test
