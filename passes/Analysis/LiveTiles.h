// The pairs of queries and keys that a mask leaves visible, if the mask is known at compile time: global tokens, random
// blocks, windows on maps, chunks. Kernels do not compute tiles without a visible pair, and do not test the pairs of
// tiles that are visible completely. Analysis finds them (takeTiles); cost models and lowerings read them.
#pragma once
#include "dialect/Subscript/Expr.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace skewer {
struct AttentionShape;
struct MaskPart;

/// The visible pairs of queries and keys, for each tuple of the leading axes on which the mask depends ("variant").
class LiveTiles {
public:
  /// Returns the pairs that the conjuncts and the shape's interval leave visible. Returns null if there are too many
  /// pairs, or too many different squares of 16 × 16 pairs for the tables of a kernel.
  static std::shared_ptr<const LiveTiles> of(const AttentionShape &, const std::vector<MaskPart> &conjuncts);

  const std::vector<std::string> &axes() const { return variantAxes; }
  int64_t variants() const { return variantCount; }
  int64_t queries() const { return queryCount; }
  int64_t keys() const { return keyCount; }

  /// Returns a word whose bit n says whether the query sees key `first` + n, for `count` <= 64 keys. Bits beyond the
  /// last query or key are 0.
  uint64_t seen(int64_t variant, int64_t query, int64_t first, int64_t count) const;

  enum class State : uint8_t { Dead, Edge, Full };
  /// Returns the state of a tile; pairs beyond the last query or key do not count.
  State stateOf(int64_t variant, int64_t query, int64_t rows, int64_t key, int64_t count) const;
  /// Returns the share of tiles of `rows` × `keys` pairs that are not dead, from a sample of at most 2^14 tiles.
  double liveShare(int64_t rows, int64_t keys) const;

private:
  static constexpr int64_t kCell = 16; // queries and keys of the smallest square whose bounds are computed
  class Survey;

  int64_t queryCount = 0, keyCount = 0, words = 0, variantCount = 1;
  std::vector<std::string> variantAxes;
  std::vector<uint64_t> bits; // [variant][query][words]
};

/// Turns the conjuncts of the shape's mask that are known at compile time into tiles: sets their kind and `tiles`. Does
/// nothing if there are few positions or few dead tiles.
void takeTiles(AttentionShape &);

} // namespace skewer
