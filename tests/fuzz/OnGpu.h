// A spec as GPU kernels, run by the interpreter.
#pragma once
#include "codegen/Compiler/Compiler.h"
#include "passes/Schedule/GpuMachine.h"
#include "tests/fuzz/Differential.h"
#include "tools/skewer/Inputs.h"

namespace skewer::fuzz {

/// The layer of a seed in one of the types that tensor cores multiply, each as often as the others.
Spec specForGpu(uint64_t seed);
/// The plan of a seed, with a GPU and what of the schedule is not left to its model: small tiles among it, so that a
/// small layer has several.
Plan planForGpu(uint64_t seed);

/// "sm_80, rows=16, keys=32, stages=2, queries=shared": the target, and what is not left to the model.
std::string textOf(const gpu::GpuRequest &);

struct GpuRun {
  Failure failure = Failure::None;
  std::string message;
  KernelPlan plan;
  std::vector<std::vector<char>> results;
  /// Whether every attention is on tensor cores; else why one is not.
  bool isFused = false;
  std::string reason;
  /// Vectors that a stage of its own computes are rounded once more. With rotated ones in bf16, whose scores have a
  /// deviation of 2, that alone is 0.011 of the largest value in one layer of ten, and 0.02 in one of 300.
  bool roundsVectors = false;
};
/// `scheduled` is the layer after fusion. A tile that does not fit into shared memory is left to the model.
GpuRun runOnGpu(Compilation &, const Kernel &, mlir::ModuleOp scheduled, const driver::Operands &,
                const gpu::GpuRequest &);

} // namespace skewer::fuzz
