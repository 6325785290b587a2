// How tensor cores add: exact products, aligned to the largest of them, cut off and not rounded. NVIDIA does not say;
// it was measured by Fasi, Higham, Mikaitis and Pranesh 2021 (doi:10.7717/peerj-cs.330) on a V100, a T4 and an A100.
#pragma once
#include <cstdint>

namespace skewer::gpu {

/// Bits behind the 23 of an f32's fraction that terms keep when they are aligned.
constexpr int kGuardBits = 2;
/// Products that are added to a sum at once, of f16 and bf16 (A100; later ones add 16); half as many are of tf32.
/// A longer depth is a chain of such sums, each cut off.
constexpr unsigned kProductsAtOnce = 8;

/// A number that is multiplied or added, and the power of two that it is aligned by: of 0, and of what is no finite
/// number, one that is never the largest.
struct Term {
  double number = 0;
  int exponent = kNone;
  static constexpr int kNone = -4096;
  static Term of(float);
};

/// sum + Σ row[k] × column[k × stride], k < depth, as a tensor core adds them: each term is cut off at the last guard
/// bit of the one with the largest exponent (of a product: the sum of its factors'), and so is the result at its
/// 24th. Infinities and NaN are those of IEEE 754, and so is a result that is too large.
float multiplyAdd(const Term *row, const Term *column, unsigned stride, unsigned depth, unsigned atOnce, float sum);

} // namespace skewer::gpu
