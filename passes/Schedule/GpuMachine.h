// The GPUs that the cost model knows: what one multiprocessor of a target does in a clock, and devices of the target.
// Each is a file in passes/Schedule/Gpus, with a unit and a source for every number.
#pragma once
#include "passes/Schedule/Machine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skewer::gpu {

/// Registers of a thread, at most: those of every target here (CUDA C++ Programming Guide, technical specifications).
constexpr int64_t kMostRegisters = 255;

/// What multiplies matrices, by the name that schedules have ("mma_sync"), and how fast: products of f16 or bf16 with
/// sums of f32, dense.
struct EngineRate {
  std::string engine;
  double flops = 0; // a clock
};

/// One multiprocessor, by the name that ptxas takes ("sm_80").
struct GpuMachine {
  std::string target;
  int64_t sharedBytes = 0, blockSharedBytes = 0; // of a multiprocessor; most of one block
  int64_t warps = 0, blocks = 0;                 // resident at once, at most
  int64_t registers = 0;                         // of 32 bits
  // In a clock; operations are those of a thread:
  double specials = 0;      // ex2 and other functions of the special function units
  double floats = 0;        // additions, multiplications, multiply-adds of f32
  double integers = 0;      // integer and bit operations, maxima, comparisons, conversions
  double issued = 0;        // instructions of any kind
  double sharedTraffic = 0; // bytes to and from shared memory, shuffles too
  double l2Traffic = 0;     // bytes from the second-level cache
  double stepLatency = 0;   // clocks of a step that nothing of its own warp hides
  std::vector<EngineRate> engines;

  /// 0: it has none such.
  double engineFlops(llvm::StringRef engine) const;
};

/// A number of a GPU's file. One of the two members is set.
struct GpuMachineField {
  llvm::StringLiteral name, unit;
  int64_t GpuMachine::*count;
  double GpuMachine::*rate;
};
/// In the order in which a file has them.
llvm::ArrayRef<GpuMachineField> gpuMachineFields();

/// A device that can be bought, for predictions.
struct GpuDevice {
  std::string name;
  int64_t processors = 0;
  double gigahertz = 0;  // boost
  double memoryRate = 0; // GB/s
};

/// A file: the targets that it describes, alike but for their names, and devices whose code is theirs.
struct GpuDescription {
  std::vector<std::string> targets;
  GpuMachine machine;
  std::vector<GpuDevice> devices;
};
/// Errors say "FILE: …", with the member's path and what was expected.
llvm::Expected<GpuDescription> parseGpuDescription(llvm::StringRef text, llvm::StringRef file);
/// The files that come with Skewer.
llvm::ArrayRef<MachineText> gpuMachineTexts();

llvm::ArrayRef<GpuMachine> knownGpuMachines();
std::optional<GpuMachine> findGpuMachine(llvm::StringRef target);
/// Devices whose code is that of the target.
std::vector<GpuDevice> gpuDevicesOf(llvm::StringRef target);

/// How many blocks are resident on a multiprocessor at once, and which of its limits that is.
struct Occupancy {
  int64_t blocks = 0, warps = 0;
  std::string limit; // "registers", "shared memory", "warps", "blocks"
};
/// `registers`: of a thread; 0 where they are not known, and then they limit nothing.
Occupancy occupancyOf(const GpuMachine &, int64_t threads, int64_t registers, int64_t sharedBytes);

/// What somebody asks of a schedule; what is 0, or nothing, is chosen.
struct GpuRequest {
  std::string target = "sm_80";
  int64_t rows = 0, keys = 0, stages = 0;
  std::optional<bool> keepQueries;
  int64_t columns = 0, warpRows = 0, keyParts = 0;
  /// Which of the candidates in their order, from 0: the next one where the one before did not assemble without spills.
  /// -1: none of them; attentions go by rows.
  int64_t rank = 0;
  bool pinsTile() const { return rows || keys || stages || keepQueries || columns || warpRows || keyParts; }
};
/// Attribute of a scheduled module: how many candidates there are, of the attention that has most.
constexpr llvm::StringLiteral kGpuCandidates = "attn.gpu_candidates";

} // namespace skewer::gpu
