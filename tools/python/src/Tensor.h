// An array of any library (NumPy, PyTorch, JAX and others), as memory with a shape and strides. Every call reads its
// arrays through it.
#pragma once
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <string>
#include <vector>

namespace skewer::python {

namespace nb = nanobind;

enum class Element : uint8_t { F32, F16, BF16, I32, I8, F8E4M3, I64, Bool, Other };
int64_t bytesOf(Element);
const char *nameOf(Element); // "float32"

/// Keeps the array alive during its lifetime. Strides are in elements.
class Tensor {
public:
  /// Reads the array through the buffer protocol, else through DLPack. `typeName` is the name of the element type for
  /// messages; `deviceName` is empty on the processor. Returns false, and sets a Python exception, if the object is not
  /// an array. `isResolved`: the array is known not to be one that PyTorch negates when it is read.
  bool take(nb::handle array, bool isWritten, bool isResolved);
  Tensor() = default;
  Tensor(const Tensor &) = delete;
  ~Tensor();

  void *data = nullptr;
  Element element = Element::Other;
  std::string typeName, deviceName;
  int gpu = -1; // the number of the GPU whose memory holds it
  std::vector<int64_t> shape, strides;
  bool isReadOnly = false;
  bool isOfFramework = false; // it was read through DLPack
  bool isNegated = false;     // PyTorch's lazy negation: `data` is a copy with the negated numbers

  int64_t elements() const;
  /// Returns whether the memory is row-major without gaps; axes of length 1 may have any stride.
  bool isContiguous() const;
  /// Returns whether a kernel can read the array in place.
  bool isReadable() const;
  /// Copy to and from row-major memory without gaps.
  void copyTo(void *packed) const { copy(packed, /*out=*/true); }
  void copyFrom(const void *packed) { copy(const_cast<void *>(packed), /*out=*/false); }

private:
  bool takeBuffer(nb::handle array, bool isWritten);
  bool takeExchange(nb::handle array);
  bool takeDlpack(nb::handle array);
  bool takeBits(nb::handle array, bool isWritten);
  void fill(void *memory, nb::dlpack::dtype, int deviceType, int deviceId, size_t rank, const int64_t *extents,
            const int64_t *steps);
  void copy(void *packed, bool out) const;

  Py_buffer buffer = {};
  bool hasBuffer = false;
  nb::object viewed; // an array that was made as a view of another one
  nb::ndarray<> dlpack;
};

} // namespace skewer::python
