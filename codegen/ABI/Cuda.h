// A kernel's entries for NVIDIA GPUs: NAME_cuda and its companions. They pass a description of the kernel, with its
// code as constant data, to codegen/Runtime/skewer_cuda.c. `skewer compile` and the in-process kernels (Jit.cpp) add
// them.
#pragma once
#include "codegen/ABI/Layout.h"
#include "passes/Gpu/GpuLaunch.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>
#include <string>
#include <vector>

namespace skewer {

/// The code for one GPU: the image that the device loads, and its kernels in the order in which they run.
struct CudaImage {
  std::string target;     // "sm_90a"
  std::string cubin, ptx; // at least one of the two
  std::vector<gpu::GpuLaunch> launches;
  SizeExpression workspaceBytes;
  // The size of the memory for results that depend only on `const` operands. Launches that prepare write this memory.
  int64_t preparedBytes = 0;
};

/// The compute capability in a target's name (90 in "sm_90a"), and whether the code runs only on GPUs of exactly that
/// capability.
struct Capability {
  uint32_t number = 0;
  bool isExact = false;
};
Capability capabilityOf(llvm::StringRef target);
/// Returns the first driver version that reads this PTX, as cuDriverGetVersion counts (12000 for CUDA 12.0). Source:
/// PTX ISA, release notes.
uint32_t firstDriverOf(llvm::StringRef ptx);

/// Adds NAME_cuda, NAME_cuda_workspace_bytes, NAME_cuda_prepare and NAME_cuda_unload to a module that is ready to be
/// emitted. If the plan has `const` operands, also adds NAME_cuda_prepared_bytes, NAME_cuda_prepare_const and
/// NAME_cuda_prepared. Errors if the plan has no C interface, or more arguments than a launch can take. `argsVersion`
/// is the version that an argument struct must state (`argsVersionOf` of Emit.h).
llvm::Error addCudaEntries(llvm::Module &, const KernelPlan &, llvm::ArrayRef<CudaImage>, uint32_t argsVersion);
/// Returns a module with only these entries and NAME_info, for any x86-64 processor.
llvm::Expected<std::unique_ptr<llvm::Module>> cudaModule(const KernelPlan &, llvm::ArrayRef<CudaImage>,
                                                         llvm::StringRef info, llvm::LLVMContext &, uint32_t argsVersion);

/// Returns the header of a kernel for GPUs alone.
std::string cudaHeaderText(const KernelPlan &, llvm::StringRef specHash, llvm::ArrayRef<CudaImage>);
/// Write parts of a header: the declarations that all GPU kernels share, an example, the entries.
void writeCudaShared(llvm::raw_ostream &);
void writeCudaExample(llvm::raw_ostream &, llvm::StringRef name);
void writeCudaEntries(llvm::raw_ostream &, const KernelPlan &, llvm::ArrayRef<CudaImage>);

} // namespace skewer
