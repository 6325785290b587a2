// Runs a kernel of the final NVVM dialect on the CPU, block by block: the judge of the GPU target where there is no
// GPU. Values are those of the PTX ISA; races, wrong accesses and bank conflicts are reported with their operation.
#pragma once
#include "codegen/GPU/Interpreter/Machine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace skewer::gpu {

/// An argument of a kernel: a buffer in the device's memory, or a number.
struct LaunchArgument {
  static LaunchArgument input(const void *data, size_t bytes, std::string name);
  /// Not initialised before; `launch` copies it to `data` afterwards.
  static LaunchArgument output(void *data, size_t bytes, std::string name);
  static LaunchArgument number(int64_t value);

  bool isBuffer = false, isOutput = false;
  const void *source = nullptr;
  void *sink = nullptr;
  size_t bytes = 0;
  int64_t value = 0;
  std::string name;
};

struct LaunchShape {
  unsigned grid = 1, threads = 32; // blocks; threads a block, a multiple of 32
  size_t sharedBytes = 0;
};

/// `kernel` stands in the LLVM and NVVM dialects. What the interpreter does not know is a fault of kind Unsupported,
/// and then nothing runs.
Report launch(mlir::LLVM::LLVMFuncOp kernel, const LaunchShape &, llvm::ArrayRef<LaunchArgument>);

struct KernelLaunch {
  mlir::LLVM::LLVMFuncOp kernel;
  LaunchShape shape;
};
/// Kernels one after another with the same arguments: what one has written the next may read. Behind the first one
/// with a fault none runs.
Report launch(llvm::ArrayRef<KernelLaunch>, llvm::ArrayRef<LaunchArgument>);

} // namespace skewer::gpu
