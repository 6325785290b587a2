// The machine code of a kernel in this process.
#pragma once
#include "Tensor.h"
#include "skewer.h"

namespace skewer::python {

/// Makes code that is loaded from now on, or has not been called yet, use AMX or not.
void refuseAmx(bool refused);

/// The entries are those of docs/abi.md; null where the code has none.
class LoadedCode {
public:
  /// Loads the code from `sharedObject`, the path of a shared object, or, if that is empty, from `objects`, the bytes
  /// of object files.
  LoadedCode(const std::string &name, nb::list objects, const std::string &sharedObject);
  LoadedCode(const LoadedCode &) = delete;
  ~LoadedCode();

  int32_t (*entry)(const void *args, const void *exec) = nullptr;
  size_t (*workspaceBytes)(const void *args, const void *exec) = nullptr;
  const char *(*codeName)() = nullptr; // of a kernel with several codes
  // For GPUs.
  int32_t (*cudaEntry)(const void *args, const void *exec) = nullptr;
  size_t (*cudaWorkspaceBytes)(const void *args) = nullptr;
  // For a kernel with `const` operands.
  size_t (*preparedBytes)() = nullptr;
  int32_t (*prepareEntry)(const void *args, const void *exec, void *prepared) = nullptr;
  int32_t (*preparedEntry)(const void *args, const void *exec, const void *prepared) = nullptr;

private:
  void unload();

  skewer_loaded *loaded = nullptr;
  void *library = nullptr;
};

} // namespace skewer::python
