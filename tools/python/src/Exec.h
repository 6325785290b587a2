// The struct that kernels take in addition to their arguments.
#pragma once
#include <cstdint>

namespace skewer::python {

/// Has exactly the layout of skewer_exec, docs/abi.md.
struct Exec {
  uint32_t size = sizeof(Exec), version = 1;
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
  int32_t workers = 1, reserved = 0;
  void *context = nullptr;
  void (*parallelFor)(void *, int64_t, void (*)(void *, int64_t, int64_t, int32_t), void *) = nullptr;
};

} // namespace skewer::python
