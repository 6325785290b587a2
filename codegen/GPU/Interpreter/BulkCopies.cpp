// Moves the bytes of bulk copies, at the time that finds the most mistakes: loads in parts, stores as late as
// permitted.
#include "codegen/GPU/Interpreter/BulkCopies.h"
#include <fmt/format.h>

using namespace skewer::gpu;

namespace {
constexpr unsigned kBytesOfChunk = 16;
constexpr size_t kParts = 4; // a copy arrives in so many parts

/// Returns the place of a chunk in its row; rows of `swizzle` bytes are swizzled.
unsigned swizzled(unsigned chunk, unsigned row, unsigned swizzle) {
  switch (swizzle) {
  case 128:
    return chunk ^ row % 8;
  case 64:
    return chunk ^ row / 2 % 4;
  case 32:
    return chunk ^ row / 4 % 2;
  default:
    return chunk;
  }
}
} // namespace

std::vector<BulkRow> skewer::gpu::rowsOfBox(const TensorMap &map, llvm::ArrayRef<int64_t> coordinates,
                                            uint64_t shared) {
  std::vector<BulkRow> chunks;
  unsigned each = bytesOf(map.type), rowBytes = map.box[0] * each, rows = 1;
  for (unsigned k = 1; k < map.rank; ++k)
    rows *= map.box[k];
  for (unsigned row = 0; row < rows; ++row) {
    bool inside = true;
    uint64_t base = map.address;
    for (unsigned k = 1, rest = row; k < map.rank; rest /= map.box[k], ++k) {
      int64_t place = coordinates[k] + int64_t(rest % map.box[k]);
      inside &= place >= 0 && uint64_t(place) < map.dims[k];
      base += uint64_t(place) * map.strides[k - 1];
    }
    for (unsigned chunk = 0; chunk < rowBytes / kBytesOfChunk; ++chunk) {
      BulkRow part;
      part.shared = shared + row * rowBytes + swizzled(chunk, row, map.swizzleBytes) * kBytesOfChunk;
      part.each = each;
      for (unsigned k = 0; k < kBytesOfChunk / each; ++k) {
        int64_t place = coordinates[0] + chunk * kBytesOfChunk / each + k;
        bool exists = inside && place >= 0 && uint64_t(place) < map.dims[0];
        part.device.push_back(exists ? base + uint64_t(place) * each : 0);
      }
      chunks.push_back(std::move(part));
    }
  }
  return chunks;
}

std::vector<BulkRow> skewer::gpu::rowsOfBytes(uint64_t device, uint64_t shared, uint64_t bytes) {
  std::vector<BulkRow> chunks;
  for (uint64_t k = 0; k < bytes; k += kBytesOfChunk)
    chunks.push_back({shared + k, {device + k, device + k + 8}, 8});
  return chunks;
}

void BulkCopies::load(const std::vector<BulkRow> &rows, uint64_t mbarrier, const Access &access) {
  std::optional<Event> event = mbarriers.beginCopy(mbarrier, access);
  if (!event)
    return;
  const Knowledge visible = clocks.of(access.thread);
  size_t each = std::max<size_t>(1, (rows.size() + kParts - 1) / kParts);
  for (size_t first = 0; first < rows.size(); first += each) {
    Part part;
    part.mbarrier = mbarrier;
    part.event = *event;
    part.access = access;
    for (size_t k = first; k < std::min(first + each, rows.size()); ++k) {
      const BulkRow &row = rows[k];
      part.bytes += row.bytes();
      if (!history.asyncWrite(row.shared, row.bytes(), *event, visible, access))
        continue;
      std::vector<uint8_t> contents;
      for (uint64_t address : row.device) {
        uint64_t value = address ? device.load(address, row.each, access) : 0;
        for (unsigned byte = 0; byte < row.each; ++byte)
          contents.push_back(uint8_t(value >> 8 * byte));
      }
      part.rows.push_back({row.shared, std::move(contents)});
    }
    landing.push_back(std::move(part));
  }
}

void BulkCopies::land(std::mt19937 &random) {
  size_t chosen = random() % landing.size();
  Part part = std::move(landing[chosen]);
  landing.erase(landing.begin() + std::ptrdiff_t(chosen));
  for (const auto &[address, contents] : part.rows)
    std::copy(contents.begin(), contents.end(), shared.data() + address);
  if (part.ofThread)
    mbarriers.arriveFor(part.mbarrier, part.event, part.access);
  else
    mbarriers.complete(part.mbarrier, part.bytes, part.event, part.access);
}

void BulkCopies::arriveBehind(std::vector<std::pair<uint64_t, std::vector<uint8_t>>> rows, uint64_t mbarrier,
                              Event copies, const Access &access) {
  Part part;
  part.rows = std::move(rows);
  part.mbarrier = mbarrier;
  part.event = copies;
  part.access = access;
  part.ofThread = true;
  landing.push_back(std::move(part));
}

BulkCopies::Thread &BulkCopies::of(unsigned thread) {
  Thread &state = threads[thread];
  if (!state.agent)
    state.agent = clocks.add(fmt::format("a bulk store of thread {}", thread));
  return state;
}

void BulkCopies::store(std::vector<BulkRow> rows, const Access &access) {
  Thread &state = of(access.thread);
  const Knowledge visible = clocks.of(access.thread);
  for (const BulkRow &row : rows)
    if (!history.asyncRead(row.shared, row.bytes(), {state.agent, state.committed + 1}, visible, access))
      return;
  state.open.push_back({std::move(rows), access});
}

void BulkCopies::commit(unsigned thread) {
  Thread &state = of(thread);
  state.groups.push_back(std::move(state.open));
  state.open.clear();
  ++state.committed;
}

void BulkCopies::wait(unsigned thread, size_t pending) {
  Thread &state = of(thread);
  while (state.groups.size() > pending) {
    for (const Store &store : state.groups.front())
      for (const BulkRow &row : store.rows)
        for (size_t k = 0; k < row.device.size(); ++k) {
          uint64_t value = 0;
          for (unsigned byte = 0; byte < row.each; ++byte)
            value |= uint64_t(shared.data()[row.shared + k * row.each + byte]) << 8 * byte;
          if (row.device[k])
            device.store(row.device[k], row.each, value, store.access);
        }
    state.groups.pop_front();
    ++state.read;
  }
  clocks.of(thread).raise({state.agent, state.read});
}

void BulkCopies::end() {
  if (!landing.empty())
    report.add(FaultKind::Race, landing.front().access.operation,
               fmt::format("block {} ends before this copy has arrived", landing.front().access.block));
}

void BulkCopies::endThread(unsigned thread, mlir::Operation *end) {
  auto found = threads.find(thread);
  if (found == threads.end() || (found->second.groups.empty() && found->second.open.empty()))
    return;
  report.add(FaultKind::Race, end,
             fmt::format("thread {} ends before its bulk stores have read shared memory", thread));
}
