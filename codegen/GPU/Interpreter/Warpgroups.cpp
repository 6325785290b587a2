// Compares the instructions of a warpgroup's warps, and moves registers between the warps of a block.
#include "codegen/GPU/Interpreter/Warpgroups.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

using namespace skewer::gpu;

void Warpgroups::note(const Warp &warp, std::vector<uint64_t> operands) {
  unsigned first = warp.index / kWarpsOfGroup * kWarpsOfGroup;
  if (first + kWarpsOfGroup > places.size()) {
    report.add(FaultKind::Divergence, warp.operation,
               fmt::format("warp {} belongs to no whole warpgroup of four: the block has {} warps", warp.index,
                           places.size()));
    return;
  }
  Group &group = groups[warp.index / kWarpsOfGroup];
  uint64_t place = places[warp.index]++ - group.first;
  if (place == group.entries.size()) {
    group.entries.push_back({warp.operation, std::move(operands)});
  } else if (group.entries[place].operation != warp.operation || group.entries[place].operands != operands) {
    report.add(FaultKind::Divergence, warp.operation,
               fmt::format("warp {} of block {} comes here{}, where another warp of its warpgroup came {}", warp.index,
                           warp.block->index,
                           group.entries[place].operation == warp.operation ? " with other operands" : "",
                           group.entries[place].operation == warp.operation ? "too" : "to another instruction"));
  }
  uint64_t least = *std::min_element(places.begin() + first, places.begin() + first + kWarpsOfGroup);
  for (; group.first < least; ++group.first)
    group.entries.pop_front();
}

void Warpgroups::end() {
  for (const Group &group : groups)
    if (!group.entries.empty())
      report.add(FaultKind::Divergence, group.entries.front().operation,
                 "some warps of a warpgroup execute this, and others end without it");
}

namespace {
constexpr unsigned kRegisters = 65536;
/// Returns the registers that a thread begins with if the kernel states its number of threads and one block for each
/// multiprocessor: an equal share, rounded down to a multiple of 8 (168 for 384 threads).
unsigned shareOf(unsigned threads) { return std::min(kRegisters / threads, 255u) / 8 * 8; }
} // namespace

RegisterFile::RegisterFile(unsigned threads) : counts(threads / kLanes, shareOf(threads)) {}

unsigned RegisterFile::free() const { return kRegisters / kLanes - std::accumulate(counts.begin(), counts.end(), 0u); }

bool RegisterFile::set(const Warp &warp, unsigned count, bool increase, Report &report) {
  unsigned &own = counts[warp.index];
  if (count < 24 || count > 256 || count % 8)
    report.add(FaultKind::Misuse, warp.operation,
               fmt::format("{} registers; a multiple of 8 from 24 to 256 is needed", count));
  else if (increase ? count < own : count > own)
    report.add(FaultKind::Misuse, warp.operation,
               fmt::format("warp {} has {} registers a thread, and setmaxnreg.{} asks for {}", warp.index, own,
                           increase ? "inc" : "dec", count));
  if (count > own && count - own > free())
    return false;
  own = count;
  ++changed;
  return true;
}
