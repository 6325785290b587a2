// Encodes, decodes and checks tensor maps.
#include "codegen/GPU/Interpreter/TensorMap.h"
#include <cstring>
#include <fmt/format.h>

using namespace skewer::gpu;

unsigned skewer::gpu::bytesOf(TensorMapType type) {
  switch (type) {
  case TensorMapType::U8:
    return 1;
  case TensorMapType::F16:
  case TensorMapType::BF16:
    return 2;
  case TensorMapType::F32:
  case TensorMapType::TF32:
    return 4;
  }
  return 0;
}

unsigned TensorMap::boxBytes() const {
  unsigned bytes = bytesOf(type);
  for (unsigned k = 0; k < rank; ++k)
    bytes *= box[k];
  return bytes;
}

std::string TensorMap::problem() const {
  unsigned each = bytesOf(type);
  if (!each)
    return fmt::format("type {} is none of u8, f16, f32, bf16, tf32", unsigned(type));
  if (rank < 1 || rank > 5)
    return fmt::format("rank {} is not between 1 and 5", rank);
  if (address % 16)
    return fmt::format("address {:#x} is no multiple of 16", address);
  for (unsigned k = 0; k < rank; ++k) {
    if (dims[k] == 0 || dims[k] > uint64_t(1) << 32)
      return fmt::format("dimension {} has {} elements, not 1 to 2^32", k, dims[k]);
    if (box[k] == 0 || box[k] > 256)
      return fmt::format("the box has {} elements of dimension {}, not 1 to 256", box[k], k);
  }
  for (unsigned k = 0; k + 1 < rank; ++k)
    if (strides[k] % 16 || strides[k] >= uint64_t(1) << 40)
      return fmt::format("stride {} is {} bytes, not a multiple of 16 below 2^40", k + 1, strides[k]);
  unsigned row = box[0] * each;
  if (row % 16)
    return fmt::format("a row of the box has {} bytes, no multiple of 16", row);
  if (swizzleBytes != 0 && swizzleBytes != 32 && swizzleBytes != 64 && swizzleBytes != 128)
    return fmt::format("there is no swizzle of {} bytes", swizzleBytes);
  if (swizzleBytes && row != swizzleBytes)
    return fmt::format("a row of the box has {} bytes, the swizzle has {}", row, swizzleBytes);
  return "";
}

namespace {
constexpr uint32_t kMagic = 0x4d544b53; // "SKTM"

/// Reads the fields of a map from bytes, or writes them to bytes, one after another.
struct Fields {
  uint8_t *place;
  bool writes;
  template <typename T> void field(T &value) {
    writes ? std::memcpy(place, &value, sizeof value) : std::memcpy(&value, place, sizeof value);
    place += sizeof value;
  }
  void all(uint32_t &magic, TensorMap &map) {
    field(magic);
    field(map.type);
    field(map.address);
    field(map.dims);
    field(map.strides);
    field(map.box);
    field(map.rank);
    field(map.swizzleBytes);
  }
};
static_assert(4 + 4 + 8 + 40 + 32 + 20 + 4 + 4 <= kTensorMapBytes);
} // namespace

std::array<uint8_t, kTensorMapBytes> skewer::gpu::encode(const TensorMap &map) {
  std::array<uint8_t, kTensorMapBytes> bytes{};
  uint32_t magic = kMagic;
  TensorMap copy = map;
  Fields{bytes.data(), true}.all(magic, copy);
  return bytes;
}

std::optional<TensorMap> skewer::gpu::decodeTensorMap(const std::array<uint8_t, kTensorMapBytes> &bytes) {
  std::array<uint8_t, kTensorMapBytes> copy = bytes;
  uint32_t magic = 0;
  TensorMap map;
  Fields{copy.data(), false}.all(magic, map);
  if (magic != kMagic)
    return std::nullopt;
  return map;
}
