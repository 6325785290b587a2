// Chooses tiles and blocks of a fused attention from a description of the processor.
#pragma once
#include "passes/Analysis/TermStrategy.h"
#include "passes/Schedule/Target.h"
#include <cstdint>
#include <map>

namespace skewer {

/// Cycles an element to bring keys and values into panels, and queries into rows.
constexpr double kPackCycles = 0.5;

/// The sizes that matter to the model: rows, keys, contracted depth, value width, and the f32s that each row of a block
/// keeps besides its scores for every key (bands) and once (windows over map axes). Strategies add to them
/// (TermStrategy::addSizes).
struct AttentionSizes {
  int64_t queries, keys, depth, width;
  int64_t extraPerKey = 0, extraPerRow = 0;
  /// Whether each row of a block keeps a line of biases, and one of picked rows, as long as the block's keys.
  bool hasLine = false, hasRowLine = false;
  /// Steps of a product of the keys with rows that a block of queries makes anew for each tile of keys: with
  /// `windowShare` times as many rows as the block and the tile have offsets, at most `windowRows`; and steps × rows of
  /// those with all their rows.
  int64_t windowDepth = 0, windowRows = 0, keyRowSteps = 0;
  double windowShare = 1;
  /// Steps of products of the queries with rows that each block of keys makes anew for the offsets it reaches.
  int64_t lineDepth = 0;
  /// Rows of a tile stand a vector apart, and each product of the content costs an addition (strided addition).
  bool stridedAdd = false;
  /// Besides `depth`, of keys that are multiplied where they lie.
  int64_t dotDepth = 0;
  /// Of those, keys that lie one behind the other, where a table says where each page of them is; 0: all do.
  int64_t pageKeys = 0;
  /// Whether those keys are of 16 bits or fewer.
  bool narrowKeys = false;
  /// Whether the keys of the last vector may be multiplied as dot products (passes/Analysis/DotKeys.h).
  bool mayDot = false;
  /// Whether the weights are a result, so that a row's exponentials are made once more.
  bool storesWeights = false;
  int64_t heads = 1; // rows of the leading axes whose number is known
  /// Of a mask: key - query of what is seen, where that is an interval, whose ends may be open; and what is known pair
  /// by pair.
  std::optional<subscript::Range> seen = std::nullopt;
  std::shared_ptr<const LiveTiles> tiles = nullptr;
};

struct Blocking {
  int64_t tileRows, tileVectors; // accumulators of the register tile
  int64_t rowBlock, keyBlock;    // query rows and keys whose scores are held at once
  int64_t rowsPerItem;           // query rows of one parallel work item
  int64_t keysPerItem;           // keys of it; 0: all
  double cyclesPerRow;           // the model's estimate
};

/// What somebody asks of a schedule; what is 0, or empty, is chosen.
struct CpuRequest {
  int64_t tileRows = 0, tileVectors = 0, rowBlock = 0, keyBlock = 0, rowsPerItem = 0, keysPerItem = 0;
  /// Strategies of single terms, by their numbers in the schedule, from 1 on.
  std::map<int64_t, std::string> strategies;
  bool pins() const {
    return tileRows || tileVectors || rowBlock || keyBlock || rowsPerItem || keysPerItem || !strategies.empty();
  }
};

/// The best by the model of those that are as asked for. Where none is, the result is as asked for and fits nothing:
/// whoever makes a schedule of it finds out by verifying that.
Blocking chooseBlocking(const AttentionSizes &, const Target &, const CpuRequest & = {});
/// The model's estimate for a blocking as given (`cyclesPerRow` is not read).
double cyclesPerRow(const AttentionSizes &, const Blocking &, const Target &);
/// Cycles to multiply `rows` by `columns` vectors over `steps`, by register tiles of this shape.
double multiplyCycles(int64_t rows, int64_t columns, int64_t steps, const TileSizes &, const Target &);
/// Cycles of so many useful operations, by whole register tiles.
double productCycles(double flops, const TileSizes &, const Target &);

} // namespace skewer
