// Regions of a workspace, and their consecutive placement. All lowerings plan their memory with these types.
#pragma once
#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace skewer {

/// A region of a workspace, in floats, 64-byte aligned.
struct Buffer {
  int64_t offset = 0; // in bytes
  int64_t floats = 0;
};

/// A place in the shared workspace, or in prepared memory: an offset in bytes. A scaled offset counts from the end of
/// the fixed part of the workspace, and is multiplied by the run-time sizes.
struct Place {
  int64_t offset = 0;
  bool scaled = false;
  bool prepared = false;
};

/// Reserves a region behind the `bytes` in use, and increases `bytes` by its size, rounded up to whole cache lines.
inline Buffer reserve(int64_t &bytes, int64_t floats) {
  Buffer buffer{bytes, floats};
  bytes += llvm::alignTo(floats * 4, 64);
  return buffer;
}

} // namespace skewer
