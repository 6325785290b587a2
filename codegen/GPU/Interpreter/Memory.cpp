// Implements shared and device memory, which record the threads that accessed them since the last barrier, and the
// texts of the report.
#include "codegen/GPU/Interpreter/AccessHistory.h"
#include "codegen/GPU/Interpreter/Machine.h"
#include "dialect/IR/TextPlace.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

using namespace skewer::gpu;

const char *skewer::gpu::nameOf(FaultKind kind) {
  // In the order of FaultKind.
  static constexpr const char *names[] = {"race",       "uninitialised", "out of bounds", "misaligned",
                                          "divergence", "misuse",        "deadlock",      "unsupported"};
  return names[static_cast<size_t>(kind)];
}

void Report::add(FaultKind kind, mlir::Operation *operation, std::string message) {
  // A loop repeats a fault, so only the first fault of each operation is kept.
  if (faults.size() < 32 &&
      llvm::none_of(faults, [&](const Fault &f) { return f.kind == kind && f.operation == operation; }))
    faults.push_back({kind, std::move(message), operation});
}

/// Prints "in: nvvm.ldmatrix …, of layer.attn:7".
static void printPlace(llvm::raw_ostream &out, mlir::Operation *operation) {
  out << "  in: " << *operation;
  if (skewer::attn::TextPlace place = skewer::attn::textPlaceOf(operation->getLoc()); place.line)
    out << ", of " << place.file << ":" << place.line;
  out << "\n";
}

std::string Report::text() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const Fault &fault : faults) {
    out << nameOf(fault.kind) << ": " << fault.message << "\n";
    if (fault.operation)
      printPlace(out, fault.operation);
  }
  return text;
}

std::string Report::conflicts() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const auto &[operation, use] : banks)
    if (use.hasConflicts()) {
      out << "bank conflicts: " << use.wavefronts << " wavefronts for " << use.accesses << " accesses\n";
      printPlace(out, operation);
    }
  return text;
}

BankUse Report::shared() const {
  BankUse all;
  for (const auto &[operation, use] : banks) {
    all.accesses += use.accesses;
    all.wavefronts += use.wavefronts;
  }
  return all;
}

void Warp::needAllLanes(const char *what) {
  if (mask != ~0u)
    block->report->add(FaultKind::Divergence, operation,
                       fmt::format("{} runs with lanes {:#010x} of warp {} of block {}; all 32 must", what, mask, index,
                                   block->index));
}

//===- Shared memory ----------------------------------------------------------===//

void SharedMemory::reset() {
  std::fill(bytes.begin(), bytes.end(), 0);
  std::fill(places.begin(), places.end(), Place());
  epoch = 1;
}

std::string skewer::gpu::who(const Access &access) {
  return fmt::format("thread {} of block {}", access.thread, access.block);
}

bool SharedMemory::check(uint64_t address, unsigned size, const Access &access) {
  if (size > bytes.size() || address > bytes.size() - size) {
    report.add(FaultKind::OutOfBounds, access.operation,
               fmt::format("{} reaches {} bytes at {} of {} bytes of shared memory", who(access), size,
                           int64_t(address), bytes.size()));
    return false;
  }
  if (address % size) {
    report.add(FaultKind::Misaligned, access.operation,
               fmt::format("{} reaches {} bytes at {} of shared memory", who(access), size, address));
    return false;
  }
  return true;
}

void SharedMemory::noteRead(Place &place, uint64_t address, const Access &access) {
  unsigned warp = access.thread / kLanes;
  if (place.copier)
    report.add(FaultKind::Race, access.operation,
               fmt::format("{} reads shared address {} into which thread {} copies without having waited", who(access),
                           address, place.copier - 1));
  else if (!place.initialised)
    report.add(FaultKind::Uninitialised, access.operation,
               fmt::format("{} reads shared address {} which nothing wrote", who(access), address));
  if (place.writer && place.writer != access.thread + 1 && place.writeEpoch == epoch &&
      ((place.writer - 1) / kLanes != warp || place.writeWarpEpoch == access.warpEpoch))
    report.add(FaultKind::Race, access.operation,
               fmt::format("{} reads shared address {} which thread {} wrote since the last barrier", who(access),
                           address, place.writer - 1));
  if (place.readEpoch != epoch || !place.reader) {
    place.severalLanes = place.severalWarps = false;
  } else if (place.reader != access.thread + 1) {
    if ((place.reader - 1) / kLanes != warp)
      place.severalWarps = true;
    else
      place.severalLanes = place.readWarpEpoch == access.warpEpoch;
  }
  place.reader = uint16_t(access.thread + 1);
  place.readEpoch = epoch;
  place.readWarpEpoch = access.warpEpoch;
}

void SharedMemory::noteWrite(Place &place, uint64_t address, const Access &access) {
  unsigned warp = access.thread / kLanes;
  auto conflict = [&](const char *what, unsigned other) {
    report.add(FaultKind::Race, access.operation,
               fmt::format("{} writes shared address {} which thread {} {}", who(access), address, other - 1, what));
  };
  if (place.copier)
    conflict("copies into without having waited", place.copier);
  if (place.writer && place.writer != access.thread + 1 && place.writeEpoch == epoch &&
      ((place.writer - 1) / kLanes != warp || place.writeWarpEpoch == access.warpEpoch))
    conflict("wrote since the last barrier", place.writer);
  if (place.reader && place.readEpoch == epoch &&
      (place.severalWarps || (place.reader - 1) / kLanes != warp ||
       (place.readWarpEpoch == access.warpEpoch && (place.severalLanes || place.reader != access.thread + 1))))
    conflict("read since the last barrier", place.reader);
}

uint64_t SharedMemory::load(uint64_t address, unsigned size, const Access &access) {
  if (!check(address, size, access))
    return 0;
  if (history)
    history->read(address, size, access);
  else
    for (uint64_t place = address / 2; place < (address + size + 1) / 2; ++place)
      noteRead(places[place], place * 2, access);
  uint64_t value = 0;
  for (unsigned k = 0; k < std::min(size, 8u); ++k)
    value |= uint64_t(bytes[address + k]) << 8 * k;
  return value;
}

void SharedMemory::store(uint64_t address, unsigned size, uint64_t value, const Access &access) {
  if (!check(address, size, access))
    return;
  if (history)
    history->write(address, size, access);
  for (uint64_t index = address / 2; !history && index < (address + size + 1) / 2; ++index) {
    Place &place = places[index];
    noteWrite(place, index * 2, access);
    place.writer = uint16_t(access.thread + 1);
    place.writeEpoch = epoch;
    place.writeWarpEpoch = access.warpEpoch;
    place.initialised = true;
  }
  for (unsigned k = 0; k < size; ++k)
    bytes[address + k] = uint8_t(value >> 8 * k);
}

void SharedMemory::beginCopy(uint64_t address, unsigned size, const Access &access) {
  if (!check(address, size, access))
    return;
  if (history)
    return history->beginCopy(address, size, access);
  for (uint64_t index = address / 2; index < (address + size + 1) / 2; ++index) {
    noteWrite(places[index], index * 2, access);
    places[index].copier = uint16_t(access.thread + 1);
  }
}

void SharedMemory::finishCopy(uint64_t address, const std::vector<uint8_t> &data, const Access &access) {
  if (data.size() > bytes.size() || address > bytes.size() - data.size())
    return; // reported at the beginning of the copy
  for (uint64_t index = address / 2; !history && index < (address + data.size() + 1) / 2; ++index) {
    Place &place = places[index];
    place.copier = 0;
    place.writer = uint16_t(access.thread + 1);
    place.writeEpoch = epoch;
    place.writeWarpEpoch = access.warpEpoch;
    place.initialised = true;
  }
  std::copy(data.begin(), data.end(), bytes.begin() + address);
}

void SharedMemory::countBanks(const Lanes &addresses, Mask mask, unsigned size, mlir::Operation *operation) {
  // There are 32 banks of 4 bytes. A warp's access of 8 bytes for each lane takes two halves, of 16 bytes four
  // quarters. Lanes that access the same word share it.
  unsigned lanesAtOnce = size <= 4 ? kLanes : size == 8 ? kLanes / 2 : kLanes / 4;
  BankUse &use = report.banks[operation];
  for (unsigned first = 0; first < kLanes; first += lanesAtOnce) {
    std::array<std::set<uint64_t>, 32> words;
    size_t ways = 0;
    for (unsigned lane = first; lane < first + lanesAtOnce; ++lane)
      if (mask >> lane & 1)
        for (uint64_t word = addresses[lane] / 4; word < (addresses[lane] + size + 3) / 4; ++word) {
          words[word % 32].insert(word);
          ways = std::max(ways, words[word % 32].size());
        }
    if (ways) {
      ++use.accesses;
      use.wavefronts += int64_t(ways);
    }
  }
}

//===- Device memory ----------------------------------------------------------===//

uint64_t DeviceMemory::add(size_t size, const void *contents, bool writable, std::string name) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.bytes.resize(size);
  buffer.writers.resize((size + 1) / 2);
  buffer.writable = writable;
  buffer.initialised = contents != nullptr;
  if (contents && size)
    std::memcpy(buffer.bytes.data(), contents, size);
  buffers.push_back(std::move(buffer));
  return uint64_t(buffers.size()) << kShift;
}

DeviceMemory::Buffer *DeviceMemory::find(uint64_t address, unsigned size, const Access &access, bool write) {
  uint64_t number = address >> kShift, offset = address & ((uint64_t(1) << kShift) - 1);
  // A negative offset borrows from the buffer's number.
  int64_t place = int64_t(offset);
  if (offset > uint64_t(1) << (kShift - 1))
    ++number, place = int64_t(offset) - (int64_t(1) << kShift);
  if (number == 0 || number > buffers.size() || place < 0 || size > buffers[number - 1].bytes.size() ||
      uint64_t(place) > buffers[number - 1].bytes.size() - size) {
    report.add(FaultKind::OutOfBounds, access.operation,
               number == 0 || number > buffers.size()
                   ? fmt::format("{} reaches address {:#x}, which is in no buffer", who(access), address)
                   : fmt::format("{} reaches {} bytes at {} of '{}', which has {}", who(access), size, place,
                                 buffers[number - 1].name, buffers[number - 1].bytes.size()));
    return nullptr;
  }
  Buffer &buffer = buffers[number - 1];
  if (place % size) {
    report.add(FaultKind::Misaligned, access.operation,
               fmt::format("{} reaches {} bytes at {} of '{}'", who(access), size, place, buffer.name));
    return nullptr;
  }
  if (write && !buffer.writable) {
    report.add(FaultKind::OutOfBounds, access.operation,
               fmt::format("{} writes '{}', which is an input", who(access), buffer.name));
    return nullptr;
  }
  uint32_t self = access.block * 1024 + access.thread + 1;
  for (uint64_t index = uint64_t(place) / 2; buffer.writable && index < (uint64_t(place) + size + 1) / 2; ++index) {
    uint32_t &writer = buffer.writers[index];
    if (!write && !writer && !buffer.initialised)
      report.add(FaultKind::Uninitialised, access.operation,
                 fmt::format("{} reads '{}' at {}, which nothing wrote", who(access), buffer.name, place));
    if (writer && writer != self && writer != kBefore)
      report.add(FaultKind::Race, access.operation,
                 fmt::format("{} {} '{}' at {}, which thread {} of block {} wrote", who(access),
                             write ? "writes" : "reads", buffer.name, place, (writer - 1) % 1024, (writer - 1) / 1024));
    if (write)
      writer = self;
  }
  return &buffer;
}

void DeviceMemory::endKernel() {
  for (Buffer &buffer : buffers)
    for (uint32_t &writer : buffer.writers)
      if (writer)
        writer = kBefore;
}

uint64_t DeviceMemory::load(uint64_t address, unsigned size, const Access &access) {
  Buffer *buffer = find(address, size, access, false);
  uint64_t value = 0, place = address & ((uint64_t(1) << kShift) - 1);
  for (unsigned k = 0; buffer && k < std::min(size, 8u); ++k)
    value |= uint64_t(buffer->bytes[place + k]) << 8 * k;
  return value;
}

void DeviceMemory::store(uint64_t address, unsigned size, uint64_t value, const Access &access) {
  Buffer *buffer = find(address, size, access, true);
  uint64_t place = address & ((uint64_t(1) << kShift) - 1);
  for (unsigned k = 0; buffer && k < size; ++k)
    buffer->bytes[place + k] = uint8_t(value >> 8 * k);
}
