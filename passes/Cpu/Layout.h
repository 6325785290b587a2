// Where the buffers of a fused attention stand in its two workspaces: whoever needs one asks for it while the kernel is
// planned; when all have asked, `place` says where each one is.
#pragma once
#include "passes/Emit/Buffer.h"
#include <vector>

namespace skewer {

class Layout {
public:
  enum class Space {
    Worker, // one for each worker
    Shared  // one for the kernel: what is packed once a call
  };
  /// Buffers stand in the order of their zones, in a zone as they were asked for.
  enum class Zone { Prepared, Indices, PickedRows, Panels, ValueTerms, Line, Windows };

  /// `buffer.floats` is known from now on, `buffer.offset` from `place` on; the buffer must outlive that.
  void reserve(Buffer &buffer, int64_t floats, Zone, Space = Space::Worker);
  void place();

  /// Multiples of 64.
  int64_t workerBytes() const { return bytes[0]; }
  int64_t sharedBytes() const { return bytes[1]; }

private:
  struct Entry {
    Buffer *buffer;
    Zone zone;
    Space space;
  };
  std::vector<Entry> entries;
  int64_t bytes[2] = {0, 0};
};

} // namespace skewer
