// One program for one GPU: the tile that fits, its PTX and its cubin.
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
  std::string scheduled; // the module with its schedules, if whoever lowers it keeps it
  std::string ptx, cubin;
  Resources resources; // of the cubin: the most registers, the sum of what is spilled
};

/// The module in the NVVM dialect with the schedule's candidate of this rank, or null after a diagnostic.
using LowerWithRank = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(int64_t rank)>;

/// Takes the cost model's candidates in their order until one fits into the target's shared memory and, by ptxas, into
/// its registers without spills; where none does, none of them (rank -1: by rows, with
/// spills or without). `ptxas` empty: PTX alone, and the model's guess of registers stands. No value after a
/// diagnostic; an error where none fits, with the kernel's name and bytes.
llvm::Expected<std::optional<GpuCode>> buildFor(const GpuTarget &, llvm::StringRef ptxas, LowerWithRank);

/// A kernel's manifest with `gpu` in it: for each target its kernels in the order in which they run, and its files.
std::string addGpuTargets(llvm::StringRef manifest, llvm::ArrayRef<GpuCode>);

} // namespace skewer::gpu
