// Tiles of the pairs of queries and keys for which a term counts, where that is known at compile time: products of the
// others need not be made.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Analysis/TileTables.h"

namespace skewer {

/// Whether positions and leading axes of sizes that are known are all that the predicate reads.
bool isKnownPairByPair(const subscript::Expr &predicate, const AttentionShape &);

/// The pairs at which the guard holds; null as LiveTiles::of.
std::shared_ptr<const LiveTiles> tilesOfGuard(const subscript::Expr &guard, const AttentionShape &);

/// Tables of single groups of rows as blocks, each with at most one run: from its first live tile to its last.
TileTables groupTablesOf(const LiveTiles &, int64_t lanes, int64_t tileRows, int64_t tileVectors);

} // namespace skewer
