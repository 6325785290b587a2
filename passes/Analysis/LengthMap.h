// Keys that form a map of run-time width: `size H <= 64, W <= 64` and positions (iy ix). Such positions are one axis of
// the score. Index expressions split it into j floordiv W and j mod W (passes/Lengths/FlatPositions.h). A term that
// depends on one of the two, or on differences of both, is as cheap as on a map of known size. shapeOfAttention finds
// it after the terms and the mask.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {
struct AttentionShape;

struct LengthMap {
  /// The axes of the maps: symbols in the expressions that `moved` returns.
  static constexpr const char *kKeyRow = "key row", *kKeyColumn = "key column", *kQueryRow = "query row",
                              *kQueryColumn = "query column";
  subscript::Expr width;      // of a row of keys, over reads of the kernel's lengths; at least 1
  subscript::Expr queryWidth; // likewise of a row of queries, if the queries are a map
  bool ofQueries = false;
  int64_t mostRows = 1, mostWidth = 1, mostQueryRows = 1, mostQueryWidth = 1;
  attn::ScoreSpace space; // the space of the score, with the maps' axes as query and key axes

  /// Returns the expression, rewritten over the maps' axes.
  subscript::Expr moved(const subscript::Expr &) const;
  /// Returns whether the expressions stay the same when key and query move together along each axis of the maps; false
  /// if the queries are not a map.
  bool isOfDifferences(const std::vector<subscript::Expr> &moved) const;

  std::string key, query; // the axes of the score that the maps split
};

/// Finds the map of the keys of a layer of run-time length, if they form one, and the terms that can use it.
void findLengthMap(AttentionShape &);

} // namespace skewer
