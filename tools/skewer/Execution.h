// A kernel in this process with its operands: what `run` and `bench` call.
#pragma once
#include "codegen/ABI/Emit.h"
#include "tools/skewer/Inputs.h"
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

  const KernelPlan &plan() const { return kernelPlan; }
  /// Packs the operands and plans memory for them. False after a diagnostic.
  bool bind(const Operands &, ThreadPool &);
  /// Calls the kernel once; false after a diagnostic.
  bool run();
  /// A result's elements; all NaN before the first run.
  const void *result(size_t number = 0) const { return outputs[number].data(); }
  /// Its values in float64.
  Array resultArray(size_t number = 0) const;
  uint64_t workspaceBytes() const { return exec.workspaceBytes; }
  /// Useful FLOPs of one call with these sizes.
  double flops() const { return usefulWork; }

private:
  std::string name;
  KernelPlan kernelPlan;
  std::unique_ptr<JitKernel> kernel;
  mlir::OwningOpRef<mlir::ModuleOp> counted; // level 3, for counting FLOPs
  std::vector<Buffer> inputs, outputs;
  Buffer workspace;
  std::vector<const void *> pointers;
  std::vector<void *> results;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> outputShapes;
  Exec exec;
  double usefulWork = 0;
};

/// The kernels that --kernel leaves; for `one`, an error if that is not one. Empty after a diagnostic.
std::vector<const Kernel *> chooseKernels(const Compilation &, const std::string &name, bool one);

} // namespace skewer::driver
