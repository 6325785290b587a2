// How a lowered GPU program is launched: what its caller, the manifest and the interpreter must know.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <map>

namespace skewer::gpu {
class GpuBuilder;

/// One kernel of a program.
struct GpuLaunch {
  std::string kernel;                     // its symbol
  std::string title;                      // what it does: "attention", "matmul", "elementwise", …
  int64_t threads = 128, sharedBytes = 0; // of a block; shared memory is dynamic
  SizeExpression blocks;                  // of the grid, one-dimensional
  int64_t rows = 0, keys = 0;             // an attention's tile; 0 where there is none
  std::string note;                       // why an attention is not fused
  bool prepares = false;                  // reads `const` inputs and prepared memory alone, writes to prepared memory
};

/// Of a kernel's function: its launch is one that `prepares`. In the order of the program such launches stand among the
/// others; a caller who has what they make leaves them out.
constexpr llvm::StringLiteral kPrepares = "attn.prepares";

/// How many blocks of `rows` a run-time extent is, as an expression like its name.
std::string blocksOf(llvm::StringRef extent, int64_t rows);

/// The kernels of a GPU module in the order in which they run, on one stream. All of them take the same arguments:
/// pointers to the inputs, then to the outputs (memory of the device, multiples of 16 bytes), the workspace (a multiple
/// of 256 bytes; null where it has no size), prepared memory (likewise) where the module's `attn.plan` has some, then
/// as i64 each run-time size and each origin of a part, in the order of the plan. An input that is an origin or a
/// length is no pointer.
struct GpuProgram {
  std::string name;
  SizeExpression workspace; // bytes of the device's memory; its contents are lost between runs
  std::vector<GpuLaunch> launches;
};

/// As the attribute `attn.program` of the GPU module, an #attn.program. An error at the module says which of its
/// constraints (program_c1 to program_c5) it breaks; then nothing is stored.
llvm::LogicalResult attachProgram(mlir::gpu::GPUModuleOp, const GpuProgram &);
std::optional<GpuProgram> programOf(mlir::gpu::GPUModuleOp);

/// What a kernel is called with.
struct KernelArguments {
  std::vector<mlir::Value> inputs, outputs; // pointers; null where an input is an origin or a length
  mlir::Value workspace, prepared;        // the latter null where the plan has none
  std::map<std::string, mlir::Value> sizes;   // run-time sizes, i64
  std::map<std::string, mlir::Value> origins; // where a part begins, i64, by the input's name

  /// The i64 that an extent's name says: a size, or an expression of sizes.
  mlir::Value size(GpuBuilder &, llvm::StringRef name) const;
  /// The number that an input is which is no pointer; i64.
  mlir::Value number(const TensorArgument &) const;
};
KernelArguments argumentsOf(mlir::LLVM::LLVMFuncOp, const KernelPlan &);

/// The symbol of the blocks' shared memory, which is declared where it is not.
llvm::StringRef sharedMemory(mlir::gpu::GPUModuleOp);

/// Adds a kernel of this name with the arguments of the program to the module, with an empty body.
mlir::LLVM::LLVMFuncOp createKernel(mlir::OpBuilder &, mlir::Location, mlir::gpu::GPUModuleOp, const KernelPlan &,
                                    llvm::StringRef name, int64_t threads);

} // namespace skewer::gpu
