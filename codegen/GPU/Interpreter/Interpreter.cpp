// Launches a kernel: runs blocks one after another, and the warps of a block from barrier to barrier, or in the order
// of the scheduler if they wait for each other by more than barriers of the block.
#include "codegen/GPU/Interpreter/Interpreter.h"
#include "codegen/GPU/Interpreter/Program.h"
#include "codegen/GPU/Interpreter/Scheduler.h"
#include "codegen/GPU/Interpreter/WarpRunner.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace skewer::gpu;

LaunchArgument LaunchArgument::input(const void *data, size_t bytes, std::string name) {
  LaunchArgument argument;
  argument.isBuffer = true;
  argument.source = data;
  argument.bytes = bytes;
  argument.name = std::move(name);
  return argument;
}
LaunchArgument LaunchArgument::output(void *data, size_t bytes, std::string name) {
  LaunchArgument argument = input(nullptr, bytes, std::move(name));
  argument.isOutput = true;
  argument.sink = data;
  return argument;
}
LaunchArgument LaunchArgument::tensorMap(const TensorMap &map, unsigned buffer) {
  LaunchArgument argument;
  argument.name = "tensor map";
  argument.map = map;
  argument.buffer = buffer;
  return argument;
}
LaunchArgument LaunchArgument::number(int64_t value) {
  LaunchArgument argument;
  argument.value = value;
  return argument;
}

/// Runs the warps of a block from barrier to barrier, one after another.
static void runByBarriers(mlir::LLVM::LLVMFuncOp kernel, std::vector<WarpRunner> &warps, BlockState &block,
                          const std::vector<uint64_t> &values, int64_t &budget) {
  for (WarpRunner &warp : warps)
    warp.begin(values);
  while (budget > 0 && std::any_of(warps.begin(), warps.end(), [](const WarpRunner &w) { return !w.isDone(); })) {
    for (WarpRunner &warp : warps)
      warp.run(budget);
    size_t done = size_t(std::count_if(warps.begin(), warps.end(), [](const WarpRunner &w) { return w.isDone(); }));
    if (done && done < warps.size())
      block.report->add(FaultKind::Divergence, kernel,
                        fmt::format("{} of {} warps of block {} end while the others wait at a barrier", done,
                                    warps.size(), block.index));
    block.shared->barrier();
  }
}

/// Runs the warps of a block in the order that the seed gives. Returns false after a deadlock.
static bool runInAnyOrder(mlir::LLVM::LLVMFuncOp kernel, std::vector<WarpRunner> &warps, BlockState &block,
                          const std::vector<uint64_t> &values, unsigned seed, int64_t &budget) {
  Concurrency concurrency(block, seed);
  block.concurrency = &concurrency;
  block.shared->follow(&concurrency.history);
  for (WarpRunner &warp : warps)
    warp.begin(values);
  bool ended = Scheduler(warps, block).run(kernel, budget);
  if (ended)
    concurrency.groups.end();
  block.shared->follow(nullptr);
  block.concurrency = nullptr;
  return ended;
}

/// Runs one kernel on existing memory. Returns false after a fault.
static bool runKernel(mlir::LLVM::LLVMFuncOp kernel, const LaunchShape &shape, const std::vector<uint64_t> &values,
                      DeviceMemory &device, Report &report) {
  Program program = Decoder(kernel, device).run();
  if (!program.unsupported.empty())
    report.add(FaultKind::Unsupported, kernel, fmt::format("the interpreter does not know '{}'", program.unsupported));
  if (program.arguments.size() != values.size())
    report.add(FaultKind::Unsupported, kernel,
               fmt::format("the kernel takes {} arguments, {} are given", program.arguments.size(), values.size()));
  if (shape.threads == 0 || shape.threads % kLanes || shape.threads > 1024)
    report.add(FaultKind::Unsupported, kernel, fmt::format("blocks of {} threads", shape.threads));
  if (!report.faults.empty())
    return false;

  SharedMemory shared(shape.sharedBytes, report);
  BlockState block{0, shape.threads, shape.grid, &shared, &device, &report};
  std::vector<WarpRunner> warps;
  for (unsigned warp = 0; warp < shape.threads / kLanes; ++warp)
    warps.emplace_back(program, block, warp);
  int64_t budget = int64_t(1) << 33;
  for (block.index = 0; block.index < shape.grid && budget > 0; ++block.index) {
    shared.reset();
    if (!program.concurrent)
      runByBarriers(kernel, warps, block, values, budget);
    else if (!runInAnyOrder(kernel, warps, block, values, shape.seed + block.index, budget))
      break;
    for (const WarpRunner &warp : warps)
      if (warp.hasCopies())
        report.add(FaultKind::Race, kernel, "a thread ends before its cp.async copies are done");
  }
  if (budget <= 0)
    report.add(FaultKind::Unsupported, kernel, "the kernel runs longer than the interpreter waits");
  return report.faults.empty();
}

/// Encodes a tensor map of one of the buffers, whose addresses are `values`, and returns its address.
static uint64_t addMap(const LaunchArgument &argument, llvm::ArrayRef<uint64_t> values, DeviceMemory &device) {
  TensorMap map = *argument.map;
  map.address += argument.buffer < values.size() ? values[argument.buffer] : 0;
  return device.add(kTensorMapBytes, encode(map).data(), false, argument.name);
}

Report skewer::gpu::launch(llvm::ArrayRef<KernelLaunch> kernels, llvm::ArrayRef<LaunchArgument> arguments) {
  Report report;
  DeviceMemory device(report);
  std::vector<uint64_t> values;
  for (const LaunchArgument &argument : arguments)
    values.push_back(argument.isBuffer ? device.add(argument.bytes, argument.source, argument.isOutput, argument.name)
                                       : uint64_t(argument.value));
  for (auto [argument, value] : llvm::zip_equal(arguments, values))
    if (argument.map)
      value = addMap(argument, values, device);
  for (const KernelLaunch &launch : kernels) {
    std::vector<uint64_t> own = values;
    for (const LaunchArgument &map : launch.maps)
      own.push_back(addMap(map, values, device));
    if (!runKernel(launch.kernel, launch.shape, own, device, report))
      break;
    device.endKernel();
  }
  for (auto [argument, address] : llvm::zip_equal(arguments, values))
    if (argument.isOutput && argument.bytes)
      std::memcpy(argument.sink, device.contents(address).data(), argument.bytes);
  return report;
}

Report skewer::gpu::launch(mlir::LLVM::LLVMFuncOp kernel, const LaunchShape &shape,
                           llvm::ArrayRef<LaunchArgument> arguments) {
  return launch(KernelLaunch{kernel, shape, {}}, arguments);
}
