// A warp's registers while wgmma works on them: products that have been issued and not yet waited for, and which
// registers belong to them. PTX ISA, "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group".
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

/// Products are computed as late as permitted: by the wait that covers them. Until then their sums have no value, so
/// that an access to one is an error, and so is a write to a register of A. Instructions that only take values apart or
/// pass them on to another block are none: ptxas makes nothing of them.
class WgmmaRegisters {
public:
  WgmmaRegisters(size_t registers, llvm::ArrayRef<unsigned> poison);

  /// Called round each step that a warp runs.
  void before(const Warp &, const StepRegisters &);
  void after(const StepRegisters &);
  /// Values go from register to register at the edge of a block.
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
    uint32_t written = 0; // the step
    int32_t flight = -1;  // whose sum it will be
    uint16_t element = 0;
    uint16_t readers = 0; // products that have yet to read it as A
    bool sum = false;     // of a product that has been waited for
    bool poison = false;
  };
  using Sums = std::vector<Lanes>;
  struct Flight {
    WgmmaForm form;
    WgmmaOperands operands;
    uint32_t group = 0;
    mlir::Operation *operation = nullptr;
    std::vector<std::pair<std::shared_ptr<Sums>, unsigned>> before; // per result: what is added to
    std::shared_ptr<Sums> sums;
    bool broken = false; // its operands are not all there
  };
  void checkFence(const Warp &, const WgmmaForm &, const WgmmaOperands &) const;
  void checkMemory(Warp &, Flight &);
  void finish(Warp &, int32_t number, Flight &);

  std::vector<Register> states;
  std::map<int32_t, Flight> flights;
  int32_t nextFlight = 0;
  uint32_t now = 1, lastFence = 0, lastSumRead = 0; // steps
  uint32_t committed = 0;                           // groups
  unsigned agent = 0;                               // of the warp's products; 0: none yet
};

} // namespace skewer::gpu
