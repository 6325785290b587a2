// A fused attention and its place in a program of GPU kernels. GpuStages fills it; the attention's kernels are emitted
// from it.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "passes/Emit/Buffer.h"
#include "passes/Gpu/Shape/GpuShape.h"

namespace skewer::gpu {

/// The place of a tensor that is not an argument itself: an output of the program, or memory in its workspace or in
/// prepared memory.
struct GpuPlace {
  std::optional<unsigned> output;
  Place place;
};

/// The operands and results of an attention in the program that it is part of.
/// A factor of the rows of an operand (NarrowRows::Scale): its number in GpuTensors::plan.inputs, and its place.
struct RowScale {
  unsigned input = 0;
  subscript::Expr place;
};

struct GpuTensors {
  std::string kernel;   // symbol of the attention's kernel
  KernelPlan signature; // the program's arguments
  // The signature; behind its inputs and outputs, without names, the further tensors that are read and written.
  KernelPlan plan;
  std::vector<GpuPlace> furtherInputs, furtherOutputs; // places of the further tensors
  SizeExpression workspace;                            // scaled places follow its fixed part
  std::vector<unsigned> inputs;                        // number in plan.inputs of each operand in operandsOf(attention)
  std::vector<std::vector<RowScale>> scales;           // of the rows of each operand
  std::vector<int64_t> scaledElements;                 // how many elements of an operand that has scales share them
  unsigned resultOutput = 0;                           // number in plan.outputs
  std::optional<unsigned> rowOutput; // number of the output [leading…, queries] of f32: natural logarithms, or totals
  std::optional<unsigned> parts;     // number in plan.outputs of the records of parts of the keys
  std::vector<Extent> leading;       // extent of each leading axis
  Extent queryExtent, keyExtent;     // numbers of queries and keys; 1 if keys are no dimension of an operand
};

struct GpuAttention : GpuTensors, GpuShape {
  GpuAttention(GpuTensors tensors, GpuShape shape) : GpuTensors(std::move(tensors)), GpuShape(std::move(shape)) {}
};

} // namespace skewer::gpu
