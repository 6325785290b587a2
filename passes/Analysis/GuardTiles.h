// Tiles of the pairs of queries and keys at which the guard of a term holds, if they are known at compile time. The
// products of other tiles need not be computed.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Analysis/TileTables.h"

namespace skewer {

/// Returns whether the predicate reads only positions and leading axes whose sizes are known.
bool isKnownPairByPair(const subscript::Expr &predicate, const AttentionShape &);

/// Returns the pairs at which the guard holds; null in the cases of LiveTiles::of.
std::shared_ptr<const LiveTiles> tilesOfGuard(const subscript::Expr &guard, const AttentionShape &);

/// Returns tables whose row blocks are single row groups. Each has at most one run, from its first live tile to its
/// last.
TileTables groupTablesOf(const LiveTiles &, int64_t lanes, int64_t tileRows, int64_t tileVectors);

} // namespace skewer
