// Builds one program for one GPU: chooses a tile that fits, and makes its PTX and its cubin. `skewer compile` and
// `skewer explain` call this.
#pragma once
#include "codegen/GPU/Assemble.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Gpu/GpuLaunch.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer::gpu {

struct GpuCode {
  GpuTarget target;
  GpuProgram program;
  KernelPlan plan;
  std::string nvvm;      // the final IR, for people
  std::string scheduled; // the module with its schedules, if the caller's lowering keeps it
  std::string ptx, cubin;
  Resources resources; // of the cubin: the maximum of registers, the sum of spills
};

/// Returns the module in the NVVM dialect with the schedule's candidate of this rank; null after a diagnostic.
using LowerWithRank = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(int64_t rank)>;

/// Spilled bytes, stored and loaded, that a kernel is kept with if its warpgroups move registers to each other: a few
/// values in all such kernels that were looked at, which are held across the loop over keys or in a path that is seldom
/// taken. On an H200 they cost less than the next smaller tile.
constexpr int64_t kFewSpilledBytes = 64;

/// Tries the cost model's candidates in their order until one fits the target's shared memory and, according to ptxas,
/// its registers without spills, and loses no speed (Resources::losses). If all that fit lose some, takes the first of
/// them. If none fits, builds without a candidate (rank -1: by rows, with or without spills).
/// If `ptxas` is empty, makes PTX alone and relies on the model's estimate of registers. No value after a diagnostic;
/// an error with the kernel's name and bytes if nothing fits.
llvm::Expected<std::optional<GpuCode>> buildFor(const GpuTarget &, llvm::StringRef ptxas, LowerWithRank);

/// Returns a kernel's manifest with the entry `gpu`: for each target its kernels in the order in which they run, and
/// its files.
std::string addGpuTargets(llvm::StringRef manifest, llvm::ArrayRef<GpuCode>);

} // namespace skewer::gpu
