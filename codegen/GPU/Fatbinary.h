// Fat binaries: the cubins and the PTX of several GPUs in one file, by NVIDIA's own tool.
#pragma once
#include "codegen/GPU/Build.h"

namespace skewer::gpu {

/// The path of fatbinary: in `cudaPath`, else beside ptxas, else on PATH. The error says what to install.
llvm::Expected<std::string> findFatbinary(llvm::StringRef cudaPath);

/// One kernel's code for all GPUs, as cuModuleLoadFatBinary takes it. The error holds what the tool said.
llvm::Expected<std::string> fatbinOf(llvm::ArrayRef<GpuCode>, llvm::StringRef fatbinary);

} // namespace skewer::gpu
