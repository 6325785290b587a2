// Runs ptxas, which compiles PTX to a cubin and reports registers and spills. Build.h uses the report to choose tiles;
// `skewer explain` prints it.
#pragma once
#include "codegen/GPU/GpuTarget.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace skewer::gpu {

/// The report of `ptxas -v` about one kernel.
struct KernelResources {
  int64_t registers = 0, spilledBytes = 0;
};
/// The report about all kernels of a file.
struct Resources {
  int64_t registers = 0;    // of one thread: the maximum over the kernels
  int64_t spilledBytes = 0; // stores and loads of registers that did not fit: the sum over the kernels
  std::string warnings;     // the lines of the report with warnings
  std::string losses;       // those that say that ptxas lets asynchronous products run one after another, or does not
                            // move registers: the code is right, and slow
  std::map<std::string, KernelResources> kernels;
};

struct Assembled {
  std::string cubin;
  Resources resources;
};

/// Returns the path of ptxas: in `cudaPath` (a toolkit's folder, "" if none is given), else in CUDA_HOME or CUDA_PATH,
/// else the one that the build found, else on PATH. The error says what to install.
llvm::Expected<std::string> findPtxas(llvm::StringRef cudaPath);

/// Compiles PTX. Spills are not an error here, because the caller may try a smaller tile.
llvm::Expected<Assembled> assemble(llvm::StringRef ptx, const GpuTarget &, llvm::StringRef ptxas);

/// Returns "13.0" from the output of `ptxas --version`; "" if there is no release in it.
std::string releaseOf(llvm::StringRef version);
/// Returns whether ptxas refused because it does not know the target or its version of PTX.
bool isTooOld(llvm::StringRef output);

/// Reads the output of `ptxas -v`.
Resources resourcesOf(llvm::StringRef output);

} // namespace skewer::gpu
