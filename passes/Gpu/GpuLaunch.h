// Describes the launches of a lowered GPU program, for its caller, the manifest and the interpreter.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <map>

namespace skewer::gpu {
class GpuBuilder;

/// A tensor whose boxes a kernel copies by TMA. A launch makes a tensor map of it. Element (column, row, place) lies
/// `offset` + place × `placeBytes` + row × `rowBytes` bytes behind a pointer, and `column` elements further.
struct GpuTensorMap {
  unsigned argument = 0; // number of the kernels' argument that is the pointer
  SizeExpression offset; // bytes
  ElementType type = ElementType::F16;
  int64_t columns = 0;         // extents; what a box has beyond them becomes zeros
  SizeExpression rows, places; // likewise
  int64_t rowBytes = 0, placeBytes = 0;
  int64_t boxColumns = 0, boxRows = 0; // rows of a box are swizzled
};

/// One kernel of a program.
struct GpuLaunch {
  std::string kernel;                     // its symbol
  std::string title;                      // what it does: "attention", "matmul", "elementwise", …
  int64_t threads = 128, sharedBytes = 0; // of a block; shared memory is dynamic
  SizeExpression blocks;                  // number of blocks of the grid, which is one-dimensional
  int64_t rows = 0, keys = 0;             // tile of an attention; 0 for other kernels
  std::string note;                       // why an attention is not fused
  /// Another kernel that does the same, in as many blocks, by copies of boxes; empty: there is none. Behind the
  /// arguments of all kernels it takes a tensor map for each of `maps`, by value. It runs where all maps can be made.
  std::string boxKernel;
  std::vector<GpuTensorMap> maps;
  // Whether the kernel reads only `const` inputs and prepared memory, and writes to prepared memory.
  bool prepares = false;
};

/// Attribute of a kernel's function: its launch `prepares`. Such launches stand among the others in the order of the
/// program; a caller that has their results leaves them out.
constexpr llvm::StringLiteral kPrepares = "attn.prepares";

/// Returns the number of blocks of `rows` that a run-time extent needs, as an expression, like the extent's name.
std::string blocksOf(llvm::StringRef extent, int64_t rows);

/// The kernels of a GPU module in the order in which they run, on one stream. All kernels take the same arguments:
/// pointers to the inputs, then to the outputs (memory of the device, at multiples of 16 bytes), the workspace (at a
/// multiple of 256 bytes; null if it has no size), prepared memory (at a multiple of 256 bytes) if the module's
/// `attn.plan` has some, then as i64 each run-time size and each origin of a part, in the order of the plan. An input
/// that is an origin or a length has no pointer.
struct GpuProgram {
  std::string name;
  SizeExpression workspace; // bytes of the device's memory; its contents are lost between runs
  std::vector<GpuLaunch> launches;
};

/// Stores the program as the attribute `attn.program` of the GPU module, an #attn.program. If the program breaks a
/// constraint (program_c1 to program_c5), an error at the module names the constraint and nothing is stored.
llvm::LogicalResult attachProgram(mlir::gpu::GPUModuleOp, const GpuProgram &);
std::optional<GpuProgram> programOf(mlir::gpu::GPUModuleOp);

/// The arguments of a kernel, as values.
struct KernelArguments {
  std::vector<mlir::Value> inputs, outputs;   // pointers; null where an input is an origin or a length
  mlir::Value workspace, prepared;            // `prepared` is null if the plan has none
  std::map<std::string, mlir::Value> sizes;   // run-time sizes, i64
  std::map<std::string, mlir::Value> origins; // where a part begins, i64, by the input's name

  /// Returns the i64 of an extent's name: a size, or an expression of sizes.
  mlir::Value size(GpuBuilder &, llvm::StringRef name) const;
  /// Returns the number of an input that has no pointer; i64.
  mlir::Value number(const TensorArgument &) const;
};
KernelArguments argumentsOf(mlir::LLVM::LLVMFuncOp, const KernelPlan &);

/// Where shared memory begins, in bytes: at a multiple of a copied chunk, or of eight rows of 128 bytes, whose chunks
/// are permuted by their address.
constexpr int64_t kChunkAlignment = 16, kSwizzleAlignment = 1024;

/// Returns the symbol of the blocks' shared memory; declares it if it is not declared yet. It begins at a multiple of
/// `alignment`, at least.
llvm::StringRef sharedMemory(mlir::gpu::GPUModuleOp, int64_t alignment = kChunkAlignment);

/// Adds a kernel of this name to the module, with the arguments of the program, `maps` tensor maps behind them, and an
/// empty body. `mapsOf` returns the addresses of the maps.
mlir::LLVM::LLVMFuncOp createKernel(mlir::OpBuilder &, mlir::Location, mlir::gpu::GPUModuleOp, const KernelPlan &,
                                    llvm::StringRef name, int64_t threads, size_t maps = 0);
mlir::ValueRange mapsOf(mlir::LLVM::LLVMFuncOp, size_t maps);

} // namespace skewer::gpu
