// Regions of a workspace, and how they are put one behind the other.
#pragma once
#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace skewer {

/// A region of a workspace, in floats, 64-byte aligned.
struct Buffer {
  int64_t offset = 0; // bytes
  int64_t floats = 0;
};

/// A place in the shared workspace: an offset in bytes, which counts from the end of the fixed part and is multiplied
/// by the run-time sizes where it is scaled. Or one in prepared memory.
struct Place {
  int64_t offset = 0;
  bool scaled = false;
  bool prepared = false;
};

/// A region behind the `bytes` that are taken, which grow by it up to the next cache line.
inline Buffer reserve(int64_t &bytes, int64_t floats) {
  Buffer buffer{bytes, floats};
  bytes += llvm::alignTo(floats * 4, 64);
  return buffer;
}

} // namespace skewer
