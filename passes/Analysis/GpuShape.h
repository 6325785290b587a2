// What a GPU kernel makes of a fused attention: which terms are matrix products, and which are evaluated for each
// query and key. Classes of index expressions decide, as on the CPU.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "passes/Analysis/AttentionShape.h"
#include <optional>
#include <string>

namespace skewer::gpu {

/// A function of key - query times a number of the query.
struct GatedLine {
  ElementTerm line, gate;
};

/// row = sign × (an axis of the key - one of the query) + constant: a block's queries reach few of a table's rows.
struct LookupReach {
  MapAxis query;
  int64_t keyExtent = 1, sign = 1, constant = 0;
  /// How many values the query's axis takes in a block, at most; all of them where a block begins over.
  int64_t valuesOf(int64_t block, int64_t queries) const;
};
/// q_i · R[row]: the logits of a few rows are computed once for the queries of a block, and looked up for each key.
struct LookupTerm {
  Walk query, table; // the table's rows are walked as keys, from the first one that is ever read
  int64_t depth = 1, rows = 0;
  std::optional<subscript::Expr> rowLength; // so many of the rows are there, where that is known at run time only
  subscript::Expr row;                      // over all axes, from 0
  std::optional<subscript::Expr> guard;
  double scale = 1;
  std::optional<LookupReach> reach;
};

/// Where the logits of a lookup stand while the tiles of keys pass.
enum class LookupUse {
  EachScore,   // shared memory: each score has a row of its own
  OncePerTile, // shared memory: all keys of a tile have one row, a number for each query
  EveryTile    // registers: the scores of every tile have the same rows
};
LookupUse lookupUse(const LookupTerm &, const AttentionShape &, int64_t keys);
/// Rows of the table that a block's queries reach, at most.
int64_t reachedRows(const LookupTerm &, const AttentionShape &, int64_t queries);
/// f32 numbers from a query's logits to the next one's, where there are so many. Lanes that read the same or
/// neighbouring columns of eight rows meet no bank twice.
int64_t lookupStride(int64_t rows);

/// q_i · R[row(key - query)] over whole positions, of many rows: a band of logits for each tile, skewed in registers;
/// or k_j · R[row(key - query)], skewed on its way through shared memory.
struct BandTerm {
  Walk query, table; // `query` is the key's vectors where `ofKey`
  bool ofKey = false;
  int64_t depth = 1, rows = 0;
  std::optional<subscript::Expr> rowLength; // as a LookupTerm's
  /// row = sign × (key - query) + constant; with `offsets` what they say instead.
  int64_t sign = 1, constant = 0;
  subscript::Expr shift = 0; // added to the constant at run time: where a part begins
  std::optional<OffsetRows> offsets;
  double scale = 1;
  std::optional<subscript::Range> reach; // key - query outside of it have no rows
};

/// Rows that are added to the values, Σ_j p_ij · scale · R[j]. Rows by key - query are a BandTerm whose depth is the
/// values' width.
struct ValueRows {
  Walk table;
  double scale = 1;
};
/// Any other row for each query and key: the element at width 0, and the step from one to the next.
struct ValueElement {
  ElementTerm first;
  int64_t widthStride = 1;
};

/// Columns of the values that a block may have: a thread holds two rows of them, in half of its registers. More are
/// divided among up to so many blocks.
constexpr int64_t kMostColumns = 256, kMostParts = 4;

/// The engine of tiles that name no other: mma.sync.
constexpr llvm::StringLiteral kMmaSync = "mma_sync";

/// Query rows and keys of one step of a block.
struct GpuTile {
  int64_t rows = 64, keys = 64;
  int64_t stages = 2;      // copies of what a step reads: all but one are on their way while one is computed;
                           // of 1, operands have one place, each loaded right before it is multiplied
  bool keepQueries = true; // in registers, from the first step to the last
  int64_t columns = 0;     // of the values; 0: all. Blocks with the same queries divide them, where one has too few
                           // registers, and compute the same weights
  int64_t warpRows = 16;   // queries of a warp: 16 of them are a tile of the tensor cores' rows
  llvm::StringRef engine = kMmaSync; // what multiplies; the name outlives the tile
  int64_t keyParts = 1;              // blocks that divide the keys of the same queries: few long rows, decoding
  int64_t columnsOf(int64_t width) const { return columns && columns < width ? columns : width; }
  /// Blocks that have the same queries.
  int64_t partsOf(int64_t width) const { return (width + columnsOf(width) - 1) / columnsOf(width); }
  int64_t warps() const { return rows / warpRows; }
  int64_t threads() const { return warps() * 32; }
  /// Tiles of 16 rows that each fragment of keys or values is multiplied with.
  int64_t rowTiles() const { return warpRows / 16; }
  /// Differences of positions, key - query, in a tile; one more than there are.
  int64_t window() const { return rows + keys; }
  bool isSingleBuffered() const { return stages == 1; }
  /// Copies that may still be on their way where a step begins.
  unsigned pending() const { return stages > 2 ? unsigned(stages - 2) : 0; }
  /// Rows of a looked-up table at a time.
  int64_t tableRows() const { return isSingleBuffered() ? 16 : 64; }
  bool operator==(const GpuTile &other) const {
    return rows == other.rows && keys == other.keys && stages == other.stages && keepQueries == other.keepQueries &&
           columns == other.columns && warpRows == other.warpRows && engine == other.engine &&
           keyParts == other.keyParts;
  }
};

/// Attribute of an attention that goes by rows, with the reason: its tiles do not fit into a target's shared memory.
constexpr llvm::StringLiteral kGpuByRows = "attn.gpu_by_rows";
/// Attribute beside a schedule: among so many blocks its keys are divided (GpuTile::keyParts).
constexpr llvm::StringLiteral kGpuKeyParts = "attn.gpu_key_parts";

/// How a term is computed, as `GpuShape::strategies` and schedules name it.
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
  std::vector<ElementTerm> elements; // anything else
  std::vector<ValueRows> valueRows;
  std::vector<BandTerm> valueBands;
  std::vector<ValueElement> valueElements;
  mlir::Type element;                      // what is multiplied: f16 or bf16; f32 where none of q, k and v is
  std::vector<llvm::StringRef> strategies; // of each term of the score, in order, then of the values
  GpuTile tile;                            // of the attention's schedule, if it has one
  /// Keys before the first and from the second on are seen by no query of a leading index, as far as masks say so
  /// whoever asks (KeyBounds): what parts of the keys divide. The conjuncts are among the masks all the same.
  std::optional<subscript::Expr> firstSeen, endOfSeen;
};

/// The scale of all terms of the score that are products, if scores are sums of these alone and of numbers that may
/// stand in their unit: then a tile is scaled where it is exponentiated.
std::optional<double> commonScaleOf(const GpuShape &);

/// Sorts a term of the values. False with a `reason` if it says what the GPU target does not know.
bool addValueTerm(const ValueTerm &, attn::TermOp, GpuShape &, std::string &reason);
/// Whether an operation says nothing but what is known here: a meaning that is new must not be lost.
bool saysOnly(mlir::Operation *, llvm::ArrayRef<llvm::StringRef> known, std::string &reason);
/// The attributes of terms that are read.
llvm::ArrayRef<llvm::StringRef> knownOfTerms();

/// Of a tensor of floating-point numbers.
ElementType elementTypeOf(mlir::Value tensor);
/// Nothing where the attention cannot be one fused kernel; `reason` then says what stands in the way, in the user's
/// terms. `narrowOperands` (passes/Stages/NarrowOperands.h) comes first.
std::optional<GpuShape> gpuShapeOf(attn::AttentionOp, std::string &reason);
/// The attention of it alone.
std::optional<AttentionShape> tiledShape(attn::AttentionOp, std::string &reason);

} // namespace skewer::gpu
