// A tensor map: the description of a tensor in the device's memory, and of the box that a bulk tensor copy (TMA) moves.
// Launches encode it, and DecodeBulk.cpp decodes it when a copy runs. Limits: CUDA driver API, cuTensorMapEncodeTiled.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace skewer::gpu {

constexpr unsigned kTensorMapBytes = 128;

/// Element types, by their numbers in CUtensorMapDataType.
enum class TensorMapType : uint32_t { U8 = 0, F16 = 6, F32 = 7, BF16 = 9, TF32 = 11 };
unsigned bytesOf(TensorMapType);

/// The arguments of cuTensorMapEncodeTiled that the interpreter models. Element strides are 1, there is no interleave,
/// and elements outside the tensor are read as zeros. Dimensions and coordinates are innermost first.
struct TensorMap {
  TensorMapType type = TensorMapType::BF16;
  unsigned rank = 2;
  uint64_t address = 0;
  std::array<uint64_t, 5> dims{};    // elements
  std::array<uint64_t, 4> strides{}; // bytes, for dimensions from 1 on
  std::array<uint32_t, 5> box{};     // elements
  unsigned swizzleBytes = 0;         // 128, 64, 32, or 0: none

  /// Returns why the driver would refuse the map; "" if it would accept it. A swizzled box must have rows of
  /// `swizzleBytes`. This is stricter than the driver, which accepts shorter rows.
  std::string problem() const;
  unsigned boxBytes() const;
};

/// Returns the map in the interpreter's format: "SKTM", then the fields in their order, little-endian. The driver's own
/// format is secret and differs.
std::array<uint8_t, kTensorMapBytes> encode(const TensorMap &);
/// Returns the map with these bytes; nothing if they are no map of this format.
std::optional<TensorMap> decodeTensorMap(const std::array<uint8_t, kTensorMapBytes> &);

} // namespace skewer::gpu
