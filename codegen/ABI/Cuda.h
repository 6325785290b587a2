// A kernel's entries for NVIDIA GPUs: NAME_cuda and its like, which hand a description of the kernel, with its code as
// constant data, to codegen/Runtime/skewer_cuda.c.
#pragma once
#include "codegen/ABI/Layout.h"
#include "passes/Gpu/GpuLaunch.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>
#include <string>
#include <vector>

namespace skewer {

/// The code for one GPU: what the device loads, and the kernels in it in the order in which they run.
struct CudaImage {
  std::string target;     // "sm_90a"
  std::string cubin, ptx; // one of them at least
  std::vector<gpu::GpuLaunch> launches;
  SizeExpression workspaceBytes;
  int64_t preparedBytes = 0; // what `const` operands alone determine; launches that prepare write there
};

/// The number in the target's name (90 of "sm_90a"), and whether its code is for GPUs of that number alone.
struct Capability {
  uint32_t number = 0;
  bool isExact = false;
};
Capability capabilityOf(llvm::StringRef target);
/// The first driver that reads this PTX, as cuDriverGetVersion counts (12000 for CUDA 12.0): PTX ISA, release notes.
uint32_t firstDriverOf(llvm::StringRef ptx);

/// Adds NAME_cuda, NAME_cuda_workspace_bytes, NAME_cuda_prepare and NAME_cuda_unload to a module that is ready to be
/// emitted; of a plan with `const` operands NAME_cuda_prepared_bytes, NAME_cuda_prepare_const and NAME_cuda_prepared
/// too. Errors where the plan has no C interface, or more arguments than a launch can take. `argsVersion`: what an
/// argument struct has to say (`argsVersionOf` of Emit.h).
llvm::Error addCudaEntries(llvm::Module &, const KernelPlan &, llvm::ArrayRef<CudaImage>, uint32_t argsVersion);
/// A module with these entries and NAME_info alone, for any x86-64 processor.
llvm::Expected<std::unique_ptr<llvm::Module>> cudaModule(const KernelPlan &, llvm::ArrayRef<CudaImage>,
                                                         llvm::StringRef info, llvm::LLVMContext &, uint32_t argsVersion);

/// The header of a kernel for GPUs alone.
std::string cudaHeaderText(const KernelPlan &, llvm::StringRef specHash, llvm::ArrayRef<CudaImage>);
/// Parts of a header: what all GPU kernels share, an example, the entries.
void writeCudaShared(llvm::raw_ostream &);
void writeCudaExample(llvm::raw_ostream &, llvm::StringRef name);
void writeCudaEntries(llvm::raw_ostream &, const KernelPlan &, llvm::ArrayRef<CudaImage>);

} // namespace skewer
