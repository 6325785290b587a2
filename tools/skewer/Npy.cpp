// Reads and writes .npy files. The format: numpy.lib.format in NumPy's reference.
#include "tools/skewer/Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cctype>
#include <cstring>
#include <fmt/format.h>

namespace skewer::driver {

static llvm::Error wrong(const std::string &text) {
  return llvm::createStringError(std::errc::invalid_argument, "%s", text.c_str());
}

namespace {
/// The dictionary of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
struct Header {
  std::string type;
  bool fortran = false;
  std::vector<int64_t> shape;
  bool hasType = false, hasOrder = false, hasShape = false;
};

class HeaderReader {
public:
  explicit HeaderReader(llvm::StringRef text) : rest(text) {}

  bool read(Header &header) {
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!quoted(key) || !take(':') || !value(key, header))
        return false;
      if (!take(',')) {
        if (!take('}'))
          return false;
        break;
      }
    }
    return header.hasType && header.hasOrder && header.hasShape;
  }

private:
  bool take(char c) {
    rest = rest.ltrim(" \t\r\n");
    return rest.consume_front(llvm::StringRef(&c, 1));
  }
  bool quoted(std::string &text) {
    rest = rest.ltrim(" \t\r\n");
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
      return false;
    size_t end = rest.find(rest[0], 1);
    if (end == llvm::StringRef::npos)
      return false;
    text = rest.slice(1, end).str();
    rest = rest.drop_front(end + 1);
    return true;
  }
  bool value(llvm::StringRef key, Header &header) {
    if (key == "descr") {
      header.hasType = true;
      if (quoted(header.type))
        return true;
      // A structured type is a list of fields. Its text is kept for the error message, and the header is not read
      // further.
      header.type = rest.take_until([](char c) { return c == ']'; }).str() + "]";
      return header.hasOrder = header.hasShape = true, rest = "}", true;
    }
    if (key == "fortran_order") {
      header.hasOrder = true;
      rest = rest.ltrim(" \t\r\n");
      header.fortran = rest.consume_front("True");
      return header.fortran || rest.consume_front("False");
    }
    if (key != "shape" || !take('('))
      return false;
    header.hasShape = true;
    while (!take(')')) {
      int64_t size;
      rest = rest.ltrim(" \t\r\n");
      if (header.shape.size() == 32 || rest.consumeInteger(10, size) || size < 0)
        return false;
      rest.consume_front("L"); // written by Python 2
      header.shape.push_back(size);
      if (!take(',')) {
        if (!take(')'))
          return false;
        break;
      }
    }
    return true;
  }

  llvm::StringRef rest;
};
} // namespace

static std::string printable(llvm::StringRef text) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  llvm::printEscapedString(text.take_front(60), stream);
  return out;
}

/// Returns the bytes of an element of a supported type; 0 for any other type.
static unsigned widthOf(llvm::StringRef type) {
  return type == "<f4" || type == "<i4"   ? 4
         : type == "<f8" || type == "<i8" ? 8
         : type == "<f2"                  ? 2
         : type == "|i1" || type == "|u1" ? 1
                                          : 0;
}
static bool isWhole(llvm::StringRef type) { return type.starts_with("<i"); }

llvm::Expected<NpyFile> parseNpy(llvm::StringRef bytes) {
  if (!bytes.starts_with("\x93NUMPY"))
    return wrong("not a .npy file: expected the bytes \"\\x93NUMPY\" at its beginning");
  if (bytes.size() < 10)
    return wrong(fmt::format("cut short: expected a header of at least 10 bytes, found {}", bytes.size()));
  unsigned version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return wrong(fmt::format("expected .npy format version 1, 2 or 3, found {}", version));
  size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start)
    return wrong(fmt::format("cut short: expected a header of at least {} bytes, found {}", start, bytes.size()));
  size_t length = version == 1 ? llvm::support::endian::read16le(bytes.data() + 8)
                               : llvm::support::endian::read32le(bytes.data() + 8);
  if (bytes.size() - start < length)
    return wrong(fmt::format("cut short: expected a header of {} bytes, found {}", start + length, bytes.size()));

  Header header;
  llvm::StringRef text = bytes.substr(start, length);
  if (!HeaderReader(text).read(header))
    return wrong(
        fmt::format("expected a header {{'descr': …, 'fortran_order': …, 'shape': …}}, found \"{}\"", printable(text)));
  unsigned width = widthOf(header.type);
  if (!width)
    return wrong(
        fmt::format("expected elements of type <f4, <f8, <f2, |i1, |u1, <i4 or <i8, found {}", printable(header.type)));
  if (header.fortran)
    return wrong("expected C order (row-major), found Fortran order; write it with numpy.ascontiguousarray");
  std::optional<int64_t> count = elementsOf(header.shape);
  int64_t size;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(width), &size))
    return wrong(fmt::format("the shape {} has more elements than memory can hold", textOf(header.shape)));
  llvm::StringRef data = bytes.drop_front(start + length);
  if (data.size() != static_cast<uint64_t>(size))
    return wrong(fmt::format("{}: expected {} bytes of data for shape {} of {}, found {}",
                             data.size() < static_cast<uint64_t>(size) ? "cut short" : "bytes left over", size,
                             textOf(header.shape), header.type, data.size()));

  NpyFile file{header.type, {header.shape, std::vector<double>(*count)}};
  for (int64_t k = 0; k < *count; ++k) {
    const char *at = data.data() + k * width;
    if (width == 1) {
      file.array.values[k] = header.type == "|u1" ? static_cast<unsigned char>(*at) : static_cast<signed char>(*at);
    } else if (isWhole(header.type)) {
      // An <i8 beyond 2^53 is rounded; no user of whole numbers accepts such large ones.
      file.array.values[k] =
          static_cast<double>(width == 4 ? llvm::support::endian::read<int32_t>(at, llvm::endianness::little)
                                         : llvm::support::endian::read<int64_t>(at, llvm::endianness::little));
    } else if (width == 4) {
      float value;
      std::memcpy(&value, at, 4);
      file.array.values[k] = value;
    } else if (width == 8) {
      std::memcpy(&file.array.values[k], at, 8);
    } else {
      _Float16 value;
      std::memcpy(&value, at, 2);
      file.array.values[k] = static_cast<double>(value);
    }
  }
  return file;
}

llvm::Expected<NpyFile> readNpy(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return wrong(fmt::format("cannot read it: {}", buffer.getError().message()));
  return parseNpy((*buffer)->getBuffer());
}

std::string npyBytes(const Array &array, llvm::StringRef type) {
  std::string shape = "(";
  for (int64_t size : array.shape)
    shape += fmt::format("{}, ", size);
  // NumPy writes (3,) for one dimension and (2, 3) for two.
  if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  else if (!array.shape.empty())
    shape.pop_back();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}), }}", type.str(), shape);
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  size_t start = bytes.size();
  unsigned width = widthOf(type);
  bytes.resize(start + array.values.size() * width);
  for (size_t k = 0; k < array.values.size(); ++k) {
    char *at = &bytes[start + k * width];
    if (isWhole(type)) {
      // Float64 rounds some numbers below 2^63 up to it; they become INT64_MAX. The lower bytes come first.
      int64_t value = array.values[k] < 0x1p63 ? static_cast<int64_t>(array.values[k]) : INT64_MAX;
      std::memcpy(at, &value, width);
    } else if (width == 4) {
      float value = static_cast<float>(array.values[k]);
      std::memcpy(at, &value, 4);
    } else if (width == 8) {
      std::memcpy(at, &array.values[k], 8);
    } else if (width == 1) {
      *at = static_cast<char>(static_cast<int>(array.values[k]));
    } else {
      _Float16 value = static_cast<_Float16>(array.values[k]);
      std::memcpy(at, &value, 2);
    }
  }
  return bytes;
}

} // namespace skewer::driver
