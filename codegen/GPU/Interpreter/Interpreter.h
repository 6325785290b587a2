// Runs a kernel of the final NVVM dialect on the CPU, block by block. The unit tests and the fuzzers call it, to check
// the GPU target on machines without a GPU. Values follow the PTX ISA. Races, wrong accesses and bank conflicts are
// reported with their operation.
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
  /// Returns a buffer that the launch does not initialise; `launch` copies it to `data` at the end.
  static LaunchArgument output(void *data, size_t bytes, std::string name);
  static LaunchArgument number(int64_t value);
  /// Returns the 128 bytes of a tensor map, which the kernel takes by value (llvm.byval). `map.address` counts from the
  /// beginning of the buffer that is argument `buffer` of the same launch. On a GPU the driver makes these bytes, in
  /// its own format (cuTensorMapEncodeTiled); here `encode` of TensorMap.h makes them.
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
  unsigned grid = 1, threads = 32; // the number of blocks; the threads of a block, a multiple of 32
  size_t sharedBytes = 0;
  /// The seed of the order in which warps run and copies arrive, for kernels whose warps wait for each other by more
  /// than barriers of the whole block. Only some orders may show a mistake, so launch a kernel with several seeds.
  unsigned seed = 0;
};

/// Runs `kernel`, which is in the LLVM and NVVM dialects, and returns its faults. If it has an operation that the
/// interpreter does not know, nothing runs and the fault is of kind Unsupported.
Report launch(mlir::LLVM::LLVMFuncOp kernel, const LaunchShape &, llvm::ArrayRef<LaunchArgument>);

struct KernelLaunch {
  mlir::LLVM::LLVMFuncOp kernel;
  LaunchShape shape;
  std::vector<LaunchArgument> maps = {}; // arguments of this kernel behind those of all kernels: tensor maps
};
/// Runs kernels one after another with the same arguments, and the maps of each. Each may read what the previous ones
/// have written. After the first kernel with a fault no other kernel runs.
Report launch(llvm::ArrayRef<KernelLaunch>, llvm::ArrayRef<LaunchArgument>);

} // namespace skewer::gpu
