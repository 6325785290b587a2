// The machine of a launched kernel: warps of 32 lanes with their registers, a block's shared memory, and the device's
// memory. All files of the interpreter use it. Every access is checked, and each error is noted in the report with its
// operation.
#pragma once
#include "mlir/IR/Operation.h"
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace skewer::gpu {

constexpr unsigned kLanes = 32;
/// One register of a warp. Narrower values are in the low bits; the other bits are 0.
using Lanes = std::array<uint64_t, kLanes>;
using Mask = uint32_t; // a bit for each lane

enum class FaultKind {
  Race,          // two threads access one place without a barrier in between, and one of them writes
  Uninitialised, // a read of memory that nothing wrote
  OutOfBounds,
  Misaligned,
  Divergence, // only a part of the warp or block reaches an instruction that needs all of it
  Misuse,     // an operand or an order of instructions that the PTX ISA leaves undefined
  Deadlock,   // every warp waits for something that no other warp will do
  Unsupported // the interpreter does not know the operation
};
const char *nameOf(FaultKind);

struct Fault {
  FaultKind kind;
  std::string message; // in lower case, with block, thread and address
  mlir::Operation *operation = nullptr;
};

/// The accesses of one operation to shared memory. Without bank conflicts, `wavefronts` equals `accesses`.
struct BankUse {
  int64_t accesses = 0, wavefronts = 0;
  bool hasConflicts() const { return wavefronts > accesses; }
};

struct Report {
  std::vector<Fault> faults; // the first few
  std::map<mlir::Operation *, BankUse> banks;
  int64_t steps = 0; // number of operations that warps have executed
  int64_t matrixSteps = 0;
  void add(FaultKind, mlir::Operation *, std::string message);
  /// Returns one line for each fault, with its operation and the line that it comes from.
  std::string text() const;
  /// Returns the same for each operation whose accesses to shared memory have bank conflicts.
  std::string conflicts() const;
  /// Returns the use of all operations together.
  BankUse shared() const;
};

/// The thread and the operation that access memory.
struct Access {
  unsigned block = 0, thread = 0;
  uint32_t warpEpoch = 0; // the number of barriers of the warp alone
  mlir::Operation *operation = nullptr;
};
/// Returns the words of a message for the thread that reads or writes.
std::string who(const Access &);

class AccessHistory;
struct Concurrency;
class WgmmaRegisters;

/// A block's shared memory with its history since the last barrier, or with the history that `follow` sets.
class SharedMemory {
public:
  SharedMemory(size_t bytes, Report &report) : bytes(bytes), places((bytes + 1) / 2), report(report) {}
  void reset(); // called before each block: the contents are then undefined
  /// Notes and checks accesses in `accesses` from now on. Kernels whose warps wait for each other by more than barriers
  /// of the whole block need it.
  void follow(AccessHistory *accesses) { history = accesses; }
  /// Returns the bytes, for copies and products whose accesses were checked when they were issued.
  uint8_t *data() { return bytes.data(); }
  size_t size() const { return bytes.size(); }
  /// Returns the number at an address; zero, with a fault, if the access is wrong.
  uint64_t load(uint64_t address, unsigned size, const Access &);
  void store(uint64_t address, unsigned size, uint64_t value, const Access &);
  /// Records a cp.async: from its issue to the wait, no thread may access the bytes.
  void beginCopy(uint64_t address, unsigned size, const Access &);
  void finishCopy(uint64_t address, const std::vector<uint8_t> &data, const Access &);
  void barrier() { ++epoch; }
  /// Counts the wavefronts of one access by a warp: `size` bytes for each lane in the mask.
  void countBanks(const Lanes &addresses, Mask, unsigned size, mlir::Operation *);

private:
  struct Place { // two bytes
    uint32_t writeEpoch = 0, writeWarpEpoch = 0, readEpoch = 0, readWarpEpoch = 0;
    uint16_t writer = 0, reader = 0, copier = 0; // thread + 1; 0: none
    bool severalLanes = false, severalWarps = false, initialised = false;
  };
  bool check(uint64_t address, unsigned size, const Access &);
  void noteRead(Place &, uint64_t address, const Access &);
  void noteWrite(Place &, uint64_t address, const Access &);

  std::vector<uint8_t> bytes;
  std::vector<Place> places;
  uint32_t epoch = 1;
  Report &report;
  AccessHistory *history = nullptr;
};

/// Buffers of the device. An address names its buffer, so that a wrong offset never reaches another buffer.
class DeviceMemory {
public:
  explicit DeviceMemory(Report &report) : report(report) {}
  /// Adds a buffer and returns its address. Copies `contents`; if it is null, the buffer is not initialised.
  uint64_t add(size_t size, const void *contents, bool writable, std::string name);
  uint64_t load(uint64_t address, unsigned size, const Access &);
  void store(uint64_t address, unsigned size, uint64_t value, const Access &);
  /// Ends a kernel: its writes are now visible to all threads.
  void endKernel();
  const std::vector<uint8_t> &contents(uint64_t address) const { return buffers[(address >> kShift) - 1].bytes; }

private:
  static constexpr unsigned kShift = 40;
  static constexpr uint32_t kBefore = ~0u; // written by an earlier kernel
  struct Buffer {
    std::string name;
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> writers; // for each two bytes: 1 + the thread's number in the grid, or kBefore
    bool writable = false, initialised = false;
  };
  Buffer *find(uint64_t address, unsigned size, const Access &, bool write);
  std::vector<Buffer> buffers;
  Report &report;
};

/// The state of a block that its warps share.
struct BlockState {
  unsigned index = 0, threads = 0, grid = 0;
  SharedMemory *shared = nullptr;
  DeviceMemory *device = nullptr;
  Report *report = nullptr;
  Concurrency *concurrency = nullptr; // null if warps run from barrier to barrier
};

struct AsyncCopy {
  unsigned lane;
  uint64_t address; // in shared memory
  std::vector<uint8_t> data;
};

struct Warp {
  BlockState *block = nullptr;
  unsigned index = 0; // in the block
  std::vector<Lanes> registers;
  Mask mask = ~0u; // lanes that run the current operation
  uint32_t epoch = 1;
  mlir::Operation *operation = nullptr;
  std::vector<std::vector<AsyncCopy>> groups; // committed, oldest first
  std::vector<AsyncCopy> open;                // not yet committed
  WgmmaRegisters *wgmma = nullptr;            // null if warps run from barrier to barrier
  bool blocked = false;                       // the current step waits and must run again
  bool again = false;                         // the current step runs again
  std::function<std::string()> waitsFor;      // returns what a blocked step waits for
  uint32_t committed = 0;                     // the number of committed groups of cp.async

  Access access(unsigned lane) const { return {block->index, index * kLanes + lane, epoch, operation}; }
  bool runs(unsigned lane) const { return mask >> lane & 1; }
  /// Notes a fault if not all lanes run.
  void needAllLanes(const char *what);
};

} // namespace skewer::gpu
