// What a mask that is known at compile time leaves of queries × keys, pair by pair: global tokens, random blocks,
// windows on maps, chunks. Tiles that nobody sees are not computed, and those of which all is seen carry no test.
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

/// Pairs of queries and keys that are seen, for each tuple of the leading axes on which the mask depends ("variant").
class LiveTiles {
public:
  /// Those that the conjuncts and the shape's interval leave. Null where there are too many pairs, or too many
  /// different squares of 16 × 16 of them for a kernel to have a table.
  static std::shared_ptr<const LiveTiles> of(const AttentionShape &, const std::vector<MaskPart> &conjuncts);

  const std::vector<std::string> &axes() const { return variantAxes; }
  int64_t variants() const { return variantCount; }
  int64_t queries() const { return queryCount; }
  int64_t keys() const { return keyCount; }

  /// Bit n: whether the query sees key `first` + n; of at most 64 keys. Beyond the last query or key: 0.
  uint64_t seen(int64_t variant, int64_t query, int64_t first, int64_t count) const;

  enum class State : uint8_t { Dead, Edge, Full };
  /// Of a tile; what lies beyond the last query or key does not count.
  State stateOf(int64_t variant, int64_t query, int64_t rows, int64_t key, int64_t count) const;
  /// The share of tiles of so many queries × keys that are not dead, of a sample of at most 2^14 tiles.
  double liveShare(int64_t rows, int64_t keys) const;

private:
  static constexpr int64_t kCell = 16; // queries and keys of the smallest square of which bounds are asked
  class Survey;

  int64_t queryCount = 0, keyCount = 0, words = 0, variantCount = 1;
  std::vector<std::string> variantAxes;
  std::vector<uint64_t> bits; // [variant][query][words]
};

/// Conjuncts of the shape's mask that are known at compile time become tiles: their kind, and `tiles`. Nothing where
/// there are few positions, or no tile of them is dead.
void takeTiles(AttentionShape &);

} // namespace skewer
