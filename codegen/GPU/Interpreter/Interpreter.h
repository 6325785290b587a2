// Runs a kernel of the final NVVM dialect on the CPU, block by block. It checks the GPU target where there is no GPU.
// Values follow the PTX ISA; races, wrong accesses and bank conflicts are reported with their operation.
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
  /// A buffer that is not initialised before; `launch` copies it to `data` afterwards.
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
  unsigned grid = 1, threads = 32; // number of blocks; threads of a block, a multiple of 32
  size_t sharedBytes = 0;
};

/// Runs `kernel`, which is in the LLVM and NVVM dialects. An operation that the interpreter does not know is a fault of
/// kind Unsupported, and then nothing runs.
Report launch(mlir::LLVM::LLVMFuncOp kernel, const LaunchShape &, llvm::ArrayRef<LaunchArgument>);

struct KernelLaunch {
  mlir::LLVM::LLVMFuncOp kernel;
  LaunchShape shape;
};
/// Runs kernels one after another with the same arguments. Each may read what the previous ones have written. After the
/// first kernel with a fault no other kernel runs.
Report launch(llvm::ArrayRef<KernelLaunch>, llvm::ArrayRef<LaunchArgument>);

} // namespace skewer::gpu
