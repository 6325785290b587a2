// Classifies how a summand of the score, or a part of the mask, depends on positions. The kind decides which part of it
// can be prepared before the scores, and how many values that takes.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer {

enum class BiasKind {
  Difference, // depends on key position - query position along each axis pair: a value for each tuple of differences
  Key,        // depends on the key alone: one line for all queries
  Table,      // depends on query and key, and is small: a value for each pair, prepared once per call
  Row,        // an operand whose keys lie side by side in memory: loaded where it is needed
  Lanes,      // computed for each query and a vector of keys: any function of positions picks the rows
  Tiles,      // masks only: known at compile time, pair by pair (LiveTiles.h)
  Element     // anything else: computed for each query and key
};
/// Returns the kind of a summand that consists of `expressions` (subscripts, factors, guards): Difference, Key, Table
/// or Element. Differences over one pair of axes are lines. Over maps a table is cheaper to read, so Table is tried
/// first.
BiasKind biasKindOf(const std::vector<subscript::Expr> &expressions, const attn::ScoreSpace &);

/// Returns whether the expressions stay the same when the query and the key move by one along the same axis, for each
/// pair of axes.
bool isOfDifferences(const std::vector<subscript::Expr> &expressions, const attn::ScoreSpace &);
bool isOfDifferences(const std::vector<subscript::Expr> &expressions, const std::vector<std::string> &queries,
                     const std::vector<std::string> &keys, subscript::Domain);

/// Returns the leading axes that occur in the expressions, in the order of the space. One prepared copy is held for
/// each tuple of their indices.
std::vector<std::string> leadingAxesIn(const std::vector<subscript::Expr> &expressions, const attn::ScoreSpace &);
/// Returns the number of index tuples of these axes; kRuntime if the size of one of them is known only at run time.
int64_t countOf(const std::vector<std::string> &axes, const attn::ScoreSpace &);

} // namespace skewer
