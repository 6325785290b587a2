// Describes how a GPU kernel computes a fused attention: which terms are matrix products, and which are evaluated for
// each query and key. The classes of the index expressions decide this, as on the CPU. The schedule
// (passes/Gpu/Schedule), the lowering and `skewer explain` call gpuShapeOf.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "passes/Analysis/AttentionShape.h"
#include "passes/Gpu/Shape/EngineFacts.h"
#include <optional>
#include <string>

namespace skewer::gpu {

/// A function of key - query, times a number for each query.
struct GatedLine {
  ElementTerm line, gate;
};

/// row = sign × (an axis of the key - an axis of the query) + constant: the queries of a block reach few rows of the
/// table.
struct LookupReach {
  MapAxis query;
  int64_t keyExtent = 1, sign = 1, constant = 0;
  /// Returns the largest number of values that the query's axis takes within a block. It is the extent of the axis if
  /// the axis can start again within a block.
  int64_t valuesOf(int64_t block, int64_t queries) const;
};
/// A product of the vectors of the queries, or of the keys, with rows of a table.
struct TableProduct {
  Walk query, table; // `table` walks the rows as keys, from the first row that is ever read
  int64_t depth = 1, rows = 0;
  std::optional<subscript::Expr> rowLength; // number of rows that exist, if known only at run time
  double scale = 1;
};

/// Rows that all far offsets share: key - query up to `below` has the row `low`, from `above` on the row `high`.
struct FarRows {
  int64_t below = 0, above = 0;
  int64_t low = 0, high = 0;
  /// Returns the share of tiles of a block that hold some nearer offset.
  double nearShare(int64_t queries, int64_t keys, int64_t ofTile) const;
};

/// q_i · R[row] with few rows: their logits are computed once for the queries of a block and looked up for each key.
/// Or, with `numbers`, a term without products: a row is a tuple of indices of the key axes that the term depends on,
/// and its number takes the place of a logit.
struct LookupTerm : TableProduct {
  subscript::Expr row; // over all axes, from 0
  std::optional<subscript::Expr> guard;
  std::optional<LookupReach> reach;
  std::optional<FarRows> far;
  std::optional<ElementTerm> numbers; // in place of `query`, `table`, `depth`, `guard` and `scale`
};

/// The place of the logits of a lookup while the block goes through the tiles of keys.
enum class LookupUse {
  EachScore,   // shared memory: each score has a row of its own
  OncePerTile, // shared memory: all keys of a tile, or of a part of it, have one row, a number for each query
  EveryTile    // registers: the scores of every tile have the same rows
};
LookupUse lookupUse(const LookupTerm &, const AttentionShape &, int64_t keys);
/// Returns how many neighbouring keys of a tile, at least, have one row, if the use is OncePerTile: all, or a part.
int64_t keysOfRow(const LookupTerm &, const AttentionShape &, int64_t keys);
/// Returns after how many keys of a tile the rows repeat, if the use is EveryTile.
int64_t periodOf(const LookupTerm &, const AttentionShape &);
/// Returns the largest number of table rows that the queries of a block reach.
int64_t reachedRows(const LookupTerm &, const AttentionShape &, int64_t queries);
/// Returns the number of f32 numbers from the logits of a query to those of the next one, for logits of `rows` rows.
/// With it, lanes that read the same or neighbouring columns of eight rows have no bank conflict.
int64_t lookupStride(int64_t rows);

/// q_i · R[row(key - query)] over whole positions, with many rows: a band of logits for each tile, skewed in registers;
/// or k_j · R[row(key - query)], skewed in shared memory.
struct BandTerm : TableProduct {
  bool ofKey = false; // `query` walks the vectors of the key
  /// row = sign × (key - query) + constant, or the row that `offsets` gives, if set.
  int64_t sign = 1, constant = 0;
  subscript::Expr shift = 0; // added to the constant at run time: the position at which a part begins
  std::optional<OffsetRows> offsets;
  std::optional<subscript::Range> reach; // values of key - query outside of it have no row
};

/// Rows that are added to the values, Σ_j p_ij · scale · R[j]. Rows that key - query picks are a BandTerm whose depth
/// is the width of the values.
struct ValueRows {
  Walk table;
  double scale = 1;
};
/// Any other row for each query and key: its element at width 0, and the stride along the width.
struct ValueElement {
  ElementTerm first;
  int64_t widthStride = 1;
};

/// The most columns of the values that a block can have: a thread holds two rows of them, in half of its registers. Up
/// to `kMostParts` blocks divide wider values.
constexpr int64_t kMostColumns = 256, kMostParts = 4;

/// How producers copy regular rows of keys and values, by the names in schedules.
constexpr llvm::StringLiteral kCpAsync = "cp_async", kTma = "tma";

/// The query rows and keys of one step of a block, and how the step computes them.
struct GpuTile {
  int64_t rows = 64, keys = 64;
  int64_t stages = 2;      // copies of the operands of a step: all but one are loaded while one is computed;
                           // with 1, operands share one place and each is loaded right before it is multiplied
  bool keepQueries = true; // in registers, from the first step to the last
  int64_t columns = 0;     // columns of the values; 0: all. If one block has too few registers, blocks with the
                           // same queries divide the columns and each compute the same weights
  int64_t warpRows = 16;   // queries of a warp; a tile of the tensor cores has 16 rows
  llvm::StringRef engine = kMmaSync; // computes the products; the name outlives the tile
  int64_t keyParts = 1;              // blocks that divide the keys of the same queries: for few long rows, decoding
  llvm::StringRef copies = kCpAsync; // how producers copy regular rows (TensorBoxes.h); the name outlives the tile
  // Producers hand over the tiles of a step's scores and those of its values apart, so that each is refilled as soon as
  // it has been read. A kernel that copies by TMA does it, and so does the kernel that runs in its place.
  bool handsOverApart = false;
  // A block that computes its rows again has fewer keys in a step, and the same part of the keys: parts consist of
  // tiles of so many keys, a multiple of `keys`; 0: of `keys`.
  int64_t partKeys = 0;
  int64_t columnsOf(int64_t width) const { return columns && columns < width ? columns : width; }
  /// Returns the number of blocks that have the same queries.
  int64_t partsOf(int64_t width) const { return (width + columnsOf(width) - 1) / columnsOf(width); }
  int64_t warps() const { return rows / warpRows; }
  /// Returns the number of threads that compute; `blockThreads` counts those that only fill tiles too.
  int64_t threads() const { return warps() * 32; }
  int64_t blockThreads() const { return threads() + facts().producers; }
  const EngineFacts &facts() const { return factsOf(engine); }
  /// Returns the number of tiles of 16 rows that each fragment of keys or values is multiplied with.
  int64_t rowTiles() const { return warpRows / 16; }
  /// Returns one more than the number of differences key - query in a tile.
  int64_t window() const { return rows + keys; }
  bool isSingleBuffered() const { return stages == 1; }
  /// Returns the number of copies that may still be in flight when a step begins.
  unsigned pending() const { return stages > 2 ? unsigned(stages - 2) : 0; }
  /// Returns how many rows of a looked-up table are loaded at a time.
  int64_t tableRows() const { return isSingleBuffered() ? 16 : 64; }
  bool operator==(const GpuTile &other) const {
    return rows == other.rows && keys == other.keys && stages == other.stages && keepQueries == other.keepQueries &&
           columns == other.columns && warpRows == other.warpRows && engine == other.engine &&
           keyParts == other.keyParts && copies == other.copies && handsOverApart == other.handsOverApart &&
           partKeys == other.partKeys;
  }
};

/// Attribute of an attention that is computed row by row. Its value is the reason: the tiles do not fit into the shared
/// memory of a target.
constexpr llvm::StringLiteral kGpuByRows = "attn.gpu_by_rows";
/// Attribute next to a schedule: the number of blocks that divide the keys (GpuTile::keyParts).
constexpr llvm::StringLiteral kGpuKeyParts = "attn.gpu_key_parts";

/// Names of the strategies that compute terms, in `GpuShape::strategies` and in schedules.
namespace strategy {
constexpr llvm::StringLiteral kMatmul = "matmul", kBand = "band", kKeyBand = "key_band", kLookup = "lookup",
                              kLine = "line", kGatedLine = "gated_line", kPerScore = "per_score", kNothing = "nothing";
} // namespace strategy

struct GpuShape {
  AttentionShape attention;
  std::vector<LookupTerm> lookups;
  std::vector<BandTerm> bands;
  std::vector<ElementTerm> lines; // functions of key - query: a line of numbers for each tile
  std::vector<GatedLine> gatedLines;
  std::vector<ElementTerm> elements; // any other term
  std::vector<ValueRows> valueRows;
  std::vector<BandTerm> valueBands;
  std::vector<ValueElement> valueElements;
  mlir::Type element;                      // type of the products: typeOfProducts
  std::vector<mlir::Type> operandTypes;    // of operandsOf(attention), as they stand in memory (NarrowRows.h)
  std::vector<bool> areScaled;             // whether rows of these operands have scales
  std::string target;                      // of the attention's schedule; empty without one
  std::vector<llvm::StringRef> strategies; // of each term of the score, in order, then of each term of the values
  GpuTile tile;                            // from the attention's schedule, if it has one
  /// No query of a leading index sees a key before `firstSeen` or from `endOfSeen` on, according to the bounds that
  /// hold for all queries (KeyBounds). Blocks that divide the keys divide this range. The conjuncts stay in the masks
  /// too.
  std::optional<subscript::Expr> firstSeen, endOfSeen;
};

/// Returns whether the target converts pairs of e4m3 by an instruction.
bool convertsE4M3(llvm::StringRef target);

/// Returns the common scale of all terms of the score that are products, if the scores are sums of only these products
/// and of numbers that can be divided by that scale. Then the kernel scales a tile together with its exponential.
std::optional<double> commonScaleOf(const GpuShape &);

/// Adds a term of the values to the list of its strategy. Refuses if the GPU target does not support the term.
std::optional<Refusal> addValueTerm(const ValueTerm &, attn::TermOp, GpuShape &);
/// Refuses an operation with attributes that are not known, since the meaning of a new attribute must not be lost.
std::optional<Refusal> refuseUnknown(mlir::Operation *, llvm::ArrayRef<llvm::StringRef> known);
/// Returns the attributes of terms that are known.
llvm::ArrayRef<llvm::StringRef> knownOfTerms();

/// Returns the GPU shape of an attention. Refuses if the attention cannot be one fused kernel. `narrowOperands`
/// (passes/Gpu/NarrowOperands.h) runs before.
OrRefusal<GpuShape> gpuShapeOf(attn::AttentionOp);
/// Returns only the `attention` of that shape.
OrRefusal<AttentionShape> tiledShape(attn::AttentionOp);

} // namespace skewer::gpu
