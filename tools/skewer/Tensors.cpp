// Converts between float64 and the element types of kernels.
#include "tools/skewer/Tensors.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace skewer::driver {

std::optional<int64_t> elementsOf(llvm::ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product))
      return std::nullopt;
  }
  return product;
}

std::string textOf(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t k = 0; k < shape.size(); ++k)
    text += fmt::format("{}{}", k ? ", " : "", shape[k]);
  return text + "]";
}

static uint16_t bf16Of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value) // a NaN with a payload in the lower half must not round to infinity
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
static float ofBf16(uint16_t half) {
  uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Returns the bits of the nearest number of f8e4m3, the even one of two equally near. A larger number becomes 448.
static uint8_t f8e4m3Of(double value) {
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value))
    return sign | 0x7f;
  double size = std::min(std::fabs(value), 448.0);
  int exponent = std::max(size > 0 ? std::ilogb(size) : -6, -6); // below 2^-6 all steps are as large
  double steps = std::nearbyint(std::ldexp(size, 3 - exponent));
  return static_cast<uint8_t>(sign | ((exponent + 6) * 8 + static_cast<int>(steps)));
}
static double ofF8e4m3(uint8_t bits) {
  int exponent = bits >> 3 & 15, fraction = bits & 7;
  double size = (bits & 0x7f) == 0x7f ? NAN
                : exponent            ? std::ldexp(8 + fraction, exponent - 10)
                                      : std::ldexp(fraction, -9);
  return bits & 0x80 ? -size : size;
}

double roundTo(ElementType type, double value) {
  switch (type) {
  case ElementType::F32:
    return static_cast<float>(value);
  case ElementType::F16:
    return static_cast<double>(static_cast<_Float16>(value));
  case ElementType::BF16:
    return ofBf16(bf16Of(static_cast<float>(value)));
  case ElementType::I32:
    return std::nearbyint(value);
  case ElementType::I8:
    return std::clamp(std::nearbyint(value), -128.0, 127.0);
  case ElementType::F8E4M3:
    return ofF8e4m3(f8e4m3Of(value));
  }
  return value;
}

static bool atGuardPages = false;
void Buffer::endAtGuardPages(bool on) { atGuardPages = on; }

void Buffer::Free::operator()(void *pointer) const {
  if (mapping)
    munmap(mapping, mapped);
  else
    std::free(pointer);
}

bool Buffer::allocateAtGuardPage(size_t alignment) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), usable = (bytes + alignment + page - 1) / page * page;
  void *mapping = mmap(nullptr, usable + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED || mprotect(mapping, usable, PROT_READ | PROT_WRITE) != 0)
    return false;
  size_t offset = (usable - bytes) / alignment * alignment;
  memory = std::unique_ptr<void, Free>(static_cast<char *>(mapping) + offset, Free(mapping, usable + page));
  return true;
}

Buffer::Buffer(size_t bytes, size_t alignment) : bytes(bytes) {
  if (atGuardPages) {
    allocateAtGuardPage(alignment);
    return;
  }
  // A tensor of many pages uses huge pages if the system has them, as NumPy and most allocators for models do. Times
  // are then those of the kernel, not of page table walks.
  constexpr size_t kHugePage = size_t(2) << 20, kMany = 2 * kHugePage;
  size_t unit = bytes >= kMany ? kHugePage : 64, rounded = std::max((bytes + unit - 1) / unit * unit, unit);
  memory.reset(std::aligned_alloc(unit, rounded));
  if (!memory)
    return;
  if (unit == kHugePage)
    madvise(memory.get(), rounded, MADV_HUGEPAGE);
  std::memset(memory.get(), 0, rounded);
}

void pack(ElementType type, llvm::ArrayRef<double> values, void *to) {
  switch (type) {
  case ElementType::F32:
    for (size_t k = 0; k < values.size(); ++k)
      static_cast<float *>(to)[k] = static_cast<float>(values[k]);
    return;
  case ElementType::F16:
    for (size_t k = 0; k < values.size(); ++k)
      static_cast<_Float16 *>(to)[k] = static_cast<_Float16>(values[k]);
    return;
  case ElementType::BF16:
    for (size_t k = 0; k < values.size(); ++k)
      static_cast<uint16_t *>(to)[k] = bf16Of(static_cast<float>(values[k]));
    return;
  case ElementType::I32:
    for (size_t k = 0; k < values.size(); ++k)
      static_cast<int32_t *>(to)[k] = static_cast<int32_t>(values[k]);
    return;
  case ElementType::I8:
    for (size_t k = 0; k < values.size(); ++k)
      static_cast<int8_t *>(to)[k] = static_cast<int8_t>(values[k]);
    return;
  case ElementType::F8E4M3:
    for (size_t k = 0; k < values.size(); ++k)
      static_cast<uint8_t *>(to)[k] = f8e4m3Of(values[k]);
    return;
  }
}

double unpack(ElementType type, const void *from, int64_t index) {
  switch (type) {
  case ElementType::F32:
    return static_cast<const float *>(from)[index];
  case ElementType::F16:
    return static_cast<double>(static_cast<const _Float16 *>(from)[index]);
  case ElementType::BF16:
    return ofBf16(static_cast<const uint16_t *>(from)[index]);
  case ElementType::I32:
    return static_cast<const int32_t *>(from)[index];
  case ElementType::I8:
    return static_cast<const int8_t *>(from)[index];
  case ElementType::F8E4M3:
    return ofF8e4m3(static_cast<const uint8_t *>(from)[index]);
  }
  return 0;
}

Array unpack(ElementType type, const void *from, llvm::ArrayRef<int64_t> shape) {
  Array array{shape.vec(), std::vector<double>(*elementsOf(shape))};
  for (size_t k = 0; k < array.values.size(); ++k)
    array.values[k] = unpack(type, from, static_cast<int64_t>(k));
  return array;
}

} // namespace skewer::driver
