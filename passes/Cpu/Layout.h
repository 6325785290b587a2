// The places of the buffers of a fused attention in its two workspaces. The kernel and its strategies reserve their
// buffers while the kernel is planned; `place` then gives each buffer its offset.
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
  /// The order of the buffers; within a zone, buffers lie in the order of their reservation.
  enum class Zone { Prepared, Indices, PickedRows, Panels, Values, Queries, Block, ValueTerms, Line, Windows };

  /// Reserves a buffer: sets `buffer.floats` now, and `buffer.offset` in `place`. The buffer must outlive that call.
  void reserve(Buffer &buffer, int64_t floats, Zone, Space = Space::Worker);
  void place();

  /// Return the bytes of each workspace, multiples of 64.
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
