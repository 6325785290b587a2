// Calls a lowered GPU program through the interpreter, with the bytes of its operands.
#pragma once
#include "codegen/GPU/Interpreter/Interpreter.h"
#include "passes/Gpu/GpuLaunch.h"
#include <cstring>

namespace skewer::testing {

/// The operands of a call: bytes of the inputs, of the results and the run-time sizes, in the plan's order. An origin
/// is an input of one i32, and so is a length, which is not read.
struct GpuCall {
  std::vector<llvm::ArrayRef<char>> inputs;
  std::vector<llvm::MutableArrayRef<char>> outputs;
  std::vector<int64_t> sizes;
  llvm::MutableArrayRef<char> prepared = {}; // plan.preparedBytes; empty: memory for this call alone
  unsigned order = 0;                        // in which warps run, where they run in any (LaunchShape::seed)
  bool boxes = true; // kernels that copy boxes run where there are some; else the others, as without tensor maps
};

/// The kernels of a program to run: all, those that prepare, or the others.
enum class Launches { All, Preparing, Others };

inline int64_t valueOf(const SizeExpression &size, const KernelPlan &plan, llvm::ArrayRef<int64_t> sizes) {
  int64_t product = size.scaled;
  std::map<std::string, int64_t> known;
  for (auto [name, value] : llvm::zip(plan.sizes, sizes))
    known[name] = value;
  for (const std::string &factor : size.factors)
    product *= *skewer::valueOf(factor, known);
  return size.fixed + product;
}

/// Returns a tensor map as a launcher makes it, of a buffer that is an argument of the kernels.
inline gpu::LaunchArgument mapOf(const gpu::GpuTensorMap &map, const KernelPlan &plan, llvm::ArrayRef<int64_t> sizes) {
  gpu::TensorMap made;
  made.type = map.type == ElementType::BF16 ? gpu::TensorMapType::BF16 : gpu::TensorMapType::F16;
  made.rank = 3;
  made.address = uint64_t(valueOf(map.offset, plan, sizes));
  made.dims = {uint64_t(map.columns), uint64_t(valueOf(map.rows, plan, sizes)),
               uint64_t(valueOf(map.places, plan, sizes))};
  made.strides = {uint64_t(map.rowBytes), uint64_t(map.placeBytes)};
  made.box = {uint32_t(map.boxColumns), uint32_t(map.boxRows), 1};
  made.swizzleBytes = unsigned(map.boxColumns * bytesOf(map.type));
  return gpu::LaunchArgument::tensorMap(made, map.argument);
}

/// Runs the program's kernels as a launcher would. Returns nothing if the module lacks one of them.
inline std::optional<gpu::Report> runProgram(mlir::gpu::GPUModuleOp gpuModule, const KernelPlan &plan,
                                             const gpu::GpuProgram &program, const GpuCall &call,
                                             Launches which = Launches::All) {
  std::vector<gpu::LaunchArgument> arguments;
  for (auto [input, bytes] : llvm::zip(plan.inputs, call.inputs))
    if (input.isTensor())
      arguments.push_back(gpu::LaunchArgument::input(bytes.data(), bytes.size(), input.name));
  for (auto [output, bytes] : llvm::zip(plan.outputs, call.outputs))
    arguments.push_back(gpu::LaunchArgument::output(bytes.data(), bytes.size(), output.name));
  std::vector<char> workspace(size_t(valueOf(program.workspace, plan, call.sizes)));
  arguments.push_back(gpu::LaunchArgument::output(workspace.data(), workspace.size(), "workspace"));
  std::vector<char> own;
  if (plan.preparedBytes) {
    own.resize(call.prepared.empty() ? size_t(plan.preparedBytes) : 0);
    llvm::MutableArrayRef<char> prepared = call.prepared.empty() ? llvm::MutableArrayRef<char>(own) : call.prepared;
    arguments.push_back(which == Launches::Others
                            ? gpu::LaunchArgument::input(prepared.data(), prepared.size(), "prepared")
                            : gpu::LaunchArgument::output(prepared.data(), prepared.size(), "prepared"));
  }
  for (int64_t size : call.sizes)
    arguments.push_back(gpu::LaunchArgument::number(size));
  for (auto [input, bytes] : llvm::zip(plan.inputs, call.inputs))
    if (input.origin) {
      int32_t origin = 0;
      std::memcpy(&origin, bytes.data(), sizeof origin);
      arguments.push_back(gpu::LaunchArgument::number(origin));
    }
  std::vector<gpu::KernelLaunch> launches;
  for (const gpu::GpuLaunch &launch : program.launches) {
    if (which != Launches::All && launch.prepares != (which == Launches::Preparing))
      continue;
    bool isBoxed = call.boxes && !launch.boxKernel.empty();
    auto kernel = gpuModule.lookupSymbol<mlir::LLVM::LLVMFuncOp>(isBoxed ? launch.boxKernel : launch.kernel);
    if (!kernel)
      return std::nullopt;
    unsigned blocks = unsigned(valueOf(launch.blocks, plan, call.sizes));
    launches.push_back({kernel, {blocks, unsigned(launch.threads), size_t(launch.sharedBytes), call.order}, {}});
    for (const gpu::GpuTensorMap &map : launch.maps)
      if (isBoxed)
        launches.back().maps.push_back(mapOf(map, plan, call.sizes));
  }
  return gpu::launch(launches, arguments);
}

} // namespace skewer::testing
