// The addition of tensor cores: exact products are aligned to the largest of them and truncated, not rounded. mma.sync
// and wgmma use it (DecodeWarp.cpp, WgmmaProduct.cpp), so that results have the errors of a GPU. NVIDIA does not
// document the addition. Fasi, Higham, Mikaitis and Pranesh 2021 (doi:10.7717/peerj-cs.330) measured it on a V100, a T4
// and an A100.
#pragma once
#include <cstdint>

namespace skewer::gpu {

/// The number of bits after the 23 bits of an f32's fraction that terms keep when they are aligned.
constexpr int kGuardBits = 2;
/// The same for products of e4m3: 14 bits are kept of a sum, as DeepSeek-V3's authors observed on an H800
/// (arXiv 2412.19437, section 3.5.2). So 10 of the 24 bits of an f32 are cut off.
constexpr int kGuardBitsOfE4M3 = -10;
/// The number of products of f16 and bf16 that are added to a sum at once (A100; later GPUs add 16). For tf32 it is
/// half as many. A greater depth is a chain of such sums, each truncated.
constexpr unsigned kProductsAtOnce = 8;

/// A factor or summand, and the power of two by which it is aligned. For 0, infinities and NaN this exponent is never
/// the largest.
struct Term {
  double number = 0;
  int exponent = kNone;
  static constexpr int kNone = -4096;
  static Term of(float);
};

/// Returns sum + Σ row[k] × column[k × stride], k < depth, as a tensor core adds them. Each term is truncated at the
/// last guard bit of the term with the largest exponent (for a product: the sum of its factors' exponents), and the
/// result is truncated at its 24th bit. Infinities, NaN and overflow follow IEEE 754.
float multiplyAdd(const Term *row, const Term *column, unsigned stride, unsigned depth, unsigned atOnce, float sum,
                  int guardBits = kGuardBits);

} // namespace skewer::gpu
