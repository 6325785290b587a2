// Copies between the device's memory and shared memory that run on their own (cp.async.bulk, TMA), and the places of a
// tensor's box in shared memory. DecodeBulk.cpp issues copies, and the scheduler lets their bytes arrive. PTX ISA,
// "Data Movement and Conversion Instructions: Bulk copy", "Tensors".
#pragma once
#include "codegen/GPU/Interpreter/AccessHistory.h"
#include "codegen/GPU/Interpreter/Mbarriers.h"
#include "codegen/GPU/Interpreter/TensorMap.h"
#include "llvm/ADT/ArrayRef.h"
#include <deque>
#include <random>

namespace skewer::gpu {

/// A part of a copy: neighbouring bytes in shared memory, and the address of each of their elements in the device's
/// memory. An element outside the tensor has the address 0.
struct BulkRow {
  uint64_t shared = 0;
  std::vector<uint64_t> device; // an address for each element
  unsigned each = 1;            // bytes of an element
  unsigned bytes() const { return unsigned(device.size()) * each; }
};

/// Returns the 16-byte chunks of the box at `coordinates`, which shared memory holds from `shared` on. Chunk c of row r
/// is at place c ^ (r % 8) with a swizzle of 128 bytes, c ^ (r / 2 % 4) with 64, c ^ (r / 4 % 2) with 32.
std::vector<BulkRow> rowsOfBox(const TensorMap &, llvm::ArrayRef<int64_t> coordinates, uint64_t shared);
/// Returns the 16-byte chunks of a copy without a tensor; `bytes` is a multiple of 16.
std::vector<BulkRow> rowsOfBytes(uint64_t device, uint64_t shared, uint64_t bytes);

class BulkCopies {
public:
  BulkCopies(SharedMemory &shared, DeviceMemory &device, BlockClocks &clocks, AccessHistory &history,
             Mbarriers &mbarriers, Report &report)
      : shared(shared), device(device), clocks(clocks), history(history), mbarriers(mbarriers), report(report) {}

  /// Issues a copy to shared memory. Its bytes arrive later, in parts, and each part counts at the mbarrier.
  void load(const std::vector<BulkRow> &, uint64_t mbarrier, const Access &);
  /// Issues a copy to device memory. Its bytes are read when the thread waits for its group, the latest permitted time.
  void store(std::vector<BulkRow>, const Access &);
  /// Lets copies of cp.async arrive later, as their thread has asked an mbarrier to tell. `copies` is their event.
  void arriveBehind(std::vector<std::pair<uint64_t, std::vector<uint8_t>>> rows, uint64_t mbarrier, Event copies,
                    const Access &);
  void commit(unsigned thread);
  /// Waits until at most `pending` groups of the thread have not yet read shared memory. Only later kernels read the
  /// written memory, so a wait for the writes would add nothing.
  void wait(unsigned thread, size_t pending);

  bool canLand() const { return !landing.empty(); }
  /// Lets one part of some copy arrive.
  void land(std::mt19937 &random);
  /// Notes a fault if bytes are still on their way when all threads have ended.
  void end();
  /// Notes a fault if the thread ends before shared memory has been read by its stores.
  void endThread(unsigned thread, mlir::Operation *end);

private:
  struct Part {
    std::vector<std::pair<uint64_t, std::vector<uint8_t>>> rows; // (address in shared memory, contents)
    uint64_t mbarrier = 0, bytes = 0;
    Event event;
    Access access;
    bool ofThread = false; // copies of cp.async, whose arrival counts instead of their bytes
  };
  struct Store {
    std::vector<BulkRow> rows;
    Access access;
  };
  struct Thread {
    Agent agent = 0;
    uint32_t committed = 0, read = 0; // numbers of groups
    std::deque<std::vector<Store>> groups;
    std::vector<Store> open;
  };
  Thread &of(unsigned thread);

  std::vector<Part> landing;
  std::map<unsigned, Thread> threads;
  SharedMemory &shared;
  DeviceMemory &device;
  BlockClocks &clocks;
  AccessHistory &history;
  Mbarriers &mbarriers;
  Report &report;
};

} // namespace skewer::gpu
