// Runs a kernel of the final NVVM dialect on the CPU, block by block. It checks the GPU target where there is no GPU.
// Values follow the PTX ISA; races, wrong accesses and bank conflicts are reported with their operation.
#pragma once
#include "codegen/GPU/Interpreter/Machine.h"
#include "codegen/GPU/Interpreter/TensorMap.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skewer::gpu {

/// An argument of a kernel: a buffer in the device's memory, a number, or a tensor map.
struct LaunchArgument {
  static LaunchArgument input(const void *data, size_t bytes, std::string name);
  /// A buffer that is not initialised before; `launch` copies it to `data` afterwards.
  static LaunchArgument output(void *data, size_t bytes, std::string name);
  static LaunchArgument number(int64_t value);
  /// The 128 bytes of a tensor map, which the kernel takes by value (llvm.byval). `map.address` counts from the
  /// beginning of the buffer that is argument `buffer` of the same launch. On a GPU the driver makes these bytes, in
  /// its own format (cuTensorMapEncodeTiled); here `encode` of TensorMap.h does.
  static LaunchArgument tensorMap(const TensorMap &map, unsigned buffer);

  bool isBuffer = false, isOutput = false;
  const void *source = nullptr;
  void *sink = nullptr;
  size_t bytes = 0;
  int64_t value = 0;
  std::string name;
  std::optional<TensorMap> map;
  unsigned buffer = 0; // of the map
};

struct LaunchShape {
  unsigned grid = 1, threads = 32; // number of blocks; threads of a block, a multiple of 32
  size_t sharedBytes = 0;
  /// Of the order in which warps run and copies arrive, where a kernel's warps wait for each other by more than
  /// barriers of the whole block. A wrong kernel may be caught in some orders only: launch it with several seeds.
  unsigned seed = 0;
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
