// A fused attention in its place in a program of GPU kernels.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "passes/Analysis/GpuShape.h"
#include "passes/Emit/Buffer.h"

namespace skewer::gpu {

/// Where a tensor is that is no argument of its own: an output of the program, or a place in its workspace or in
/// prepared memory.
struct GpuPlace {
  std::optional<unsigned> output;
  Place place;
};

/// What an attention's operands and results are in the program that it is part of.
struct GpuTensors {
  std::string kernel;   // symbol of the attention's kernel
  KernelPlan signature; // the program's arguments
  KernelPlan plan;      // the same, and behind its inputs and outputs, without names, what else is read and written
  std::vector<GpuPlace> furtherInputs, furtherOutputs; // where that is
  SizeExpression workspace;                            // places that are scaled stand behind its fixed part
  std::vector<unsigned> inputs;                        // for each of operandsOf(attention): number in plan.inputs
  unsigned resultOutput = 0;                           // number in plan.outputs
  std::optional<unsigned> rowOutput;                   // [leading…, queries] of f32: natural logarithms, or totals
  std::optional<unsigned> parts;                       // number in plan.outputs of what parts of the keys leave
  std::vector<Extent> leading;                         // of each leading axis
  Extent queryExtent;                                  // how many queries
};

struct GpuAttention : GpuTensors, GpuShape {
  GpuAttention(GpuTensors tensors, GpuShape shape) : GpuTensors(std::move(tensors)), GpuShape(std::move(shape)) {}
};

} // namespace skewer::gpu
