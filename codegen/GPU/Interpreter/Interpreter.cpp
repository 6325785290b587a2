// Launches a kernel: runs blocks one after another, and the warps of a block from barrier to barrier.
#include "codegen/GPU/Interpreter/Interpreter.h"
#include "codegen/GPU/Interpreter/Program.h"
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
LaunchArgument LaunchArgument::number(int64_t value) {
  LaunchArgument argument;
  argument.value = value;
  return argument;
}

namespace {

/// A warp with the place of each of its lanes. The lanes at the earliest place run first. So lanes that diverged at a
/// branch meet again after it, because blocks are in the order of the program.
class Thread32 {
public:
  Thread32(const Program &program, BlockState &block, unsigned index) : program(program) {
    warp.block = &block;
    warp.index = index;
    warp.registers.resize(program.registers);
    for (auto [number, value] : program.constants)
      warp.registers[number].fill(value);
  }
  void begin(const std::vector<uint64_t> &arguments) {
    for (auto [slots, value] : llvm::zip_equal(program.arguments, arguments))
      warp.registers[slots.first].fill(value);
    place.fill(0);
    alive = ~0u;
    next = 0;
    warp.mask = alive;
    warp.epoch = 1;
    warp.groups.clear();
    warp.open.clear();
  }
  bool isDone() const { return alive == 0; }
  bool hasCopies() const { return !warp.open.empty() || !warp.groups.empty(); }

  /// Runs up to the next barrier of the block or the end. `budget` limits the steps of a launch.
  void run(int64_t &budget) {
    while (alive && budget > 0) {
      if (next == 0)
        choose();
      const CodeBlock &block = program.blocks[current];
      while (next < block.steps.size()) {
        const Step &step = block.steps[next++];
        warp.operation = step.operation;
        step.run(warp);
        --budget;
        ++warp.block->report->steps;
        if (step.barrier)
          return;
      }
      finish(block);
      next = 0;
    }
  }

private:
  void choose() {
    current = ~0u;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (alive >> lane & 1)
        current = std::min(current, place[lane]);
    warp.mask = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if ((alive >> lane & 1) && place[lane] == current)
        warp.mask |= Mask(1) << lane;
  }
  void finish(const CodeBlock &block) {
    if (block.edges.empty()) {
      alive &= ~warp.mask;
      return;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane))
        continue;
      bool second = block.edges.size() == 2 && !(warp.registers[block.condition][lane] & 1);
      const Edge &edge = block.edges[second];
      moved.clear();
      for (auto [from, to] : edge.moves)
        moved.push_back(warp.registers[from][lane]);
      for (size_t k = 0; k < moved.size(); ++k)
        warp.registers[edge.moves[k].second][lane] = moved[k];
      place[lane] = edge.target;
    }
  }

  const Program &program;
  Warp warp;
  std::array<unsigned, kLanes> place{};
  Mask alive = 0;
  unsigned current = 0;
  size_t next = 0;
  std::vector<uint64_t> moved;
};

} // namespace

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
  std::vector<Thread32> warps;
  for (unsigned warp = 0; warp < shape.threads / kLanes; ++warp)
    warps.emplace_back(program, block, warp);
  int64_t budget = int64_t(1) << 33;
  for (block.index = 0; block.index < shape.grid && budget > 0; ++block.index) {
    shared.reset();
    for (Thread32 &warp : warps)
      warp.begin(values);
    while (budget > 0 && std::any_of(warps.begin(), warps.end(), [](const Thread32 &w) { return !w.isDone(); })) {
      for (Thread32 &warp : warps)
        warp.run(budget);
      size_t done = size_t(std::count_if(warps.begin(), warps.end(), [](const Thread32 &w) { return w.isDone(); }));
      if (done && done < warps.size())
        report.add(FaultKind::Divergence, kernel,
                   fmt::format("{} of {} warps of block {} end while the others wait at a barrier", done, warps.size(),
                               block.index));
      shared.barrier();
    }
    for (const Thread32 &warp : warps)
      if (warp.hasCopies())
        report.add(FaultKind::Race, kernel, "a thread ends before its cp.async copies are done");
  }
  if (budget <= 0)
    report.add(FaultKind::Unsupported, kernel, "the kernel runs longer than the interpreter waits");
  return report.faults.empty();
}

Report skewer::gpu::launch(llvm::ArrayRef<KernelLaunch> kernels, llvm::ArrayRef<LaunchArgument> arguments) {
  Report report;
  DeviceMemory device(report);
  std::vector<uint64_t> values;
  for (const LaunchArgument &argument : arguments)
    values.push_back(argument.isBuffer ? device.add(argument.bytes, argument.source, argument.isOutput, argument.name)
                                       : uint64_t(argument.value));
  for (const KernelLaunch &launch : kernels) {
    if (!runKernel(launch.kernel, launch.shape, values, device, report))
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
  return launch(KernelLaunch{kernel, shape}, arguments);
}
