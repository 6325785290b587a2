// Runs kernels on this machine's GPU: compiles them and their entries into this process, and calls them through the
// launcher.
#include "codegen/ABI/Status.h"
#include "codegen/Compiler/Compiler.h"
#include "passes/Gpu/Shape/GpuShape.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/Messages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace skewer::driver {

std::unique_ptr<Device> openDevice() {
  auto device = Device::open();
  if (device)
    return std::move(*device);
  sayError("there is no GPU to run on: " + llvm::toString(device.takeError()));
  return nullptr;
}

std::unique_ptr<Execution> Execution::createForGpu(Compilation &compilation, const Kernel &kernel, Device &device,
                                                   const Options &options) {
  std::vector<gpu::GpuTarget> targets;
  if (options.target == "gpu") {
    auto target = device.target();
    if (!target) {
      sayError("--target=gpu: " + llvm::toString(target.takeError()));
      return nullptr;
    }
    targets.push_back(std::move(*target));
  } else {
    std::string names = options.target;
    auto named = takeGpuTargets(names);
    if (!named)
      return nullptr;
    targets = std::move(*named);
  }
  auto fused = compilation.fuse(kernel, nullptr, /*forGpu=*/true);
  if (!fused)
    return nullptr;
  auto execution = std::make_unique<Execution>();
  execution->name = kernel.name;
  execution->device = &device;
  execution->asksForBoxes = options.gpu.schedule.copies == gpu::kTma;
  execution->chosenTarget = compilation.target();
  execution->counted = mlir::OwningOpRef<mlir::ModuleOp>(mlir::cast<mlir::ModuleOp>((*fused)->clone()));
  GpuBuild how = options.gpu;
  if (auto ptxas = gpu::findPtxas(how.cudaPath); !ptxas && how.cudaPath.empty()) {
    llvm::consumeError(ptxas.takeError());
    how.ptxOnly = true;
  } else if (!ptxas) {
    llvm::consumeError(ptxas.takeError()); // reported by the next step
  }
  auto codes = compileForGpus(compilation, kernel, *fused, targets, how);
  if (!codes)
    return nullptr;
  execution->kernelPlan = codes->front().plan;
  auto jit = JitKernel::createForGpu(execution->kernelPlan, imagesOf(*codes));
  if (!jit) {
    Compilation::report(kernel.name, jit.takeError());
    return nullptr;
  }
  execution->kernel = std::move(*jit);
  return execution;
}

bool Execution::isGood(llvm::Error error) const {
  if (!error)
    return true;
  Compilation::report(name, std::move(error));
  return false;
}

bool Execution::bindToDevice() {
  deviceMemory.clear();
  deviceOutputs.clear();
  auto place = [&](const Buffer &from) -> void * {
    auto memory = device->allocate(from.size());
    if (!memory)
      return isGood(memory.takeError()), nullptr;
    deviceMemory.push_back(std::move(*memory));
    return isGood(device->copyTo(deviceMemory.back(), from.data(), from.size())) ? deviceMemory.back().data() : nullptr;
  };
  for (size_t k = 0; k < inputs.size(); ++k)
    if (kernelPlan.inputs[k].isTensor() && !(pointers[k] = place(inputs[k])))
      return false;
  for (size_t k = 0; k < outputs.size(); ++k) {
    deviceOutputs.push_back(deviceMemory.size());
    if (!(results[k] = place(outputs[k])))
      return false;
  }
  // A copy may return before its last bytes have arrived, and the kernels' stream does not wait for it.
  if (!isGood(device->wait()))
    return false;
  cudaExec = {sizeof cudaExec, kAbiVersion, device->stream(), nullptr, nullptr, kernel->cudaWorkspaceBytes(sizes)};
  if (!cudaExec.workspace_bytes)
    return true;
  auto memory = device->allocate(cudaExec.workspace_bytes);
  if (!memory)
    return isGood(memory.takeError());
  deviceMemory.push_back(std::move(*memory));
  cudaExec.workspace = deviceMemory.back().data();
  return true;
}

bool Execution::launch() {
  int status = kernel->run(pointers, results, sizes, cudaExec);
  if (status == 0 && asksForBoxes && !skewer_cuda_box_kernels()) {
    sayError(fmt::format("kernel '{}': copies=tma is asked for, but no tensor map could be made, and the kernel ran whose "
                         "threads copy",
                         name));
    return false;
  }
  if (status == 0)
    return true;
  sayError(fmt::format("kernel '{}' returned status {}: {}: {}", name, status, statusText(status, kernelPlan),
                       skewer_cuda_error()));
  return false;
}

bool Execution::runOnDevice() {
  if (!launch() || !isGood(device->wait()))
    return false;
  for (size_t k = 0; k < outputs.size(); ++k)
    if (!isGood(device->copyFrom(deviceMemory[deviceOutputs[k]], outputs[k].data(), outputs[k].size())))
      return false;
  return true;
}

std::optional<double> Execution::time(int64_t calls) {
  bool isLaunched = true;
  auto seconds = device->time([&]() -> llvm::Error {
    for (int64_t k = 0; k < calls && isLaunched; ++k)
      isLaunched = launch();
    return llvm::Error::success();
  });
  if (!seconds)
    return isGood(seconds.takeError()), std::nullopt;
  if (!isLaunched)
    return std::nullopt;
  return *seconds / static_cast<double>(calls);
}

} // namespace skewer::driver
