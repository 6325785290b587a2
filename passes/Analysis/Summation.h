// Constants for splitting long sums so that f32 keeps their accuracy. Several parts of a kernel share them.
#pragma once
#include <cstdint>

namespace skewer {

/// The steps of the depth that are summed separately if scores or logits may be large, since each addition to one chain
/// of products rounds at the size of its result. Errors relative to the largest output: for windows over map axes,
/// together with `centreLogits`, 0.9e-6 instead of 1.9e-6 on a 64x64 map with unit-normal tables; for T5's unscaled
/// layer of 512 tokens 1.6e-6 instead of 3.0e-6.
constexpr int64_t kChunk = 16;
/// The same if table rows are added to keys, so that one chain holds the products of both. One chain of 64 steps has an
/// error of 2.2e-6 of the largest output for a layer of 1024 tokens.
constexpr int64_t kStridedChunk = 32;
/// Table entries that are multiplied by this factor or more give large logits.
constexpr double kLargeFactor = 2;
/// Scores are large if unit-normal queries and keys give them a standard deviation above this. With a deviation of 4,
/// one chain of 64 steps has an error of up to 2.6e-6 of the largest output (512 tokens, 12 seeds), chunks of 0.7e-6.
constexpr double kLargeScores = 2;
/// If the terms of a score together have a standard deviation above this, they are summed with compensation: the
/// rounding error of each addition is kept. For two terms of 8, the error is up to 2.6e-6 with chunks alone (256
/// tokens, 30 seeds; sgemm 2.6e-6 to 3.4e-6), 1.6e-6 with compensation, and 1.0e-6 with exact logits that are rounded
/// once. Compensation costs such a layer a quarter of its time or more. So sums whose error chunks alone keep below
/// 2e-6 (three terms with 9.8 together) do without it.
constexpr double kHugeScores = 10.5;
/// The chunk length of compensated sums.
constexpr int64_t kCompensatedChunk = 8;

/// The most products that are summed in one chain: products of weights and values, of matrix products, of any long sum.
/// One chain over 4096 keys rounds 4096 times at the size of the result. Its error is 2.1e-6 of the largest output on a
/// 64x64 map, and 0.8e-6 with chains of 256; for a matrix product 4096 deep 1.4e-6 and 0.3e-6. The cost is a load and
/// an add for each 256 products. Sums of such sums are not longer either, since a chain of 2^20 / 256 sums would lose
/// the accuracy that the chains have kept.
constexpr int64_t kChain = 256;
/// The same for the values of a kernel that reads each key once, for few queries. Eager code multiplies the weights of
/// one query and the values as a matrix and a vector, with several accumulators. Errors relative to the largest output,
/// for 300 keys whose weights are 0 or 1 and values near 100: 1.4e-7 in chains of 256, 0.5e-7 in chains of 64, and
/// 0.75e-7 in PyTorch. Such kernels wait for memory, so the shorter chains cost nothing.
constexpr int64_t kStreamedChain = 64;

/// Returns the chunk length for a sum of `depth` steps: `chunk`, or the least larger number with which at most `kChain`
/// chunks are added.
constexpr int64_t chunkOf(int64_t chunk, int64_t depth) {
  int64_t least = (depth + kChain - 1) / kChain, longest = chunk < kChain ? kChain : chunk;
  return least <= chunk ? chunk : least < longest ? least : longest;
}

} // namespace skewer
