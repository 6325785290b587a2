// A kernel with its operands, in this process or on this machine's GPU: what `run` and `bench` call.
#pragma once
#include "codegen/ABI/Emit.h"
#include "tools/skewer/Device.h"
#include "tools/skewer/Inputs.h"
#include "tools/skewer/Options.h"
#include "tools/skewer/Session/Compilation.h"
#include "tools/skewer/ThreadPool.h"

namespace skewer::driver {

class Execution {
public:
  /// What is compiled: the layer fused and scheduled, the layer by the generic path, or attention of its sizes without
  /// positions.
  enum class Form { Fused, Unfused, Plain };
  /// Compiles for the host. Null after a diagnostic; for Plain also, without one, where the layer does not fuse.
  static std::unique_ptr<Execution> create(Compilation &, const Kernel &, Form);

  /// Compiles for a GPU of this machine: `target`, or "gpu" for whatever it is. Null after a diagnostic. Without ptxas
  /// the GPU's driver compiles the PTX.
  static std::unique_ptr<Execution> createForGpu(Compilation &, const Kernel &, Device &, const Options &);

  const KernelPlan &plan() const { return kernelPlan; }
  /// Level 3 of what is compiled, except for a GPU; of the unfused form that of the fused one.
  mlir::ModuleOp scheduled() const { return *counted; }
  bool isOnGpu() const { return device != nullptr; }
  /// Counts FLOPs in the layer of the lengths that are run: nothing to do where there are none. False after a
  /// diagnostic.
  bool countAsIn(Compilation &, const Kernel &);
  /// Packs the operands and plans memory for them. False after a diagnostic.
  bool bind(const Operands &, ThreadPool &);
  /// Makes what `const` operands alone determine, now; calls find it made. Only after `bind`, on the processor; false
  /// after a diagnostic.
  bool prepare();
  /// Binds the operands and calls the kernel once; with `isPrepared` after `prepare`, or after a note where there is
  /// nothing to prepare.
  bool start(const Operands &, ThreadPool &, bool isPrepared);
  /// Calls the kernel once; false after a diagnostic. From a GPU the results are copied back.
  bool run();
  /// On a GPU: queues `calls` runs, and says how many seconds one took. Nothing after a diagnostic.
  std::optional<double> time(int64_t calls);
  /// A result's elements; all NaN before the first run.
  const void *result(size_t number = 0) const { return outputs[number].data(); }
  /// Its values in float64.
  Array resultArray(size_t number = 0) const;
  /// What the kernel reads, operand by operand, in the plan's order; empty before `bind`.
  llvm::ArrayRef<Buffer> operands() const { return inputs; }
  uint64_t workspaceBytes() const { return device ? cudaExec.workspace_bytes : exec.workspaceBytes; }
  /// Useful FLOPs of one call with these sizes.
  double flops() const { return usefulWork; }

private:
  bool isDone(int status) const;
  bool bindToDevice();
  bool launch();
  bool runOnDevice();
  /// True where there is no error; else says it.
  bool isGood(llvm::Error) const;

  std::string name;
  KernelPlan kernelPlan;
  std::unique_ptr<JitKernel> kernel;
  mlir::OwningOpRef<mlir::ModuleOp> counted; // level 3, for counting FLOPs
  std::vector<Buffer> inputs, outputs;
  Buffer workspace, prepared; // prepared: empty unless `prepare` was called
  std::vector<const void *> pointers;
  std::vector<void *> results;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> outputShapes;
  Exec exec;
  double usefulWork = 0;

  Device *device = nullptr; // null: the processor
  std::vector<Device::Memory> deviceMemory;
  std::vector<size_t> deviceOutputs; // where the outputs are in it
  skewer_cuda_exec cudaExec = {};
};

/// This machine's GPU; null after a message that says why there is none.
std::unique_ptr<Device> openDevice();

/// The kernels that --kernel leaves; for `one`, an error if that is not one. Empty after a diagnostic.
std::vector<const Kernel *> chooseKernels(const Compilation &, const std::string &name, bool one);

/// What one of several kernels is told: the files, sizes and origins that it has. Those that none of them has stay, for
/// the error that says so.
Options optionsOf(const Kernel &, llvm::ArrayRef<const Kernel *> chosen, const Options &);

} // namespace skewer::driver
