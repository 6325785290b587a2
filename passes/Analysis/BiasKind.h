// How a summand of the score, or a part of the mask, depends on positions: what of it can be prepared ahead of the
// scores, and how much of it there is.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer {

enum class BiasKind {
  Difference, // of key position - query position along each pair of axes: a value for each tuple of differences
  Key,        // of the key alone: one line for all queries
  Table,      // of query and key, and small: a value for each pair, prepared once a call
  Row,        // an operand whose keys lie side by side in memory: loaded where it is needed
  Lanes,      // computed for each query and a vector of keys: rows that any function of positions picks
  Tiles,      // of masks alone: known at compile time, pair by pair (LiveTiles.h)
  Element     // anything else: computed for each query and key
};
/// The kind of a summand that consists of `expressions` (subscripts, factors, guards): Difference, Key, Table or
/// Element. Differences over one pair of axes are lines; over maps a table is read more cheaply, so it is tried before.
BiasKind biasKindOf(const std::vector<subscript::Expr> &expressions, const attn::ScoreSpace &);

/// Whether moving the query and the key by one along the same axis changes nothing, for each pair of axes.
bool isOfDifferences(const std::vector<subscript::Expr> &expressions, const attn::ScoreSpace &);
bool isOfDifferences(const std::vector<subscript::Expr> &expressions, const std::vector<std::string> &queries,
                     const std::vector<std::string> &keys, subscript::Domain);

/// The leading axes that occur in the expressions, in the space's order. One prepared copy is held for each tuple of
/// them.
std::vector<std::string> leadingAxesIn(const std::vector<subscript::Expr> &expressions, const attn::ScoreSpace &);
/// Number of tuples of these axes; kRuntime if one of them is only sized at run time.
int64_t countOf(const std::vector<std::string> &axes, const attn::ScoreSpace &);

} // namespace skewer
