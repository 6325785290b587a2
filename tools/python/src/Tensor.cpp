// Reads arrays through the buffer protocol, which is the fastest way, or through DLPack.
#include "Tensor.h"
#include <cstring>

namespace skewer::python {

int64_t bytesOf(Element element) {
  switch (element) {
  case Element::I64:
    return 8;
  case Element::F32:
  case Element::I32:
    return 4;
  case Element::I8:
  case Element::F8E4M3:
  case Element::Bool:
    return 1;
  default:
    return 2;
  }
}

const char *nameOf(Element element) {
  constexpr const char *kNames[] = {"float32",       "float16", "bfloat16", "int32",       "int8",
                                    "float8_e4m3fn", "int64",   "bool",     "another type"};
  return kNames[int(element)];
}

Tensor::~Tensor() {
  if (hasBuffer)
    PyBuffer_Release(&buffer);
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

bool Tensor::isContiguous() const {
  if (elements() == 0)
    return true;
  int64_t expected = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    if (shape[k] != 1 && strides[k] != expected)
      return false;
    expected *= shape[k];
  }
  return true;
}

bool Tensor::isReadable() const { return isContiguous() && reinterpret_cast<uintptr_t>(data) % bytesOf(element) == 0; }

/// Returns the element type for a format of the struct module, in the machine's byte order.
static Element elementOf(const char *format, int64_t bytes, std::string &name) {
  if (format && (*format == '>' || *format == '!') && bytes > 1) {
    elementOf(format + 1, bytes, name);
    name += " whose bytes are in the other order (big-endian)";
    return Element::Other;
  }
  if (format && (*format == '@' || *format == '=' || *format == '<'))
    ++format;
  char letter = format && format[0] && !format[1] ? format[0] : '?';
  name = format ? format : "unsigned bytes";
  switch (letter) {
  case 'f':
    return name = "float32", Element::F32;
  case 'e':
    return name = "float16", Element::F16;
  case 'H': // the bits of a bfloat16; NumPy has no such type
    return name = "bfloat16 (as uint16)", Element::BF16;
  case 'b':
    return name = "int8", Element::I8;
  case 'B': // the bits of a float8_e4m3fn
    return name = "uint8", Element::F8E4M3;
  case 'g':
    return name = "longdouble", Element::Other;
  case 'O':
    return name = "object", Element::Other;
  case 'I':
  case 'L':
  case 'Q':
    return name = "uint" + std::to_string(bytes * 8), Element::Other;
  case 'h':
    return name = "int16", Element::Other;
  case 'd':
    return name = "float64", Element::Other;
  case '?':
    if (name == "?")
      return name = "bool", Element::Bool;
    name = name == "Zf" ? "complex64" : name == "Zd" ? "complex128" : "type '" + name + "'";
    return Element::Other;
  case 'i':
  case 'l':
  case 'q':
    name = "int" + std::to_string(bytes * 8);
    return bytes == 4 ? Element::I32 : bytes == 8 ? Element::I64 : Element::Other;
  default:
    name = "type '" + name + "'";
    return Element::Other;
  }
}

bool Tensor::takeBuffer(nb::handle array, bool isWritten) {
  int flags = PyBUF_STRIDES | PyBUF_FORMAT | (isWritten ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(array.ptr(), &buffer, flags)) {
    // If writing is requested, the error must be that the memory is read-only, not that the object is no array.
    PyErr_Clear();
    if (!isWritten || PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_STRIDES | PyBUF_FORMAT))
      return PyErr_Clear(), false;
  }
  hasBuffer = true;
  data = buffer.buf;
  isReadOnly = buffer.readonly;
  element = elementOf(buffer.format, buffer.itemsize, typeName);
  shape.assign(buffer.shape, buffer.shape + buffer.ndim);
  for (int k = 0; k < buffer.ndim; ++k) {
    if (element != Element::Other && buffer.strides[k] % buffer.itemsize)
      element = Element::Other, typeName += " with strides between its elements";
    strides.push_back(buffer.strides[k] / (buffer.itemsize ? buffer.itemsize : 1));
  }
  return true;
}

/// The functions with which C code can read a library's arrays without a Python object for each: a part of
/// DLPackExchangeAPI, version 1.3 of dlpack.h.
struct ExchangeApi {
  uint32_t major, minor;
  ExchangeApi *previous;
  void *allocate, *fromObject, *toObject;
  int (*look)(void *array, nb::dlpack::dltensor *);
};

/// Returns the functions for the type of `array`; null if it has none. All callers hold the interpreter's lock.
static const ExchangeApi *exchangeOf(nb::handle array) {
  static PyTypeObject *known = nullptr; // never released: most programs have one such type
  static const ExchangeApi *itsApi = nullptr;
  PyTypeObject *type = Py_TYPE(array.ptr());
  if (type == known)
    return itsApi;
  nb::object capsule =
      nb::getattr(nb::handle(reinterpret_cast<PyObject *>(type)), "__dlpack_c_exchange_api__", nb::none());
  const ExchangeApi *api = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api"))
    api = static_cast<const ExchangeApi *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (api && api->major != 1)
    api = api->previous;
  if (!api || !api->look)
    return nullptr;
  Py_INCREF(type);
  known = type, itsApi = api;
  return api;
}

bool Tensor::takeExchange(nb::handle array) {
  const ExchangeApi *api = exchangeOf(array);
  nb::dlpack::dltensor tensor;
  if (!api || api->look(array.ptr(), &tensor))
    return PyErr_Clear(), false;
  fill(static_cast<char *>(tensor.data) + tensor.byte_offset, tensor.dtype, tensor.device.device_type,
       tensor.device.device_id, size_t(tensor.ndim), tensor.shape, tensor.strides);
  isOfFramework = true;
  return true;
}

bool Tensor::takeDlpack(nb::handle array) {
  if (!nb::try_cast(array, dlpack))
    return PyErr_Clear(), false;
  fill(dlpack.data(), dlpack.dtype(), dlpack.device_type(), dlpack.device_id(), dlpack.ndim(), dlpack.shape_ptr(),
       dlpack.stride_ptr());
  isOfFramework = true;
  return true;
}

void Tensor::fill(void *memory, nb::dlpack::dtype type, int deviceType, int deviceId, size_t rank,
                  const int64_t *extents, const int64_t *steps) {
  data = memory;
  auto is = [&](nb::dlpack::dtype_code code, int bits) {
    return type.code == uint8_t(code) && type.bits == bits && type.lanes == 1;
  };
  using Code = nb::dlpack::dtype_code;
  constexpr auto kFloat8E4M3Fn = static_cast<nb::dlpack::dtype_code>(10); // since version 1.1 of dlpack.h
  element = is(Code::Float, 32)      ? Element::F32
            : is(Code::Float, 16)    ? Element::F16
            : is(Code::Bfloat, 16)   ? Element::BF16
            : is(Code::Int, 32)      ? Element::I32
            : is(Code::Int, 8)       ? Element::I8
            : is(kFloat8E4M3Fn, 8)   ? Element::F8E4M3
            : is(Code::UInt, 8)      ? Element::F8E4M3 // its bits
            : is(Code::Int, 64)      ? Element::I64
            : is(Code::Bool, 8)      ? Element::Bool
                                     : Element::Other;
  if (element == Element::Other) { // otherwise the name is not used
    const char *family = type.code == uint8_t(Code::Int)      ? "int"
                         : type.code == uint8_t(Code::UInt)   ? "uint"
                         : type.code == uint8_t(Code::Float)  ? "float"
                         : type.code == uint8_t(Code::Bfloat)  ? "bfloat"
                         : type.code == uint8_t(Code::Complex) ? "complex"
                                                               : "another type of bits: ";
    typeName = family + std::to_string(type.bits) + (type.lanes == 1 ? "" : "x" + std::to_string(type.lanes));
  } else {
    typeName = is(Code::UInt, 8) ? "uint8" : nameOf(element);
  }
  if (deviceType != nb::device::cpu::value && deviceType != nb::device::cuda_host::value)
    deviceName = deviceType == nb::device::cuda::value
                     ? "CUDA device " + std::to_string(deviceId)
                     : "a device that is not the processor (DLPack number " + std::to_string(deviceType) + ")";
  if (deviceType == nb::device::cuda::value || deviceType == nb::device::cuda_managed::value)
    gpu = deviceId;
  shape.assign(extents, extents + rank);
  strides.resize(rank);
  int64_t contiguous = 1;
  for (size_t k = rank; k-- > 0; contiguous *= shape[k])
    strides[k] = steps ? steps[k] : contiguous;
}

/// Returns, for PyTorch's tensors, whether readers must negate the numbers in memory (`z.conj().imag`), which DLPack
/// does not say.
static bool negates(nb::handle array) {
  PyObject *method = PyObject_GetAttrString(array.ptr(), "is_neg");
  if (!method)
    return PyErr_Clear(), false;
  nb::object known = nb::steal(method), answer = nb::steal(PyObject_CallNoArgs(method));
  if (!answer.is_valid())
    PyErr_Clear();
  return answer.ptr() == Py_True;
}

bool Tensor::take(nb::handle array, bool isWritten, bool isResolved) {
  bool mayBuffer = PyObject_CheckBuffer(array.ptr());
  if (mayBuffer && takeBuffer(array, isWritten))
    return true;
  if (!mayBuffer && !isResolved && negates(array)) {
    viewed = array.attr("resolve_neg")();
    array = viewed;
    isNegated = true;
  }
  if (takeExchange(array) || (nb::hasattr(array, "__dlpack__") && takeDlpack(array)))
    return true;
  return takeBits(array, isWritten);
}

/// Reads the bits of an array whose library has the element type, but gives no access to its memory with that type:
/// NumPy's of ml_dtypes, and PyTorch's of 8 bits, which some of its versions do not pass on.
bool Tensor::takeBits(nb::handle array, bool isWritten) {
  if (!nb::hasattr(array, "view") || !nb::hasattr(array, "dtype"))
    return false;
  nb::object type = array.attr("dtype"), name = nb::getattr(type, "name", nb::none());
  if (!nb::isinstance<nb::str>(name)) {
    if (nb::cast<std::string>(nb::str(type)) != "torch.float8_e4m3fn")
      return false;
    PyErr_Clear();
    viewed = array.attr("view")(nb::module_::import_("torch").attr("uint8"));
    return takeExchange(viewed) || takeDlpack(viewed);
  }
  auto called = nb::cast<std::string>(name);
  if (!PyObject_CheckBuffer(array.ptr()) || (called != "bfloat16" && called != "float8_e4m3fn"))
    return false;
  viewed = array.attr("view")(called == "bfloat16" ? "uint16" : "uint8");
  return takeBuffer(viewed, isWritten);
}

template <typename Word> static void copyWords(const Tensor &tensor, Word *packed, bool out) {
  std::vector<int64_t> at(tensor.shape.size(), 0);
  int64_t count = tensor.elements(), place = 0;
  auto *words = static_cast<Word *>(tensor.data);
  size_t rank = tensor.shape.size();
  int64_t inner = rank ? tensor.shape[rank - 1] : 1, step = rank ? tensor.strides[rank - 1] : 1;
  for (int64_t done = 0; done < count; done += inner) {
    for (int64_t k = 0; k < inner; ++k) {
      // Memory may have a smaller alignment than an element.
      Word *outside = words + place + k * step;
      std::memcpy(out ? packed + done + k : outside, out ? outside : packed + done + k, sizeof(Word));
    }
    for (size_t k = rank - (rank ? 1 : 0); k-- > 0;) {
      place += tensor.strides[k];
      if (++at[k] < tensor.shape[k])
        break;
      place -= tensor.strides[k] * tensor.shape[k];
      at[k] = 0;
    }
  }
}

void Tensor::copy(void *packed, bool out) const {
  if (bytesOf(element) == 8)
    copyWords(*this, static_cast<uint64_t *>(packed), out);
  else if (bytesOf(element) == 4)
    copyWords(*this, static_cast<uint32_t *>(packed), out);
  else if (bytesOf(element) == 2)
    copyWords(*this, static_cast<uint16_t *>(packed), out);
  else
    copyWords(*this, static_cast<uint8_t *>(packed), out);
}

} // namespace skewer::python
