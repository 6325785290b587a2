// Decodes bulk copies, with and without a tensor map, and checks their operands. BulkCopies.h moves the bytes. PTX ISA,
// "cp.async.bulk", "cp.async.bulk.tensor".
#include "codegen/GPU/Interpreter/Concurrency.h"
#include "codegen/GPU/Interpreter/EachLane.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>

using namespace mlir;
using namespace skewer::gpu;

namespace {

void misuse(Warp &warp, std::string message) {
  warp.block->report->add(FaultKind::Misuse, warp.operation, std::move(message));
}

/// Reads the map at `address`. Returns nothing, with a fault, if there is no map that a copy with `rank` coordinates
/// can use.
std::optional<TensorMap> mapAt(Warp &warp, unsigned lane, uint64_t address, size_t rank) {
  std::array<uint8_t, kTensorMapBytes> bytes{};
  for (unsigned k = 0; k < kTensorMapBytes; k += 8) {
    uint64_t word = warp.block->device->load(address + k, 8, warp.access(lane));
    for (unsigned byte = 0; byte < 8; ++byte)
      bytes[k + byte] = uint8_t(word >> 8 * byte);
  }
  std::optional<TensorMap> map = decodeTensorMap(bytes);
  if (!map)
    misuse(warp, fmt::format("there is no tensor map at {:#x}", address));
  else if (std::string problem = map->problem(); !problem.empty())
    misuse(warp, "tensor map: " + problem);
  else if (map->rank != rank && rank)
    misuse(warp, fmt::format("{} coordinates for a tensor map of rank {}", rank, map->rank));
  else
    return map;
  return std::nullopt;
}

/// The operands of a copy of a box: the registers of the map, of the place in shared memory and of the coordinates.
struct Box {
  Box(Decoder &decoder, Value map, Value shared, ValueRange coordinates)
      : map(decoder.slots(map).first), shared(decoder.slots(shared).first) {
    for (Value coordinate : coordinates)
      places.push_back(decoder.slots(coordinate).first);
  }
  /// Returns the 16-byte chunks of the box; none after a fault.
  std::vector<BulkRow> rows(Warp &warp, unsigned lane) const {
    std::optional<TensorMap> known = mapAt(warp, lane, warp.registers[map][lane], places.size());
    if (!known)
      return {};
    uint64_t address = warp.registers[shared][lane];
    unsigned unit = known->swizzleBytes ? 8 * known->swizzleBytes : 128;
    if (address % unit) {
      warp.block->report->add(
          FaultKind::Misaligned, warp.operation,
          fmt::format("a box of a tensor at shared address {}; a multiple of {} is needed", int64_t(address), unit));
      return {};
    }
    SmallVector<int64_t> coordinates;
    for (unsigned place : places)
      coordinates.push_back(int32_t(warp.registers[place][lane]));
    return rowsOfBox(*known, coordinates, address);
  }
  unsigned map, shared;
  SmallVector<unsigned> places;
};

/// Returns the 16-byte chunks of a copy without a tensor; none, with a fault, if its operands are wrong.
std::vector<BulkRow> rowsOf(Warp &warp, uint64_t device, uint64_t shared, uint64_t bytes) {
  if (device % 16 || shared % 16 || bytes % 16 || bytes == 0 || bytes >= 1 << 20) {
    misuse(warp,
           fmt::format("cp.async.bulk of {} bytes between {:#x} and shared address {}; multiples of 16 are needed",
                       bytes, device, shared));
    return {};
  }
  return rowsOfBytes(device, shared, bytes);
}

bool decodeLoadBox(Decoder &decoder, NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op, Step &step) {
  Box box(decoder, op.getTmaDescriptor(), op.getDstMem(), op.getCoordinates());
  unsigned mbarrier = decoder.slots(op.getMbar()).first;
  forEachLane(decoder, op.getPredicate(), step, [=](Warp &warp, unsigned lane) {
    warp.block->concurrency->copies.load(box.rows(warp, lane), warp.registers[mbarrier][lane], warp.access(lane));
  });
  return op.getMode() == NVVM::TMALoadMode::TILE && op.getIm2colOffsets().empty() && !op.getMulticastMask() &&
         !op.getGroup();
}

bool decodeStoreBox(Decoder &decoder, NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp op, Step &step) {
  Box box(decoder, op.getTmaDescriptor(), op.getSrcMem(), op.getCoordinates());
  forEachLane(decoder, op.getPredicate(), step, [=](Warp &warp, unsigned lane) {
    warp.block->concurrency->copies.store(box.rows(warp, lane), warp.access(lane));
  });
  return op.getMode() == NVVM::TMAStoreMode::TILE;
}

bool decodeLoad(Decoder &decoder, NVVM::CpAsyncBulkGlobalToSharedClusterOp op, Step &step) {
  unsigned to = decoder.slots(op.getDstMem()).first, from = decoder.slots(op.getSrcMem()).first,
           mbarrier = decoder.slots(op.getMbar()).first, size = decoder.slots(op.getSize()).first;
  forEachLane(decoder, nullptr, step, [=](Warp &warp, unsigned lane) {
    warp.block->concurrency->copies.load(
        rowsOf(warp, warp.registers[from][lane], warp.registers[to][lane], warp.registers[size][lane]),
        warp.registers[mbarrier][lane], warp.access(lane));
  });
  return !op.getMulticastMask();
}

bool decodeStore(Decoder &decoder, NVVM::CpAsyncBulkSharedCTAToGlobalOp op, Step &step) {
  unsigned to = decoder.slots(op.getDstMem()).first, from = decoder.slots(op.getSrcMem()).first,
           size = decoder.slots(op.getSize()).first;
  forEachLane(decoder, nullptr, step, [=](Warp &warp, unsigned lane) {
    warp.block->concurrency->copies.store(
        rowsOf(warp, warp.registers[to][lane], warp.registers[from][lane], warp.registers[size][lane]),
        warp.access(lane));
  });
  return !op.getByteMask();
}

} // namespace

bool skewer::gpu::decodeBulk(Decoder &decoder, Operation &op, Step &step) {
  bool known =
      llvm::TypeSwitch<Operation *, bool>(&op)
          .Case([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy) { return decodeLoadBox(decoder, copy, step); })
          .Case([&](NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp copy) { return decodeStoreBox(decoder, copy, step); })
          .Case([&](NVVM::CpAsyncBulkGlobalToSharedClusterOp copy) { return decodeLoad(decoder, copy, step); })
          .Case([&](NVVM::CpAsyncBulkSharedCTAToGlobalOp copy) { return decodeStore(decoder, copy, step); })
          .Case([&](NVVM::CpAsyncBulkCommitGroupOp) {
            forEachLane(decoder, nullptr, step, [](Warp &warp, unsigned lane) {
              warp.block->concurrency->copies.commit(warp.access(lane).thread);
            });
            return true;
          })
          .Case([&](NVVM::CpAsyncBulkWaitGroupOp wait) {
            size_t pending = wait.getGroup();
            forEachLane(decoder, nullptr, step, [pending](Warp &warp, unsigned lane) {
              warp.block->concurrency->copies.wait(warp.access(lane).thread, pending);
            });
            return true;
          })
          .Case([&](NVVM::PrefetchOp prefetch) { // the prefetch of a map: the address must hold one
            unsigned map = decoder.slots(prefetch.getAddr()).first;
            forEachLane(decoder, prefetch.getPredicate(), step,
                        [map](Warp &warp, unsigned lane) { mapAt(warp, lane, warp.registers[map][lane], 0); });
            return bool(prefetch.getTensormap());
          })
          .Default([](Operation *) { return false; });
  decoder.program.concurrent |= known;
  return known;
}
