// Compiles a GPU module of the NVVM dialect to PTX text, with LLVM's code generator. Build.h calls it for each
// candidate tile.
#pragma once
#include "codegen/GPU/GpuTarget.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <string>

namespace skewer::gpu {

/// Registers the dialects and translations that the GPU target needs. Append them to a context before its first use.
void registerGpuTarget(mlir::DialectRegistry &);

/// Returns the PTX of the module's kernels from LLVM's code generator (`gpu-module-to-binary`, format isa). Neither
/// CUDA nor a GPU is needed. The GPU module becomes a `gpu.binary`. `optimized` is called with the LLVM IR before code
/// generation.
llvm::Expected<std::string> ptxOf(mlir::ModuleOp, const GpuTarget &,
                                  llvm::function_ref<void(llvm::Module &)> optimized = {});

/// Returns whether all lanes of a warp must make the call together. No pass may move such a call to a place that only
/// some lanes reach.
bool needsWholeWarp(const llvm::CallBase &);

} // namespace skewer::gpu
