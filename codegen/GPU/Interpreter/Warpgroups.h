// Checks that the four warps of a warpgroup execute the same instructions (wgmma, setmaxnreg), and counts the registers
// that the warps of a block share. Belongs to the state of blocks whose warps run in any order (Concurrency.h).
#pragma once
#include "codegen/GPU/Interpreter/Machine.h"
#include <deque>

namespace skewer::gpu {

constexpr unsigned kWarpsOfGroup = 4;

/// Compares the instructions that a whole warpgroup must execute: all its warps must execute the same instructions in
/// the same order and with the same operands.
class Warpgroups {
public:
  Warpgroups(unsigned warps, Report &report) : places(warps), groups((warps + 3) / 4), report(report) {}
  void note(const Warp &, std::vector<uint64_t> operands);
  /// Notes a fault if a warp of a group has executed fewer such instructions than another.
  void end();

private:
  struct Entry {
    mlir::Operation *operation;
    std::vector<uint64_t> operands;
  };
  struct Group {
    std::deque<Entry> entries; // the instructions that some warp has not yet executed
    uint64_t first = 0;        // number of the first of them
  };
  std::vector<uint64_t> places; // the number of such instructions that each warp has executed
  std::vector<Group> groups;
  Report &report;
};

/// The registers of a block's warps. A multiprocessor has 65536 of 32 bits.
class RegisterFile {
public:
  explicit RegisterFile(unsigned threads);
  /// Executes setmaxnreg. Returns false if the warp must wait until others have given registers back.
  bool set(const Warp &, unsigned count, bool increase, Report &);
  unsigned free() const;
  uint64_t changes() const { return changed; }

private:
  std::vector<unsigned> counts; // registers of a thread, for each warp
  uint64_t changed = 0;
};

} // namespace skewer::gpu
