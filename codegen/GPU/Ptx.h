// From a GPU module of the NVVM dialect to PTX text.
#pragma once
#include "codegen/GPU/GpuTarget.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <string>

namespace skewer::gpu {

/// Dialects and translations that the GPU target needs; to be appended to a context before it is used for one.
void registerGpuTarget(mlir::DialectRegistry &);

/// The PTX of the module's kernels by LLVM's code generator (`gpu-module-to-binary`, format isa). Neither CUDA nor a
/// GPU is needed. The GPU module becomes a `gpu.binary`. `optimized` sees LLVM's IR before the code generator does.
llvm::Expected<std::string> ptxOf(mlir::ModuleOp, const GpuTarget &,
                                  llvm::function_ref<void(llvm::Module &)> optimized = {});

/// Whether a call is one of all lanes of a warp together, so that no pass may move it to where only some of them come.
bool needsWholeWarp(const llvm::CallBase &);

} // namespace skewer::gpu
