// An array of any library, as memory with a shape and strides.
#pragma once
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <string>
#include <vector>

namespace skewer::python {

namespace nb = nanobind;

enum class Element : uint8_t { F32, F16, BF16, I32, I8, I64, Bool, Other };
int64_t bytesOf(Element);
const char *nameOf(Element); // "float32"

/// Holds the array alive while it lives. Strides are in elements.
class Tensor {
public:
  /// Reads the buffer protocol, else DLPack. `typeName` is what messages call the elements' type; `deviceName` is
  /// empty on the processor. False, and a Python exception is set, where the object is no array.
  /// `isResolved`: it is known not to be one that PyTorch negates as it is read.
  bool take(nb::handle array, bool isWritten, bool isResolved);
  Tensor() = default;
  Tensor(const Tensor &) = delete;
  ~Tensor();

  void *data = nullptr;
  Element element = Element::Other;
  std::string typeName, deviceName;
  int gpu = -1; // the number of the GPU whose memory it is
  std::vector<int64_t> shape, strides;
  bool isReadOnly = false;
  bool isOfFramework = false; // it came by DLPack
  bool isNegated = false;     // PyTorch's lazy negation: what was taken is a copy that holds the numbers

  int64_t elements() const;
  /// Row-major without gaps; axes of length 1 may have any stride.
  bool isContiguous() const;
  /// What a kernel reads in place.
  bool isReadable() const;
  /// Copies from, or to, row-major memory without gaps.
  void copyTo(void *packed) const { copy(packed, /*out=*/true); }
  void copyFrom(const void *packed) { copy(const_cast<void *>(packed), /*out=*/false); }

private:
  bool takeBuffer(nb::handle array, bool isWritten);
  bool takeExchange(nb::handle array);
  bool takeDlpack(nb::handle array);
  void fill(void *memory, nb::dlpack::dtype, int deviceType, int deviceId, size_t rank, const int64_t *extents,
            const int64_t *steps);
  void copy(void *packed, bool out) const;

  Py_buffer buffer = {};
  bool hasBuffer = false;
  nb::object viewed; // an array that was made to look at another one
  nb::ndarray<> dlpack;
};

} // namespace skewer::python
