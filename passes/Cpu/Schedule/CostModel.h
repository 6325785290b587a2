// The CPU cost model: chooses tiles and blocks of a fused attention from a description of the processor.
#pragma once
#include "passes/Cpu/TermStrategy.h"
#include "passes/Schedule/CpuEngine.h"
#include "passes/Schedule/Target.h"
#include <cstdint>
#include <functional>
#include <map>

namespace skewer {

/// Cycles per element to pack keys and values into panels, and queries into rows.
constexpr double kPackCycles = 0.5;
constexpr double kFloatBytes = 4;
/// The share of L1 that a panel of keys may use: queries, scores and the prefetcher's lines need the rest.
constexpr double kPanelShare = 0.6;

struct Blocking {
  int64_t tileRows, tileVectors; // accumulators of the register tile
  int64_t rowBlock, keyBlock;    // query rows and keys whose scores are held at once
  int64_t rowsPerItem;           // query rows of one parallel work item
  int64_t keysPerItem;           // keys of a work item; 0: all
  double cyclesPerRow;           // the model's estimate
  RegisterTile registers() const { return {tileRows, tileVectors}; }
};

struct AttentionSizes;
/// The cycles of a row that a strategy takes in addition to the common loops, as far as they depend on the blocks.
using RowCycles = std::function<double(const AttentionSizes &, const Blocking &, const Target &)>;

/// The sizes that the model uses: rows, keys, the depth of keys that are packed, value width, and the numbers of f32
/// that each row of a block holds besides its scores: for every key (bands) and once (windows over map axes).
/// Strategies add to them (TermStrategy::addSizes).
struct AttentionSizes {
  int64_t queries, keys, depth, width;
  int64_t extraPerKey = 0, extraPerRow = 0;
  /// Whether each row of a block holds a line of biases, and a line of picked rows, as long as the block's keys.
  bool hasLine = false, hasRowLine = false;
  std::vector<RowCycles> more = {};
  /// Whether work items are phases (TermStrategy::isInPhases), and the tile that the code of a strategy is made for.
  bool isInPhases = false;
  std::optional<RegisterTile> tile = std::nullopt;
  /// The depth of keys that are multiplied where they lie, with the lanes along the depth. If a block reads them once,
  /// it has at most `turnKeys` of them; 0: any number.
  int64_t depthInPlace = 0, turnKeys = 0;
  /// Whether queries and these keys are i8, and their depth fills whole vectors.
  bool bytesInPlace = false;
  /// Whether a strategy reads panels of keys, so that each panel has whole vectors of keys.
  bool readsPanels = false;
  /// Whether the keys behind the last whole vector can be multiplied as dot products (passes/Analysis/DotKeys.h).
  bool mayDot = false;
  /// Whether the weights are a result, so that the exponentials of a row are computed a second time.
  bool storesWeights = false;
  /// The element type in memory of the queries and keys of the content; f32 if they have different ones.
  ElementType element = {};
  /// The values, except whether they are read once, which depends on the blocks.
  WeighedValues values = {};
  /// Whether weights may have few digits. An engine may then make packed weights of the scores, without weights in f32.
  bool mayMakePowers = false;
  int64_t heads = 1; // product of the leading sizes that are known
  /// The mask: the interval of key - query of visible pairs, if it is an interval (its ends may be open); and the pairs
  /// that are known at compile time.
  std::optional<subscript::Range> seen = std::nullopt;
  std::shared_ptr<const LiveTiles> tiles = nullptr;
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
/// Returns the products of a cycle of the fastest engine that multiplies content or values, as a multiple of those of
/// FMAs.
double productsOverFma(const AttentionSizes &, const Blocking &, const Target &);
/// Returns whether the products of queries and keys are summed up as integers.
bool sumsIntegers(const AttentionSizes &, const Target &);
/// Returns the cycles for one step of the depth of a tile.
double tileCycles(RegisterTile, const Target &);
/// Returns the cycles to multiply `rows` by `columns` vectors over `depth`, with register tiles of this shape, by the
/// engine for operands of this type.
double multiplyCycles(int64_t rows, int64_t columns, int64_t depth, RegisterTile, const Target &,
                      ElementType = ElementType::F32);
/// Returns the cycles of `flops` useful operations, with whole register tiles, by the engine for operands of this type.
double productCycles(double flops, const TileSizes &, const Target &, ElementType = ElementType::F32);

} // namespace skewer
