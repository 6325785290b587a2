// A kernel with its operands, compiled for this process or for this machine's GPU. `run`, `bench`, the fuzzers and the
// tests call it. It hides from them whether the kernel runs on the processor or on a GPU.
#pragma once
#include "codegen/ABI/Emit.h"
#include "codegen/Compiler/Compiler.h"
#include "tools/skewer/Device.h"
#include "tools/skewer/Inputs.h"
#include "tools/skewer/Options.h"
#include "tools/skewer/ThreadPool.h"

namespace skewer::driver {

class Execution {
public:
  /// Selects what is compiled: the layer fused and scheduled, the layer by the generic path, or attention of the same
  /// sizes without positions.
  enum class Form { Fused, Unfused, Plain };
  /// Compiles for the host. Returns null after a diagnostic; for Plain also, without a diagnostic, if the layer does
  /// not fuse.
  static std::unique_ptr<Execution> create(Compilation &, const Kernel &, Form);

  /// Compiles for a GPU of this machine: `target` names it, or is "gpu" for any. Returns null after a diagnostic.
  /// Without ptxas the GPU's driver compiles the PTX.
  static std::unique_ptr<Execution> createForGpu(Compilation &, const Kernel &, Device &, const Options &);

  const KernelPlan &plan() const { return kernelPlan; }
  /// Returns level 3 of the compiled module (for the unfused form, of the fused one); not for a GPU.
  mlir::ModuleOp scheduled() const { return *counted; }
  bool isOnGpu() const { return device != nullptr; }
  /// Returns the name of the code that calls run, if the kernel has several; otherwise an empty text.
  const std::string &code() const { return chosenCode; }
  /// Returns " (not emeraldrapids/amx: this processor has no AMX)" if another code than the first one runs because of
  /// the tiles; otherwise an empty text.
  std::string whyNotFirst() const;
  /// Returns the target of the code that calls run.
  const Target &target() const { return chosenTarget; }
  /// Counts FLOPs in the layer at the lengths that are run. Does nothing if the layer has no lengths. Returns false
  /// after a diagnostic.
  bool countAsIn(Compilation &, const Kernel &);
  /// Packs the operands and plans memory for them. Returns false after a diagnostic.
  bool bind(const Operands &, ThreadPool &);
  /// Computes now what depends on `const` operands only, so that calls do not compute it. Valid only after `bind`, on
  /// the processor. Returns false after a diagnostic.
  bool prepare();
  /// Binds the operands and calls the kernel once. With `isPrepared`, calls `prepare` first, or prints a note if there
  /// is nothing to prepare.
  bool start(const Operands &, ThreadPool &, bool isPrepared);
  /// Calls the kernel once and, on a GPU, copies the results back. Returns false after a diagnostic.
  bool run();
  /// Queues `calls` runs on the GPU and returns the seconds of one run. Nothing after a diagnostic.
  std::optional<double> time(int64_t calls);
  /// Returns the elements of a result; all are NaN before the first run.
  const void *result(size_t number = 0) const { return outputs[number].data(); }
  /// Returns the bytes of the result.
  llvm::ArrayRef<char> resultBytes(size_t number) const {
    return {static_cast<const char *>(outputs[number].data()), outputs[number].size()};
  }
  /// Returns the values of the result in float64.
  Array resultArray(size_t number = 0) const;
  /// Returns the operands that the kernel reads, in the plan's order; none before `bind`.
  llvm::ArrayRef<Buffer> operands() const { return inputs; }
  uint64_t workspaceBytes() const { return device ? cudaExec.workspace_bytes : exec.workspaceBytes; }
  /// Returns the useful FLOPs of one call with the bound sizes.
  double flops() const { return usefulWork; }

private:
  bool isDone(int status) const;
  void keepChosen(ModuleInProcess &);
  bool bindToDevice();
  bool launch();
  bool runOnDevice();
  /// Returns true if there is no error; otherwise prints it.
  bool isGood(llvm::Error) const;

  std::string name;
  KernelPlan kernelPlan;
  std::unique_ptr<JitKernel> kernel;
  std::string chosenCode, firstCode; // of those that are tried in turn
  TileUse firstTiles = TileUse::None;
  Target chosenTarget;
  mlir::OwningOpRef<mlir::ModuleOp> counted; // level 3, used to count FLOPs
  std::vector<Buffer> inputs, outputs;
  Buffer workspace, prepared; // prepared: empty unless `prepare` was called
  std::vector<const void *> pointers;
  std::vector<void *> results;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> outputShapes;
  Exec exec;
  double usefulWork = 0;

  Device *device = nullptr; // null: the processor
  bool asksForBoxes = false; // a call that copies no boxes of tensors is an error: another kernel has run
  std::vector<Device::Memory> deviceMemory;
  std::vector<size_t> deviceOutputs; // positions of the outputs in deviceMemory
  skewer_cuda_exec cudaExec = {};
};

/// Opens this machine's GPU; null after a message that says why there is none.
std::unique_ptr<Device> openDevice();

/// Returns the kernels that --kernel selects. With `one`, any number other than one is an error. Empty after a
/// diagnostic.
std::vector<const Kernel *> chooseKernels(const Compilation &, const std::string &name, bool one);

/// Returns the options for one of several kernels: only the files, sizes and origins that the kernel has. Entries that
/// none of the chosen kernels has stay, so that a later error reports them.
Options optionsOf(const Kernel &, llvm::ArrayRef<const Kernel *> chosen, const Options &);

} // namespace skewer::driver
