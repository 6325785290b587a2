// ptxas: from PTX to a cubin, and what it says about registers.
#pragma once
#include "codegen/GPU/GpuTarget.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace skewer::gpu {

/// What `ptxas -v` says about one kernel.
struct KernelResources {
  int64_t registers = 0, spilledBytes = 0;
};
/// … and about all kernels of a file: the most registers of one, the spills of all.
struct Resources {
  int64_t registers = 0;    // of a thread
  int64_t spilledBytes = 0; // stores and loads of registers that did not fit
  std::string warnings;     // its lines that warn
  std::map<std::string, KernelResources> kernels;
};

struct Assembled {
  std::string cubin;
  Resources resources;
};

/// The path of ptxas: in `cudaPath` (a toolkit's folder, "" if none is given), else where CUDA_HOME or CUDA_PATH say,
/// else the one that the build found, else on PATH. The error says what to install.
llvm::Expected<std::string> findPtxas(llvm::StringRef cudaPath);

/// Spills are not an error here: the caller may try a smaller tile.
llvm::Expected<Assembled> assemble(llvm::StringRef ptx, const GpuTarget &, llvm::StringRef ptxas);

/// "13.0" from what `ptxas --version` prints; "" where it says none.
std::string releaseOf(llvm::StringRef version);
/// Whether ptxas refused because it does not know the target, or its version of PTX.
bool isTooOld(llvm::StringRef output);

/// Reads what `ptxas -v` printed.
Resources resourcesOf(llvm::StringRef output);

} // namespace skewer::gpu
