// The parts of a fused attention on an NVIDIA GPU, and the state they share while one kernel is emitted.
//
// A block has `rows` queries of one leading index (batch, head), a warp 16 of them. It goes through the keys that its
// queries may see in tiles of `keys`:
//
//   loadTile       global → shared, 16 bytes a thread by cp.async; the next tiles while this one is computed
//   scores         ldmatrix and mma.sync, f32 sums, scaled to base 2
//   skewedBand     q·R[key - query]: a product with the rows that the tile reaches, skewed by shuffles
//   addKeyBand     k·R[key - query]: the same for keys, skewed through shared memory
//   addLookups     q·R[row] of few rows: their logits, computed once, are looked up in shared memory, or stay in
//                  registers where each tile has the same rows
//   makeLine       functions of key - query: a number for each offset of the tile, read skewed from shared memory
//   elementTerms   terms of other classes: added to each score where it stands, in registers
//   hideMasked     scores of keys that are not seen become -inf; only in tiles that a mask's edge crosses
//   online softmax running maximum and sum, a row in four neighbouring lanes
//   accumulate     weights, rounded to the values' type, times values
//   addValueBand   weights, skewed by shuffles, times rows by key - query that are added to the values
//
// Nothing grows with queries × keys. Sources: Dao 2023 (arXiv:2307.08691) for the division of work; PTX ISA for the
// layouts of fragments. Rows of a shared tile stand an odd number of 16-byte chunks apart, so that eight rows of
// ldmatrix fall into different banks.
#pragma once
#include "passes/Emit/EmitIndex.h"
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/GpuTiles.h"
#include <limits>

namespace skewer::gpu {

constexpr double kLog2E = 1.4426950408889634;

/// Queries of a block; terms with the same ones share them.
struct QueryPlan {
  Walk walk;
  int64_t depth = 1;
  SharedTile tile;
  RowSource source;
  std::vector<RowFragment> fragments; // of the warp's 16 queries, if they are kept in registers
};
struct ContentPlan {
  size_t queries = 0; // number of the plan
  SharedTile keys;
  RowSource source;
  double scale = 1;
};
/// Logits of the table's rows: f32, `stride` a query, in base 2.
struct LookupPlan {
  const LookupTerm *term;
  size_t queries = 0;
  RowSource source;
  LookupUse use = LookupUse::EachScore;
  int64_t reached = 0;            // rows, from `first` on
  Value first;                    // i32; null: 0
  bool inside = false;            // no pair reads another row, masked ones too
  SharedTile staging;             // 64 rows of the table
  int64_t logits = 0, stride = 0; // byte offset; numbers. Of 64 rows at a time where they move on to registers
};
/// Rows of the table that a tile of queries and keys reaches, by key - query.
struct BandPlan {
  const BandTerm *term;
  size_t queries = 0;
  SharedTile window;
  RowSource source;
};
/// The same where keys meet the rows: f32 logits of 16 keys' columns, `stride` a key.
struct KeyBandPlan {
  BandPlan band;
  SharedTile keys; // a content term's if it has the same
  RowSource keySource;
  bool sharesKeys = false;
  int64_t logits = 0, stride = 0;
};

/// Numbers for each key - query of a tile, two copies of f32 in base 2.
struct LinePlan {
  std::vector<const ElementTerm *> terms; // which are summed
  const ElementTerm *gate = nullptr;
  int64_t offset = 0;         // bytes
  std::array<Value, 2> gates; // of rows g and g + 8
};
/// Rows of keys that are added to the values.
struct ValueRowsPlan {
  const ValueRows *term;
  SharedTile tile;
  RowSource source;
};

/// Softmax state and result of a thread: of rows g and g + 8 of its warp.
struct RowState {
  std::array<Value, 2> maximum, sum;
  std::vector<Accumulator> output; // a tile for each 8 columns of the values
  /// What the rows of the output are to be multiplied with when the next product is added to them; null: nothing.
  std::array<Value, 2> shrink;
};

class GpuKernel : GpuTiles {
public:
  GpuKernel(GpuBuilder &b, const GpuAttention &shape, GpuTile tile)
      : GpuTiles(b, shape.element, tile.threads(), shape.attention.keys), shape(shape), tile(tile),
        layout(layoutOf(shape, tile)), columns(tile.columnsOf(shape.attention.width)) {}

  /// The function, in the module at the builder's insertion point. False with a reason in `failure`.
  bool emit(mlir::gpu::GPUModuleOp);
  int64_t sharedBytes() const { return layout.bytes; }
  std::string failure;

private:
  // Planning (GpuOperandTiles.cpp).
  void plan();
  size_t planQueries(const Walk &, int64_t depth);
  KeyBandPlan planKeyBand(const BandTerm &, const GpuLayout::Band &);
  void planValueTerms();
  /// Where operands take turns: what is multiplied next.
  void bring(llvm::function_ref<void()> load);
  bool isAligned(const Walk &, bool ofQuery, int64_t depth, unsigned argument) const;

  // At the beginning of the function.
  void readPlace();
  Value baseOf(const subscript::Expr &);
  RowSource sourceOf(const Walk &, bool ofQuery, int64_t depth);
  /// The block's columns of values, or of what is added to them.
  RowSource columnSource(const Walk &);
  Value emitIndex(const subscript::Expr &, const std::map<std::string, Value> &at);
  Value emitPredicate(const subscript::Expr &, const std::map<std::string, Value> &at);
  IndexEmitter::Read reads();
  subscript::Expr withoutTables(const subscript::Expr &);

  // A tile.
  /// Rows `first` … of the source; rows from `end` on are zeros.
  void loadRows(const SharedTile &, const RowSource &, Value first, int64_t end, Value copy = {});
  void loadWindow(const BandPlan &, Value firstKey, Value copy);
  void loadValueTerms(Value firstKey, Value copy);
  /// Whether some pair of the tile has a row (i1, the same for all of the block); null: always.
  Value hasRows(const BandTerm &, Value firstKey);
  // Lookups (GpuLookups.cpp).
  void planLookup(const LookupTerm &, const GpuLayout::Lookup &);
  void prepareLookup(const LookupPlan &);
  void storeLogits(const LookupPlan &, Value firstRow);
  Value lookupPlace(const LookupPlan &, const std::map<std::string, Value> &at);
  Value logitAt(const LookupPlan &, size_t row, Value place);
  Value lookedUp(const LookupPlan &, size_t row, const std::map<std::string, Value> &at);
  /// Sums of the logits that are the same for all keys of a tile, of rows g and g + 8; null without such terms.
  std::array<Value, 2> logitsOfTile(Value firstKey);
  /// Numbers of the terms that are lines, for each key - query of the tile.
  void planLines();
  void makeLine(const LinePlan &, Value firstKey, Value copy);
  void prepareGates();
  /// score = the lines' sum, or 0.
  void beginWithLines(Value copy, std::vector<Accumulator> &scores);
  /// Axes of each of the thread's scores.
  std::vector<std::map<std::string, Value>> axesOfTile(Value firstKey);
  void loadKeyBand(const KeyBandPlan &, Value firstKey, Value copy);
  void loadOperands(Value firstKey, Value copy);
  void loadKeys(Value tileIndex, Value buffer);
  /// Whether a mask may hide some pair of the tile (i1); null without masks.
  Value crossedByMask(Value firstKey);
  /// `bits`: what seenBits says.
  std::vector<Accumulator> scores(Value copy, Value firstKey, Value crossed, llvm::ArrayRef<Value> bits);
  /// Steps of the depth that are written one after another. Operands take turns where heads are wide and registers
  /// few, and ptxas reads ahead in what is written out: rows by offset that are added to keys and values of f32, 192
  /// and 256 wide, spilled in every tile for three of eight pairs of layer and target; as loops for none.
  int64_t stepsTogether() const { return tile.isSingleBuffered() ? 4 : std::numeric_limits<int64_t>::max(); }
  /// Where the warp's queries stand.
  TileRows warpRowsOf(const QueryPlan &part) { return {part.tile, {}, b.shiftLeft(warp, 4)}; }
  /// `before` and the warp's queries × rows of a tile, 8 for each of the sums; see sumOfTileProducts.
  std::vector<Accumulator> productsOf(const QueryPlan &, const TileRows &, const std::vector<Accumulator> &before,
                                      int64_t together = INT64_MAX);
  std::vector<Accumulator> skewedBand(const BandPlan &, Value copy);
  void addKeyBand(const KeyBandPlan &, Value copy, std::vector<Accumulator> &scores);
  void addLookups(std::vector<Accumulator> &scores, llvm::ArrayRef<std::map<std::string, Value>> at);
  void addElementTerms(std::vector<Accumulator> &scores, llvm::ArrayRef<std::map<std::string, Value>> at);
  void addTerms(std::vector<Accumulator> &scores, Value firstKey);
  /// Whether the query of the thread's score with this number sees its key (i1).
  Value isSeen(size_t number, Value firstKey);
  /// A bit (of i32) for each of the thread's scores that the masks leave; empty without masks but intervals.
  llvm::SmallVector<Value> seenBits(Value firstKey);
  void hideMasked(std::vector<Accumulator> &scores, Value firstKey, Value crossed, llvm::ArrayRef<Value> bits);
  /// `ofTile`: what is to be added to all scores of a row; may be null.
  RowState softmax(std::vector<Accumulator> &scores, std::array<Value, 2> ofTile, const RowState &);
  void accumulate(const std::vector<Accumulator> &weights, Value copy, Value firstKey, Value crossed, RowState &);
  /// Keys of one step of the second product: 16, or 8 of f32.
  int64_t keysOfStep() const { return shape.element.isF32() ? 8 : 16; }
  /// `rows` on each step, two tiles of 8 columns of the values.
  std::array<ColumnFragment, 2> valueFragments(const TileRows &, int64_t step, int64_t columnPair);
  /// The state's output += weights × rows; where `checked`, rows that are no numbers count only for queries that see
  /// their key.
  void multiplyRows(const std::vector<Accumulator> &weights, const TileRows &, bool checked, RowState &);
  /// output × shrink + sum.
  Accumulator addedTo(const Accumulator &output, const Accumulator &sum, const std::array<Value, 2> &shrink);
  void multiplyValues(const std::vector<RowOperand> &weights, const TileRows &, int64_t columns,
                      std::array<Accumulator, 2> &output);
  void multiplyOddValues(const std::vector<RowOperand> &weights, const TileRows &, int64_t columns,
                         std::array<Accumulator, 2> &output);
  // Terms of the values (GpuValueTerms.cpp).
  std::vector<Accumulator> scaled(std::vector<Accumulator> weights, double scale);
  std::vector<Accumulator> skewedWeights(const std::vector<Accumulator> &weights);
  void addValueBand(const BandPlan &, const std::vector<Accumulator> &weights, Value copy, Value firstKey, RowState &);
  void addValueElements(const std::vector<Accumulator> &weights, Value firstKey, RowState &);
  RowState step(Value tileIndex, const RowState &);
  void write(const RowState &);
  void writeLse(const RowState &, size_t row, Value sum);

  std::map<std::string, Value> axesOf(Value position, const std::vector<std::string> &names,
                                      const std::vector<MapAxis> &);
  /// Values of all axes at a row (0: g, 1: g + 8) of the thread's and a key.
  std::map<std::string, Value> axesAt(unsigned row, Value key);
  Value elementTerm(const ElementTerm &, std::map<std::string, Value> at);
  /// Π operand; null without operands. Where `guard` (may be null) does not hold, nothing outside is read.
  Value operandProduct(const ElementTerm &, const std::map<std::string, Value> &at, Value guard);
  llvm::SmallVector<Value> contractedTerm(const ElementTerm &, llvm::ArrayRef<std::map<std::string, Value>> at);
  /// An integer as f32.
  Value numberOf(const subscript::Expr &, const std::map<std::string, Value> &at);
  /// One operand's element there, as f32; where the guard is false, its first.
  Value elementAt(const ElementTerm &, size_t place, const std::map<std::string, Value> &at, Value guard);
  /// What multiplies the sum of products: the factor and the function; null where there is neither.
  Value multiplier(const ElementTerm &, const std::map<std::string, Value> &at, Value guard);
  void findVisible();
  Type elementOf(unsigned argument);
  std::pair<Value, Value> liveTiles();
  /// Which copy of its place a tile stands in.
  Value copyOf(Value tileIndex) { return b.remainder(tileIndex, tile.stages); }

  const GpuAttention &shape;
  GpuTile tile;
  GpuLayout layout;
  int64_t columns; // of the values that a block has
  mlir::gpu::GPUModuleOp module;
  mlir::LLVM::LLVMFuncOp function;

  /// Scores stand without this factor (their scale, to base 2) until they are exponentiated: a multiply-add with the
  /// maximum's subtraction. Only where nothing but products is summed.
  std::optional<double> lateScale;
  /// What a term of this scale is multiplied with, where scores stand as they do until then.
  double unitOf(double scale) const { return scale * kLog2E / lateScale.value_or(1); }
  std::vector<QueryPlan> queries;
  std::vector<ContentPlan> content;
  std::vector<LookupPlan> lookups;
  std::vector<Accumulator> everyTile; // sums of the lookups whose rows are the same in each tile; empty without them
  std::vector<BandPlan> bands;
  std::vector<KeyBandPlan> keyBands;
  std::vector<LinePlan> lines;
  SharedTile values;
  RowSource valueSource;
  std::vector<ValueRowsPlan> valueRows;
  std::vector<BandPlan> valueBands;

  std::vector<Value> inputs; // pointers, of the kernel's arguments
  std::vector<Value> outputs;
  std::map<std::string, Value> sizes;   // run-time sizes, i64
  std::map<std::string, Value> origins; // where a part begins, i64
  Value blockRow;                       // first query of the block
  Value threadRow;                      // of the thread: row g of its warp
  Value firstColumn;                    // of the block's values, i32; null where it has all of them
  Value firstOwn;                       // the first of its columns that it writes, i32; null: all of them
  std::map<std::string, Value> leading; // index
  Value lowVisible, highVisible;        // key - query of what a mask leaves, i32; null where it ends nowhere
  std::array<std::map<std::string, Value>, 2> queryAxes;
  std::map<std::string, std::shared_ptr<const std::vector<int64_t>>> tables;
  std::map<std::string, std::string> tableSymbols; // of each of them: its constant in the module
};

} // namespace skewer::gpu
