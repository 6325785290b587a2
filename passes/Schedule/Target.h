// A description of the processor that code is made for: what the cost model knows.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace skewer {

/// The numbers are those of a machine file (docs/machines.md): `machineFields` has their names there, units and ranges.
struct Target {
  std::string name;          // "zen4", "cascadelake", "x86-64-v3", …
  std::string cpu, features; // for LLVM's code generator
  int64_t lanes = 16;        // f32 lanes of a vector
  int64_t registers = 32;    // vector registers
  double fmaPerCycle = 2;    // vector FMAs
  double addPerCycle = 0;    // vector additions on pipes of their own; 0 where they take those of the FMAs
  double fmaLatency = 4;     // cycles until an FMA can take the result of another
  double loadsPerCycle = 2;  // vectors from L1; a broadcast counts as one
  int64_t l1Bytes = 32 << 10, l2Bytes = 1 << 20;
  double l2Rate = 45, l3Rate = 20; // bytes a cycle that one core gets from L2 and from what is behind it
  double exposedTraffic = 0.5;     // share of the time of traffic between caches that arithmetic does not hide
  double gatherCycles = 1.9;       // of one element of a gather, with the arithmetic of its index
  double gigahertz = 3;            // for predictions only
  double memoryRate = 5;           // GB/s from memory for each core when all work; for predictions only
  std::string file;                // the machine file that it was read from; empty for those that come with Skewer

  /// FADD has pipes of its own beside the FMAs.
  bool separateAdd() const { return addPerCycle > 0; }
  /// What `findTarget` finds it by.
  const std::string &spelling() const { return file.empty() ? name : file; }
};

/// Whether LLVM may use a feature of x86-64 (its name for it: "avx512bf16") in code for the target.
bool hasFeature(const Target &, llvm::StringRef feature);

/// The descriptions that come with Skewer; the first is the default where the host is not recognised.
llvm::ArrayRef<Target> knownTargets();
/// By name; "host" is the machine this runs on, and what ends in .json a machine file. Nothing if unknown.
std::optional<Target> findTarget(llvm::StringRef name);
/// The same; the error says what is wrong with the file, or that the name is unknown.
llvm::Expected<Target> readTarget(llvm::StringRef name);
/// Whether a target's name is that of a machine file.
inline bool isMachineFile(llvm::StringRef name) { return name.ends_with(".json"); }
/// The description of the machine this runs on, from what it says of itself: CPU name, feature flags and caches.
Target hostTarget();

} // namespace skewer
