// Keys that are a map whose rows are as long as a number of the call: `size H <= 64, W <= 64` and positions (iy ix).
// Such positions are one axis of the score, which index expressions take apart, j floordiv W and j mod W
// (passes/Lengths/FlatPositions.h); a term that depends on one of the two, or on differences of both, is as cheap as on
// a map of known size.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {
struct AttentionShape;

struct LengthMap {
  /// The axes of the maps, as symbols of expressions that `moved` returns.
  static constexpr const char *kKeyRow = "key row", *kKeyColumn = "key column", *kQueryRow = "query row",
                              *kQueryColumn = "query column";
  subscript::Expr width;      // of a row of keys, over reads of the kernel's lengths; at least 1
  subscript::Expr queryWidth; // likewise, where the queries are a map
  bool ofQueries = false;
  int64_t mostRows = 1, mostWidth = 1, mostQueryRows = 1, mostQueryWidth = 1;
  attn::ScoreSpace space; // the score's, with the maps' axes as its queries and keys

  /// The expression over the maps' axes.
  subscript::Expr moved(const subscript::Expr &) const;
  /// Whether key and query may move together along each axis of the maps: queries are a map too then.
  bool isOfDifferences(const std::vector<subscript::Expr> &moved) const;

  std::string key, query; // the axes that are taken apart
};

/// Finds the map of the keys of a layer of run-time length, if they are one, and the terms that it is of use to.
void findLengthMap(AttentionShape &);

} // namespace skewer
