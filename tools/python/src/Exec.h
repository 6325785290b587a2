// The struct that kernels take in addition to their arguments, for calls from Python and from XLA.
#pragma once
#include <cstdint>

namespace skewer::python {

/// A struct with exactly the layout of skewer_exec (docs/abi.md).
struct Exec {
  uint32_t size = sizeof(Exec), version = 1;
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
  int32_t workers = 1, reserved = 0;
  void *context = nullptr;
  void (*parallelFor)(void *, int64_t, void (*)(void *, int64_t, int64_t, int32_t), void *) = nullptr;
};

} // namespace skewer::python
