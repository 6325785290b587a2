// The state of a warp's registers while wgmma works on them: the products that have been issued but not yet waited for,
// and their registers. DecodeWgmma.cpp issues products, and WarpRunner calls `before` and `after` for each step. PTX
// ISA, "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group".
#pragma once
#include "codegen/GPU/Interpreter/Machine.h"
#include "codegen/GPU/Interpreter/MatrixDescriptor.h"
#include "codegen/GPU/Interpreter/WgmmaForm.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <memory>

namespace skewer::gpu {

struct StepRegisters;

/// The operands of one wgmma in a warp.
struct WgmmaOperands {
  std::vector<unsigned> results, sums, a; // registers
  uint64_t descriptorA = 0, descriptorB = 0;
  bool accumulates = false; // scale-d
};

/// Computes products as late as permitted: at the wait that covers them. Until then their sums have no value, so an
/// access to a sum is an error, and so is a write to a register of A. An instruction that only extracts parts of values
/// or passes them to another block is not an access, because ptxas makes no code of it.
class WgmmaRegisters {
public:
  WgmmaRegisters(size_t registers, llvm::ArrayRef<unsigned> poison);

  /// Check the registers of a step, before and after the warp runs it.
  void before(const Warp &, const StepRegisters &);
  void after(const StepRegisters &);
  /// Moves the states of values that go from register to register at the edge of a block.
  void move(const Warp &, llvm::ArrayRef<std::pair<unsigned, unsigned>>);

  void fence() { lastFence = now; }
  void issue(Warp &, const WgmmaForm &, WgmmaOperands);
  void commit() { ++committed; }
  /// Computes the products of all but the last `pending` groups.
  void wait(Warp &, unsigned pending);
  /// Notes a fault if products have not been waited for.
  void end(const Warp &, mlir::Operation *);

private:
  struct Register {
    uint32_t written = 0; // the step that wrote it
    int32_t flight = -1;  // the product whose sum it will hold
    uint16_t element = 0;
    uint16_t readers = 0; // products that have not yet read it as A
    bool sum = false;     // it holds a sum of a product that has been waited for
    bool poison = false;
  };
  using Sums = std::vector<Lanes>;
  struct Flight {
    WgmmaForm form;
    WgmmaOperands operands;
    uint32_t group = 0;
    mlir::Operation *operation = nullptr;
    std::vector<std::pair<std::shared_ptr<Sums>, unsigned>> before; // for each result, the earlier sum
    std::shared_ptr<Sums> sums;
    bool broken = false; // some of its operands do not exist
  };
  void checkFence(const Warp &, const WgmmaForm &, const WgmmaOperands &) const;
  void checkMemory(Warp &, Flight &);
  void finish(Warp &, int32_t number, Flight &);

  std::vector<Register> states;
  std::map<int32_t, Flight> flights;
  int32_t nextFlight = 0;
  uint32_t now = 1, lastFence = 0, lastSumRead = 0; // numbers of steps
  uint32_t committed = 0;                           // number of groups
  unsigned agent = 0;                               // the agent of the warp's products; 0: none yet
};

} // namespace skewer::gpu
