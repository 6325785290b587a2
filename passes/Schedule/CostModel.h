// The CPU cost model: chooses tiles and blocks of a fused attention from a description of the processor.
#pragma once
#include "passes/Analysis/TermStrategy.h"
#include "passes/Schedule/Target.h"
#include <cstdint>
#include <map>

namespace skewer {

/// Cycles per element to pack keys and values into panels, and queries into rows.
constexpr double kPackCycles = 0.5;

/// The sizes that the model uses: rows, keys, contracted depth, value width, and the numbers of f32 that each row of a
/// block holds besides its scores: for every key (bands) and once (windows over map axes). Strategies add to them
/// (TermStrategy::addSizes).
struct AttentionSizes {
  int64_t queries, keys, depth, width;
  int64_t extraPerKey = 0, extraPerRow = 0;
  /// Whether each row of a block holds a line of biases, and a line of picked rows, as long as the block's keys.
  bool hasLine = false, hasRowLine = false;
  /// `windowDepth`: the steps of a product of the keys with rows that a block of queries computes again for each tile
  /// of keys. It has `windowShare` times as many rows as the block and the tile have offsets, at most `windowRows`.
  /// `keyRowSteps`: steps × rows of the products that use all their rows.
  int64_t windowDepth = 0, windowRows = 0, keyRowSteps = 0;
  double windowShare = 1;
  /// The steps of products of the queries with rows that each block of keys computes again for the offsets it reaches.
  int64_t lineDepth = 0;
  /// Whether rows of a tile are a vector apart, and each product of the content costs an addition (strided addition).
  bool stridedAdd = false;
  /// The depth, in addition to `depth`, of keys that are multiplied in place.
  int64_t dotDepth = 0;
  /// The number of such keys that are adjacent in memory, if a table gives the place of each page; 0: all are adjacent.
  int64_t pageKeys = 0;
  /// Whether such keys have 16 bits or fewer.
  bool narrowKeys = false;
  /// Whether the keys behind the last whole vector can be multiplied as dot products (passes/Analysis/DotKeys.h).
  bool mayDot = false;
  /// Whether the weights are a result, so that the exponentials of a row are computed a second time.
  bool storesWeights = false;
  /// The element type in memory of the queries and keys of the content; f32 if they have different ones.
  ElementType element = {};
  int64_t heads = 1; // product of the leading sizes that are known
  /// The mask: the interval of key - query of visible pairs, if it is an interval (its ends may be open); and the pairs
  /// that are known at compile time.
  std::optional<subscript::Range> seen = std::nullopt;
  std::shared_ptr<const LiveTiles> tiles = nullptr;
};

struct Blocking {
  int64_t tileRows, tileVectors; // accumulators of the register tile
  int64_t rowBlock, keyBlock;    // query rows and keys whose scores are held at once
  int64_t rowsPerItem;           // query rows of one parallel work item
  int64_t keysPerItem;           // keys of a work item; 0: all
  double cyclesPerRow;           // the model's estimate
};

/// The fields of a schedule that the caller pins. The cost model chooses fields that are 0 or empty.
struct CpuRequest {
  int64_t tileRows = 0, tileVectors = 0, rowBlock = 0, keyBlock = 0, rowsPerItem = 0, keysPerItem = 0;
  /// Strategies of single terms, by the numbers of the terms in the schedule, from 1 on.
  std::map<int64_t, std::string> strategies;
  bool pins() const {
    return tileRows || tileVectors || rowBlock || keyBlock || rowsPerItem || keysPerItem || !strategies.empty();
  }
};

/// Returns the best blocking, by the model, that agrees with the request. If there is none, the result repeats the
/// request although it does not fit; the verifier of the schedule reports this.
Blocking chooseBlocking(const AttentionSizes &, const Target &, const CpuRequest & = {});
/// Returns the model's estimate for the given blocking (`cyclesPerRow` is not read).
double cyclesPerRow(const AttentionSizes &, const Blocking &, const Target &);
/// Returns the cycles to multiply `rows` by `columns` vectors over `steps`, with register tiles of this shape.
double multiplyCycles(int64_t rows, int64_t columns, int64_t steps, const TileSizes &, const Target &);
/// Returns the cycles of `flops` useful operations, with whole register tiles.
double productCycles(double flops, const TileSizes &, const Target &);

} // namespace skewer
