// The facts about an engine on which the shape of a kernel depends: how tiles stand in shared memory, how many warps
// multiply together, and whether a block has threads that only fill tiles. A tile asks them by its engine's name.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace skewer::gpu {

/// The engines by their names in machine files and schedules.
constexpr llvm::StringLiteral kMmaSync = "mma_sync", kWgmma = "wgmma", kWgmmaAhead = "wgmma_ahead";

struct EngineFacts {
  llvm::StringLiteral name;
  /// Rows of the product that warps compute together: those of one warp, or of a warpgroup.
  int64_t rowsTogether;
  /// Rows of tiles are not padded. They stand in panels of at most 128 bytes, whose 16-byte chunks are permuted
  /// ("swizzled") so that eight rows fall into different banks.
  bool swizzles;
  /// Threads of a block that fill the tiles while the others multiply; 0: all threads do both.
  int64_t producers;
  /// The products of the next step's scores, and of the values of the step before, run while a step's scores become
  /// weights. Without it, other warpgroups alone use the tensor cores in that time.
  bool runsAhead;
};

/// Returns the facts about the engine of this name; those of mma.sync if there is no such engine.
const EngineFacts &factsOf(llvm::StringRef engine);

} // namespace skewer::gpu
