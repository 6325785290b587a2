// Places buffers one after the other, each at the beginning of a cache line (Layout.h).
#include "passes/Cpu/Layout.h"

using namespace skewer;

void Layout::reserve(Buffer &buffer, int64_t floats, Zone zone, Space space) {
  buffer.floats = floats;
  entries.push_back({&buffer, zone, space});
}

void Layout::place() {
  for (int zone = 0; zone <= int(Zone::Windows); ++zone)
    for (const Entry &entry : entries)
      if (int(entry.zone) == zone)
        *entry.buffer = skewer::reserve(bytes[entry.space == Space::Shared], entry.buffer->floats);
}
