// Makes fat binaries: one file with the cubins and the PTX for several GPUs. NVIDIA's own tool writes them. `skewer
// compile --fatbin` calls this.
#pragma once
#include "codegen/GPU/Build.h"

namespace skewer::gpu {

/// Returns the path of fatbinary: in `cudaPath`, else in the folder of ptxas, else on PATH. The error says what to
/// install.
llvm::Expected<std::string> findFatbinary(llvm::StringRef cudaPath);

/// Returns one kernel's code for all GPUs in the form that cuModuleLoadFatBinary takes. The error holds the tool's
/// output.
llvm::Expected<std::string> fatbinOf(llvm::ArrayRef<GpuCode>, llvm::StringRef fatbinary);

} // namespace skewer::gpu
