// The GPUs that the cost model knows: the rates of one multiprocessor of a target, and the devices of the target. Each
// GPU is a file in passes/Schedule/Gpus, with a unit and a source for every number.
#pragma once
#include "passes/Schedule/Machine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skewer::gpu {

/// The most registers of a thread, on every target here (CUDA C++ Programming Guide, technical specifications).
constexpr int64_t kMostRegisters = 255;

/// The name of an engine in schedules ("mma_sync"), and its rate for dense products of f16 or bf16 with sums of f32.
struct EngineRate {
  std::string engine;
  double flops = 0; // per clock
};

/// One multiprocessor of a target.
struct GpuMachine {
  std::string target;                            // the name that ptxas uses ("sm_80")
  int64_t sharedBytes = 0, blockSharedBytes = 0; // of a multiprocessor; the most of one block
  int64_t warps = 0, blocks = 0;                 // the most that are resident at once
  int64_t registers = 0;                         // of 32 bits
  // Rates per clock; operations are counted per thread:
  double specials = 0;      // ex2 and other functions of the special function units
  double floats = 0;        // additions, multiplications, multiply-adds of f32
  double integers = 0;      // integer and bit operations, maxima, comparisons, conversions
  double issued = 0;        // instructions of any kind
  double sharedTraffic = 0; // bytes to and from shared memory, shuffles too
  double l2Traffic = 0;     // bytes from the second-level cache
  double stepLatency = 0;   // clocks of a step that other work of the same warp does not hide
  std::vector<EngineRate> engines;

  /// Returns the rate of an engine; 0 if the machine does not have it.
  double engineFlops(llvm::StringRef engine) const;
};

using GpuMachineField = NumberField<GpuMachine>;
/// Returns the numbers in the order of the file.
llvm::ArrayRef<GpuMachineField> gpuMachineFields();

/// A device that can be bought, for predictions.
struct GpuDevice {
  std::string name;
  int64_t processors = 0;
  double gigahertz = 0;  // boost
  double memoryRate = 0; // GB/s
};

/// A file: the targets that it describes, which differ only in their names, and the devices that run their code.
struct GpuDescription {
  std::vector<std::string> targets;
  GpuMachine machine;
  std::vector<GpuDevice> devices;
};
/// Parses a GPU file. Errors are `MachineError`s.
llvm::Expected<GpuDescription> parseGpuDescription(llvm::StringRef text, llvm::StringRef file);
/// Returns the files that come with Skewer.
llvm::ArrayRef<MachineText> gpuMachineTexts();

llvm::ArrayRef<GpuMachine> knownGpuMachines();
std::optional<GpuMachine> findGpuMachine(llvm::StringRef target);
/// Returns the devices that run the code of the target.
std::vector<GpuDevice> gpuDevicesOf(llvm::StringRef target);

/// The number of blocks that are resident on a multiprocessor at once, and the limit that determines it.
struct Occupancy {
  int64_t blocks = 0, warps = 0;
  std::string limit; // "registers", "shared memory", "warps", "blocks"
};
/// Returns the occupancy for blocks of this size. `registers` is the number of registers of a thread; 0 if unknown,
/// then registers are not a limit.
Occupancy occupancyOf(const GpuMachine &, int64_t threads, int64_t registers, int64_t sharedBytes);

/// The fields of a schedule that the caller pins. The cost model chooses fields that are 0 or empty.
struct GpuRequest {
  std::string target = "sm_80";
  int64_t rows = 0, keys = 0, stages = 0;
  std::optional<bool> keepQueries;
  int64_t columns = 0, warpRows = 0, keyParts = 0;
  std::string engine; // its name; empty: any that the target has
  std::string copies; // how producers copy regular rows; empty: by cp.async
  /// The number of the candidate to use, from 0: the next one if the one before did not assemble without spills. -1: no
  /// candidate; attentions are computed row by row.
  int64_t rank = 0;
  bool pinsTile() const {
    return rows || keys || stages || keepQueries || columns || warpRows || keyParts || !engine.empty() ||
           !copies.empty();
  }
};
/// Attribute of a scheduled module: the number of candidates, for the attention that has the most.
constexpr llvm::StringLiteral kGpuCandidates = "attn.gpu_candidates";

} // namespace skewer::gpu
