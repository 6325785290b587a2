// Decodes addresses, loads and stores, and cp.async. Semantics of cp.async: PTX ISA,
// "Data Movement and Conversion Instructions: Non-bulk copy".
#include "codegen/GPU/Interpreter/Concurrency.h"
#include "codegen/GPU/Interpreter/Program.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;
using namespace skewer::gpu;

namespace {

constexpr unsigned kShared = 3, kSharedOfCluster = 7;

unsigned spaceOf(Value pointer) { return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace(); }

int64_t bytesOf(Type type) {
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return int64_t(array.getNumElements()) * bytesOf(array.getElementType());
  ElementShape shape = elementShape(type);
  return int64_t(shape.bits) / 8 * shape.count;
}

bool decodeAddress(Decoder &decoder, LLVM::GEPOp op, Step &step) {
  // The first index counts elements; the second one is an index into an array.
  SmallVector<int64_t> sizes{bytesOf(op.getElemType())};
  auto indices = op.getIndices();
  if (indices.size() > 2)
    return false;
  if (indices.size() == 2) {
    auto array = dyn_cast<LLVM::LLVMArrayType>(op.getElemType());
    if (!array)
      return false;
    sizes.push_back(bytesOf(array.getElementType()));
  }
  int64_t fixed = 0;
  SmallVector<std::pair<Slots, int64_t>> moving;
  for (auto [index, size] : llvm::zip(indices, sizes)) {
    if (auto constant = dyn_cast<IntegerAttr>(index))
      fixed += constant.getInt() * size;
    else
      moving.push_back({decoder.slots(cast<Value>(index)), size});
  }
  Slots base = decoder.slots(op.getBase()), out = decoder.slots(op.getResult());
  step.run = [=](Warp &warp) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane))
        continue;
      uint64_t address = warp.registers[base.first][lane] + uint64_t(fixed);
      for (const auto &[index, size] : moving) {
        uint64_t bits = warp.registers[index.first][lane];
        int64_t value = index.bits >= 64 ? int64_t(bits) : int64_t(bits << (64 - index.bits)) >> (64 - index.bits);
        address += uint64_t(value * size);
      }
      warp.registers[out.first][lane] = address;
    }
  };
  return true;
}

/// Returns whether the whole access is aligned to its size, also for a vector (PTX ISA, "Addresses as Operands").
bool aligned(Warp &warp, uint64_t address, unsigned bytes, unsigned lane) {
  if (address % bytes == 0)
    return true;
  Access access = warp.access(lane);
  warp.block->report->add(
      FaultKind::Misaligned, warp.operation,
      fmt::format("thread {} of block {} reaches {} bytes at {:#x}", access.thread, access.block, bytes, address));
  return false;
}

template <bool isStore> void decodeAccess(Decoder &decoder, Value pointer, Value value, Step &step) {
  Slots address = decoder.slots(pointer), data = decoder.slots(value);
  unsigned each = std::max(8u, data.bits) / 8, bytes = each * data.count;
  bool shared = spaceOf(pointer) == kShared;
  step.run = [=](Warp &warp) {
    const Lanes addresses = warp.registers[address.first];
    if (shared)
      warp.block->shared->countBanks(addresses, warp.mask, bytes, warp.operation);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane) || !aligned(warp, addresses[lane], bytes, lane))
        continue;
      for (unsigned k = 0; k < data.count; ++k) {
        uint64_t place = addresses[lane] + k * each;
        uint64_t &element = warp.registers[data.first + k][lane];
        if (isStore && shared)
          warp.block->shared->store(place, each, element, warp.access(lane));
        else if (isStore)
          warp.block->device->store(place, each, element, warp.access(lane));
        else
          element = shared ? warp.block->shared->load(place, each, warp.access(lane))
                           : warp.block->device->load(place, each, warp.access(lane));
      }
    }
  };
}

/// Decodes cp.async of `size` bytes: the first `cpSize` come from memory, and the others are zero.
/// Decodes cp.async.mbarrier.arrive.noinc. The copies that a lane has started become a group, as at a commit, and the
/// mbarrier counts an arrival of each lane when its copies are there. A later wait_group does not wait for them here.
void decodeArrival(Decoder &decoder, NVVM::CpAsyncMBarrierArriveOp op, Step &step) {
  unsigned address = decoder.slots(op.getAddr()).first;
  step.run = [=](Warp &warp) {
    warp.needAllLanes("cp.async.mbarrier.arrive");
    Concurrency &block = *warp.block->concurrency;
    std::array<std::vector<std::pair<uint64_t, std::vector<uint8_t>>>, kLanes> rows;
    warp.groups.push_back(std::move(warp.open));
    warp.open.clear();
    for (std::vector<AsyncCopy> &group : warp.groups)
      for (AsyncCopy &copy : group)
        rows[copy.lane].emplace_back(copy.address, std::move(copy.data));
    warp.groups.clear();
    ++warp.committed;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      Access access = warp.access(lane);
      block.copies.arriveBehind(std::move(rows[lane]), warp.registers[address][lane],
                                {block.clocks.copierOf(access.thread), warp.committed}, access);
      block.history.setGroup(access.thread, warp.committed + 1);
    }
  };
}

void decodeCopy(Decoder &decoder, NVVM::CpAsyncOp op, Step &step) {
  Slots to = decoder.slots(op.getDst()), from = decoder.slots(op.getSrc());
  unsigned size = op.getSize();
  std::optional<Slots> sourceSize;
  if (op.getCpSize())
    sourceSize = decoder.slots(op.getCpSize());
  step.run = [=](Warp &warp) {
    warp.block->shared->countBanks(warp.registers[to.first], warp.mask, size, warp.operation);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane))
        continue;
      AsyncCopy copy{lane, warp.registers[to.first][lane], std::vector<uint8_t>(size)};
      uint64_t source = warp.registers[from.first][lane];
      uint64_t read = sourceSize ? warp.registers[sourceSize->first][lane] : size;
      if (!aligned(warp, source, size, lane) || !aligned(warp, copy.address, size, lane))
        continue;
      if (read > size) {
        warp.block->report->add(FaultKind::OutOfBounds, warp.operation,
                                fmt::format("cp.async of {} bytes is told to read {}", size, read));
        read = size;
      }
      for (unsigned k = 0; k < read; ++k)
        copy.data[k] = uint8_t(warp.block->device->load(source + k, 1, warp.access(lane)));
      warp.block->shared->beginCopy(copy.address, size, warp.access(lane));
      warp.open.push_back(std::move(copy));
    }
  };
}

} // namespace

bool skewer::gpu::decodeMemory(Decoder &decoder, Operation &op, Step &step) {
  if (auto cast = dyn_cast<LLVM::AddrSpaceCastOp>(op)) {
    // The address of the block's own shared memory, in the space of its cluster.
    unsigned from = decoder.slots(cast.getArg()).first, to = decoder.slots(cast.getRes()).first;
    step.ownRegisters().moves.push_back({from, to});
    step.run = [from, to](Warp &warp) {
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (warp.runs(lane))
          warp.registers[to][lane] = warp.registers[from][lane];
    };
    return spaceOf(cast.getArg()) == kShared && spaceOf(cast.getRes()) == kSharedOfCluster;
  }
  if (auto address = dyn_cast<LLVM::GEPOp>(op))
    return decodeAddress(decoder, address, step);
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    decodeAccess<false>(decoder, load.getAddr(), load.getResult(), step);
    return true;
  }
  if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    decodeAccess<true>(decoder, store.getAddr(), store.getValue(), step);
    return true;
  }
  if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op)) {
    decodeCopy(decoder, copy, step);
    return true;
  }
  if (isa<NVVM::CpAsyncCommitGroupOp>(op)) {
    step.run = [](Warp &warp) {
      // Each thread has its own groups: after lanes diverge here, they count the groups differently.
      warp.needAllLanes("cp.async.commit_group");
      warp.groups.push_back(std::move(warp.open));
      warp.open.clear();
      ++warp.committed;
      if (Concurrency *block = warp.block->concurrency)
        for (unsigned lane = 0; lane < kLanes; ++lane)
          block->history.setGroup(warp.access(lane).thread, warp.committed + 1);
    };
    return true;
  }
  if (auto arrive = dyn_cast<NVVM::CpAsyncMBarrierArriveOp>(op)) {
    decodeArrival(decoder, arrive, step);
    decoder.program.concurrent = true;
    return arrive.getNoinc();
  }
  if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
    size_t pending = wait.getN();
    step.run = [pending](Warp &warp) {
      // Only the lanes that wait know that their copies are done. A partial warp would wait only for some of the
      // copies.
      warp.needAllLanes("cp.async.wait_group");
      while (warp.groups.size() > pending) {
        for (const AsyncCopy &copy : warp.groups.front())
          warp.block->shared->finishCopy(copy.address, copy.data, warp.access(copy.lane));
        warp.groups.erase(warp.groups.begin());
      }
      if (Concurrency *block = warp.block->concurrency)
        for (unsigned lane = 0; lane < kLanes; ++lane)
          block->history.finishCopies(warp.access(lane).thread, warp.committed - uint32_t(warp.groups.size()));
    };
    return true;
  }
  return false;
}
