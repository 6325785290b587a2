// Collects the facts that `explain` prints about a kernel on a GPU: compiles it, and asks the cost model, ptxas and
// cuobjdump.
#include "tools/skewer/ExplainGpu.h"
#include "codegen/GPU/Tool.h"
#include "dialect/IR/Attn.h"
#include "passes/Gpu/KeyParts.h"

namespace skewer::driver {
namespace {

/// Returns the shape and schedule of each attention, as in the lowering.
std::vector<gpu::GpuShape> shapesOf(mlir::ModuleOp scheduled) {
  std::vector<gpu::GpuShape> shapes;
  scheduled.walk([&](attn::AttentionOp attention) {
    if (auto shape = gpu::gpuShapeOf(attention))
      shapes.push_back(std::move(*shape));
  });
  return shapes;
}

/// Returns ptxas, or "" after adding the reason to `missing`. If only PTX is requested, nothing is missing.
std::string assemblerFor(const Options &options, std::vector<std::string> &missing) {
  if (options.gpu.ptxOnly)
    return "";
  auto ptxas = gpu::findPtxas(options.gpu.cudaPath);
  if (ptxas)
    return *ptxas;
  missing.push_back(llvm::toString(ptxas.takeError()));
  return "";
}

std::string sassOf(const gpu::GpuCode &code, llvm::StringRef ptxas, const Options &options,
                   std::vector<std::string> &missing) {
  if (code.cubin.empty())
    return "";
  auto cuobjdump = gpu::findCuobjdump(options.gpu.cudaPath, ptxas);
  auto sass = cuobjdump ? gpu::disassemble(code.cubin, *cuobjdump) : cuobjdump.takeError();
  if (sass)
    return *sass;
  missing.push_back(llvm::toString(sass.takeError()));
  return "";
}

} // namespace

std::optional<GpuFacts> gpuFactsOf(Compilation &compilation, const Kernel &kernel, mlir::ModuleOp fused,
                                   const gpu::GpuTarget &target, const Options &options, double usefulFlops,
                                   double bytesMoved, mlir::OwningOpRef<mlir::ModuleOp> &scheduled) {
  GpuFacts facts;
  facts.target = target;
  std::string ptxas = assemblerFor(options, facts.missing);
  if (!ptxas.empty())
    facts.assembler = gpu::versionOfTool(ptxas);
  gpu::GpuRequest request = options.gpu.schedule;
  request.target = target.name;
  auto code = gpu::buildFor(target, ptxas, [&](int64_t rank) {
    request.rank = rank;
    scheduled = compilation.scheduleForGpu(fused, kernel.name, request);
    return scheduled ? compilation.lowerForGpu(fused, kernel.name, request) : mlir::OwningOpRef<mlir::ModuleOp>();
  });
  if (!code)
    return Compilation::report(kernel.name, code.takeError()), std::nullopt;
  if (!*code)
    return std::nullopt;
  std::string sass = sassOf(**code, ptxas, options, facts.missing);
  gpu::GpuMachine machine = *gpu::findGpuMachine(target.name);
  std::vector<gpu::GpuShape> shapes = shapesOf(*scheduled);
  size_t attention = 0;
  for (const gpu::GpuLaunch &launch : (*code)->program.launches) {
    GpuKernelFacts one;
    bool copiesBoxes = !launch.boxKernel.empty();
    one.name = copiesBoxes ? launch.boxKernel : launch.kernel;
    one.without = copiesBoxes ? launch.kernel : "";
    one.title = launch.title;
    one.note = launch.note;
    one.prepares = launch.prepares;
    one.threads = launch.threads;
    one.sharedBytes = launch.sharedBytes;
    const auto &known = (*code)->resources.kernels;
    if (auto resources = known.find(one.name); resources != known.end())
      one.registers = resources->second.registers;
    if (launch.rows && attention < shapes.size()) {
      const gpu::GpuShape &shape = shapes[attention++];
      one.prediction = predict(shape, shape.tile, machine, one.registers.value_or(0));
      one.byWarpRows = bestByWarpRows(shape, machine, options.gpu.schedule);
      one.loop = gpu::mainLoopOf(sass, one.name);
      int64_t steps = one.loop && one.loop->once ? llvm::divideCeil(shape.attention.keys, shape.tile.keys) : 1;
      one.scoresOfThread = double(shape.tile.rows * shape.tile.keys * steps) / double(shape.tile.threads());
    }
    int64_t guess = one.prediction ? std::min<int64_t>(one.prediction->footprint.registers, 255) : 0;
    one.occupancy = occupancyOf(machine, launch.threads, one.registers.value_or(guess), launch.sharedBytes);
    facts.kernels.push_back(std::move(one));
  }
  if (!shapes.empty())
    facts.engine = shapes.front().tile.engine.str();
  // A kernel that joins parts of keys is counted with the attention before it.
  auto others = llvm::count_if(facts.kernels,
                               [](const GpuKernelFacts &one) { return !one.prediction && one.title != gpu::kJoin; });
  if (attention == shapes.size() && !others)
    for (const gpu::GpuDevice &device : gpu::gpuDevicesOf(target.name)) {
      DeviceFacts one{device};
      one.computeSeconds =
          usefulFlops / (machine.engineFlops(facts.engine) * double(device.processors) * device.gigahertz * 1e9);
      one.memorySeconds = bytesMoved / (device.memoryRate * 1e9);
      size_t predicted = 0;
      for (const GpuKernelFacts &kernel : facts.kernels)
        if (kernel.prediction)
          one.predictedSeconds += secondsOn(shapes[predicted++], *kernel.prediction, machine, device);
      one.predictedSeconds = std::max(one.predictedSeconds, one.boundSeconds());
      facts.devices.push_back(std::move(one));
    }
  return facts;
}

} // namespace skewer::driver
