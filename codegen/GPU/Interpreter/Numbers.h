// Conversions between f32 and the number formats of the tensor cores, for the interpreter and its tests. They round to
// nearest, ties to even (IEEE 754).
#pragma once
#include <cstdint>
#include <cstring>

namespace skewer::gpu {

inline float floatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
inline uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline float fromHalf(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 1023;
  if (exponent == 31)
    return floatOf(sign | 0x7f800000 | fraction << 13);
  if (exponent)
    return floatOf(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = float(fraction) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}
inline uint16_t toHalf(float x) {
  uint32_t bits = bitsOf(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return uint16_t(sign | 0x7fff); // the NaN that PTX's cvt makes
  if (magnitude >= 0x477ff000)
    return uint16_t(sign | 0x7c00);           // 65520 and more round to infinity
  if (magnitude < 0x38800000) {               // below 2^-14: a multiple of 2^-24
    float scaled = floatOf(magnitude) + 0.5f; // the sum's last place is 2^-24
    return uint16_t(sign | (bitsOf(scaled) - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return uint16_t(sign | ((rounded - 0x38000000) >> 13));
}

inline float fromBrain(uint16_t brain) { return floatOf(uint32_t(brain) << 16); }
inline uint16_t toBrain(float x) {
  uint32_t bits = bitsOf(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Returns the value of a float of 8 bits with 4 bits of exponent and 3 of fraction: no infinities, one NaN of each
/// sign (OCP 8-bit Floating Point Specification).
inline float fromE4M3(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80) << 24, exponent = bits >> 3 & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7)
    return floatOf(sign | 0x7fc00000);
  if (exponent)
    return floatOf(sign | (exponent + 120) << 23 | fraction << 20);
  float magnitude = float(fraction) * 0x1p-9f;
  return sign ? -magnitude : magnitude;
}

/// Returns the value that mma reads from an f32 register as tf32: the low 13 bits are ignored.
inline float fromTf32(uint32_t bits) { return floatOf(bits & 0xffffe000); }

} // namespace skewer::gpu
