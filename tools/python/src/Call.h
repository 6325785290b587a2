// The state of one call of a kernel, shared by the files that implement calls (Kernel.cpp, KernelOnGpu.cpp). Private to
// this folder.
#pragma once
#include "Kernel.h"
#include <cstdlib>
#include <new>

namespace skewer::python {

/// The data of one call: its arrays, the memory that they were copied into, and the argument struct.
struct Kernel::Call {
  std::unique_ptr<Tensor[]> inputs, outputs;
  std::vector<nb::object> results;
  std::vector<std::unique_ptr<void, decltype(&std::free)>> copies;
  std::vector<std::pair<size_t, void *>> copiedOutputs; // results that must be copied back
  std::vector<int64_t> sizes;                           // -1: not known yet
  std::vector<uint64_t> words;
  bool isOnGpu = false, isResolved = false;
  bool isEmpty = false; // no result has an element, so there is nothing to compute
  int gpu = -1; // the GPU whose memory holds the first operand

  void *copyOf(const Tensor &tensor) { return memoryOf(tensor.elements() * bytesOf(tensor.element)); }
  void *memoryOf(int64_t count) {
    size_t bytes = (size_t(count) + 63) / 64 * 64;
    copies.emplace_back(std::aligned_alloc(64, bytes ? bytes : 64), &std::free);
    if (!copies.back())
      throw std::bad_alloc();
    return copies.back().get();
  }
};

inline nb::object errors(const char *what) { return nb::module_::import_("skewer._errors").attr(what); }

[[noreturn]] inline void raise(nb::object exception) {
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

} // namespace skewer::python
