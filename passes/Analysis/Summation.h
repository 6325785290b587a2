// How long sums are split so that f32 holds them: the figures that several parts of a kernel share.
#pragma once
#include <cstdint>

namespace skewer {

/// Steps of the depth that are summed up by themselves where scores or logits may be large: one chain of products
/// rounds at the size of its result each time. For windows over map axes, together with `centreLogits`: 0.9e-6 instead
/// of 1.9e-6 of the largest output on a 64x64 map with unit-normal tables; for T5's unscaled layer of 512 tokens 1.6e-6
/// instead of 3.0e-6.
constexpr int64_t kChunk = 16;
/// The same where table rows are added to keys, so that one chain holds the products of both: 2.2e-6 of the largest
/// output in one chain of 64 steps of a layer of 1024 tokens.
constexpr int64_t kStridedChunk = 32;
/// Entries of a table that are multiplied by this or more make large logits.
constexpr double kLargeFactor = 2;
/// Unit-normal queries and keys whose scores have a standard deviation above this make large scores. With one of 4, one
/// chain of 64 steps has an error of up to 2.6e-6 of the largest output (512 tokens, 12 seeds), chunks 0.7e-6.
constexpr double kLargeScores = 2;
/// Terms of a score that together have a standard deviation above this are summed up with the rounding of each addition
/// kept: chunks alone have up to 2.6e-6 for two terms of 8 (256 tokens, 30 seeds; sgemm 2.6e-6 to 3.4e-6), this 1.6e-6,
/// and exact logits that are rounded once 1.0e-6. It costs such a layer a quarter of its time or more, so that what
/// chunks alone keep below 2e-6 (three terms that have 9.8 together) is left to them.
constexpr double kHugeScores = 10.5;
/// Chunks of such sums.
constexpr int64_t kCompensatedChunk = 8;

/// Products that are summed up by themselves: of weights and values, of matrix products, of any long sum. One chain
/// over 4096 keys rounds 4096 times at the size of the result: 2.1e-6 of the largest output on a 64x64 map, and 0.8e-6
/// with chains of 256; a matrix product 4096 deep 1.4e-6 and 0.3e-6. Costs a load and an add each 256 products. Sums of
/// such sums are no longer: a chain of 2^20 / 256 sums would lose what the chains have kept.
constexpr int64_t kChain = 256;

/// `chunk` steps of `depth`, or so many more that no more than `kChain` chunks are added up.
constexpr int64_t chunkOf(int64_t chunk, int64_t depth) {
  int64_t least = (depth + kChain - 1) / kChain, longest = chunk < kChain ? kChain : chunk;
  return least <= chunk ? chunk : least < longest ? least : longest;
}

} // namespace skewer
