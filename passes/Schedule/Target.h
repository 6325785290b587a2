// The description of the processor for which code is generated. The cost model reads it.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace skewer {

/// The numbers of a machine file (docs/machines.md). `machineFields` lists their names in the file, units and ranges.
struct Target {
  std::string name;          // "zen4", "cascadelake", "x86-64-v3", …
  std::string cpu, features; // for LLVM's code generator
  int64_t lanes = 16;        // f32 lanes of a vector
  int64_t registers = 32;    // vector registers
  double fmaPerCycle = 2;    // vector FMAs
  double addPerCycle = 0;    // vector additions on separate pipes; 0 if additions use the pipes of the FMAs
  double fmaLatency = 4;     // cycles until an FMA can take the result of another
  double loadsPerCycle = 2;  // vectors from L1; a broadcast counts as one
  int64_t l1Bytes = 32 << 10, l2Bytes = 1 << 20;
  double l2Rate = 45, l3Rate = 20; // bytes per cycle that one core gets from L2, and from beyond L2
  double exposedTraffic = 0.5;     // share of the time of traffic between caches that arithmetic does not hide
  double bf16DotsPerCycle = 0;     // vectors of sums of pairs of products of bf16; 0: tiles do not use them
  double int8DotsPerCycle = 0;     // vectors of sums of four products of i8; 0: they are not used
  double tileStepsPerCycle = 0;    // of 16 x 16 sums in AMX's tiles, a step of 32 bits; 0: they are not used
  double gatherCycles = 1.9;       // cycles of one element of a gather, with the arithmetic of its index
  double gigahertz = 3;            // for predictions only
  double memoryRate = 5;           // GB/s from memory for each core when all work; for predictions only
  std::string file;                // the machine file that it was read from; empty for targets that come with Skewer

  /// Returns whether additions have pipes of their own next to those of the FMAs.
  bool separateAdd() const { return addPerCycle > 0; }
  /// Returns the peak of a core in f32, in FLOP/s.
  double peak() const { return 2.0 * static_cast<double>(lanes) * fmaPerCycle * gigahertz * 1e9; }
  /// Returns the name by which `findTarget` finds the target.
  const std::string &spelling() const { return file.empty() ? name : file; }
};

/// Returns whether LLVM may use a feature of x86-64, by LLVM's name ("avx512bf16"), in code for the target.
bool hasFeature(const Target &, llvm::StringRef feature);
/// Returns whether kernels multiply with AMX's tiles although the target has no such instructions. Functions of
/// codegen/Amx do the same then, for tests.
bool emulatesTiles(const Target &);

/// Returns the targets that come with Skewer. The first is the default if the host is not recognised.
llvm::ArrayRef<Target> knownTargets();
/// Returns the target of this name; nothing if unknown. "host" is the machine on which this runs, and a name that ends
/// in .json is a machine file.
std::optional<Target> findTarget(llvm::StringRef name);
/// Returns the same target. The error names the problem in the file, or says that the name is unknown.
llvm::Expected<Target> readTarget(llvm::StringRef name);
/// Returns whether the name of a target is the path of a machine file.
inline bool isMachineFile(llvm::StringRef name) { return name.ends_with(".json"); }
/// Returns the description of the machine on which this runs, from its CPU name, feature flags and caches.
Target hostTarget();

} // namespace skewer
