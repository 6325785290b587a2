// A description of the processor that code is made for: what the cost model knows.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace skewer {

struct Target {
  std::string name;          // "zen4", "cascadelake", "x86-64-v3", …; what --target takes
  std::string cpu, features; // for LLVM's code generator
  int64_t lanes = 16;        // f32 lanes of a vector
  int64_t registers = 32;    // vector registers
  double fmaPerCycle = 2;    // vector FMAs
  bool separateAdd = false;  // FADD has pipes of its own beside the FMAs
  int64_t l1Bytes = 32 << 10, l2Bytes = 1 << 20;
  double l2Rate = 45, l3Rate = 20; // bytes a cycle that one core gets from L2 and from what is behind it
  double gigahertz = 3;            // for predictions only
  double memoryRate = 5;           // GB/s from memory for each core when all work; for predictions only
};

/// The descriptions that come with Skewer; the first is the default where the host is not recognised.
llvm::ArrayRef<Target> knownTargets();
/// By name; "host" is the machine this runs on. Nothing if unknown.
std::optional<Target> findTarget(llvm::StringRef name);
/// The description of the machine this runs on, from its CPU name and feature flags.
Target hostTarget();

} // namespace skewer
