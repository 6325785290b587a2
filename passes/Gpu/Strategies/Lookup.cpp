// Terms in which a query meets one of a few rows. The logits of all rows that the block reaches are computed before its
// first step. How a row changes from key to key decides where the logits stand then: in shared memory, where they are
// looked up for each score or once for a tile; or in registers, if each tile has the same rows.
//
// A term without products has numbers in the place of logits. If all keys of a tile have one number, it is read for
// each tile and held nowhere.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Gpu/Strategies/Strategies.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

// Number of steps of the depth that are unrolled in the work before the first tile.
constexpr int64_t kLogitSteps = 4;

namespace {

/// One looked-up table.
struct Table {
  const LookupTerm &term;
  const GpuLayout::Lookup &places;
  size_t queries; // not for numbers, nor `source`
  RowSource source;
  Value first; // first row that the block reaches, i32; null: 0
  bool inside; // no pair, masked pairs included, reads outside of the table
};

class Lookups : public Strategy {
public:
  explicit Lookups(const KernelContext &in) : Strategy(in) {
    subscript::Domain domain = subscript::domainOf(in.shape.attention.space.sizes);
    for (auto [term, places] : llvm::zip_equal(in.shape.lookups, in.layout.lookups)) {
      bool inside = subscript::proveWithin(term.row, {0, term.rows - 1}, domain).outcome == subscript::Proof::Proven;
      if (term.numbers) {
        tables.push_back({term, places, 0, {}, {}, inside});
        continue;
      }
      RowSource source = in.place.keysOf(term.table, term.depth);
      tables.push_back({term, places, in.layout.numberOf(term.query, term.depth), source, firstRowOf(term), inside});
    }
  }

  bool hasPrologue() const override {
    return llvm::any_of(
        tables, [](const Table &table) { return !table.term.numbers || table.places.use != LookupUse::OncePerTile; });
  }
  void runPrologue() override {
    // The block's queries are being copied. Logits wait for them; numbers do not need them, and the first step does.
    if (llvm::all_of(tables, [](const Table &table) { return table.term.numbers.has_value(); }))
      in.pipeline.allFull();
    for (const Table &table : tables)
      if (table.term.numbers)
        keepNumbers(table);
      else if (table.places.use == LookupUse::EveryTile)
        sumInRegisters(table);
      else
        keepInShared(table);
  }

  // Adds the logits in registers. Without a common scale, they are the first summands of the scores. With one, they
  // begin the sums of products, and tensor cores add to them, if the engine does that well; else they are added to the
  // finished sums. For f32 that rounds once.
  void beginScores(const Step &, ScoreSums &sums) override {
    if (!everyTile.empty() && !in.lateScale)
      sums.add(b, everyTile);
  }
  std::optional<double> scaleOfProducts() const override {
    return beginsProducts() ? commonScaleOf(in.shape) : std::nullopt;
  }
  void beginProducts(const Step &, ScoreSums &sums) override { sums.add(b, everyTile); }
  void addToScores(const Step &, Tiles &scores) override {
    if (everyTile.empty() || !in.lateScale || beginsProducts())
      return;
    ScoreSums sums{std::move(scores), true};
    sums.add(b, everyTile);
    scores = std::move(sums.tiles);
  }

  bool addsToEachScore() const override { return uses(LookupUse::EachScore); }
  void addToEachScore(Value firstKey, const std::vector<Axes> &at, Tiles &scores) override {
    for (const Table &table : tables) {
      if (table.places.use != LookupUse::EachScore)
        continue;
      SmallVector<Value> flat = flattened(scores);
      auto looked = [&] {
        SmallVector<Value> sums = flat;
        for (auto [number, held] : llvm::enumerate(in.place.scores.numbers()))
          sums[number] = b.addf(flat[number], lookedUp(table, held.row, at[number]));
        return sums;
      };
      if (table.term.far) // the scores of a far tile get the number of their row
        scores = gathered(ValueRange(
            b.choose(isNear(table, firstKey), TypeRange(ValueRange(flat)), looked, [&] { return flat; })));
      else
        scores = gathered(ValueRange(looked()));
    }
  }

  void addToRows(Value firstKey, RowNumbers &rows) override {
    for (const Table &table : tables)
      for (size_t row = 0; row < in.place.scores.rows(); ++row)
        if (table.places.use == LookupUse::OncePerTile)
          addOncePerTile(table, row, firstKey, rows);
        else if (table.places.use == LookupUse::EachScore && table.term.far)
          addFar(table, row, firstKey, rows);
  }

private:
  void addOncePerTile(const Table &table, size_t row, Value firstKey, RowNumbers &rows) {
    // A table may have one row for several of the parts that another table divides a tile into.
    int64_t ofPart = in.layout.rowColumns;
    Value logit;
    for (size_t part = 0; part < rows.parts(); ++part) {
      if (int64_t column = int64_t(part) * ofPart; column % table.places.columns == 0) {
        Axes at = in.place.axesAt(row, b.add(firstKey, column));
        logit = table.term.numbers ? termAt(b, in.operands, *table.term.numbers, at) : lookedUp(table, row, at);
      }
      rows.add(b, row, part, logit);
    }
  }

  /// Adds the logit of the row that all keys of a far tile have; 0 in other tiles.
  void addFar(const Table &table, size_t row, Value firstKey, RowNumbers &rows) {
    Value isHigh = b.lessEqual(b.i32(table.term.far->above), leastOffset(firstKey));
    Value place = b.select(isHigh, b.i32(table.term.far->high), b.i32(table.term.far->low));
    Value logit = load(b, logitAt(table, row, place), b.getF32Type());
    logit = b.select(isNear(table, firstKey), b.f32(0), logit);
    for (size_t part = 0; part < rows.parts(); ++part)
      rows.add(b, row, part, logit);
  }

  bool uses(LookupUse use) const {
    return llvm::any_of(tables, [&](const Table &table) { return table.places.use == use; });
  }
  Value leastOffset(Value firstKey) { return b.sub(firstKey, b.add(firstQuery(), in.tile.warpRows - 1)); }
  Value firstQuery() { return b.add(in.place.row, in.place.scores.warpRow()); } // of the warp
  /// Returns whether some pair of the warp's queries and a tile's keys is not far (FarRows); i1, the same in all lanes.
  Value isNear(const Table &table, Value firstKey) {
    const FarRows &far = *table.term.far;
    Value most = b.sub(b.add(firstKey, in.tile.keys - 1), firstQuery());
    return b.both(b.less(b.i32(far.below), most), b.less(leastOffset(firstKey), b.i32(far.above)));
  }
  bool beginsProducts() const { return !everyTile.empty() && in.lateScale && in.engine.beginsWithSums(); }

  /// Returns the first row that the block's queries reach; null: 0.
  Value firstRowOf(const LookupTerm &term) {
    const AttentionShape &attention = in.shape.attention;
    int64_t rows = in.tile.rows;
    if (!term.reach || reachedRows(term, attention, rows) == term.rows)
      return {};
    const LookupReach &reach = *term.reach;
    int64_t values = reach.valuesOf(rows, attention.queries);
    Value low = b.i32(0);
    if (values < reach.query.extent)
      low = b.remainder(b.divide(in.place.row, reach.query.inner), reach.query.extent);
    Value first;
    if (reach.sign > 0) // key - query
      first = b.sub(b.i32(reach.constant), b.minimum(b.add(low, values - 1), b.i32(reach.query.extent - 1)));
    else
      first = b.add(low, reach.constant - (reach.keyExtent - 1));
    return b.minimum(b.maximum(first, b.i32(0)), b.i32(term.rows - 1));
  }

  int64_t chunksOf(const Table &table) const {
    return (table.places.reached + in.tile.tableRows() - 1) / in.tile.tableRows();
  }

  /// Stores the logits of `tableRows` rows of the table for all queries of the block.
  void storeLogits(const Table &table, Value firstRow) {
    in.pipeline.empty(); // waits until the rows before have been read
    in.pipeline.fillRows(table.places.staging, table.source, table.first ? b.add(firstRow, table.first) : firstRow,
                         in.place.rowsOf(table.term.rowLength, table.term.rows));
    in.pipeline.commit();
    in.pipeline.allFull();
    Value scale = b.f32(in.unitOf(table.term.scale));
    ScoreLayout layout = in.place.scores.across(in.tile.tableRows());
    Tiles sums = in.engine.wait(
        in.queries.products(table.queries, {table.places.staging, {}, {}}, layout.zeros(), kLogitSteps));
    for (const HeldNumber &number : layout.numbers()) { // only the warp that owns the query reads them
      Value column = layout.column(0);
      if (table.places.use != LookupUse::EveryTile)
        column = b.add(column, firstRow);
      Value logit = b.mulf(sums[number.tile][number.part], scale);
      store(b, logit, logitAt(table, number.row, b.add(column, number.column)));
    }
  }

  Value logitAt(const Table &table, size_t row, Value place) {
    Value query = in.place.scores.rowInBlock(row);
    place = b.add(b.mul(query, table.places.logits.stride), place);
    return in.shared.numberAt(place, table.places.logits.offset);
  }

  Value placeOf(const Table &table, const Axes &at) {
    Value place = b.toI32(in.operands.index(table.term.row, at));
    if (table.first)
      place = b.sub(place, table.first);
    if (table.inside)
      return place;
    // Only a pair that is masked, or that the guard excludes, would read another row.
    return b.minimum(b.maximum(place, b.i32(0)), b.i32(table.places.reached - 1));
  }

  Value lookedUp(const Table &table, size_t row, const Axes &at) {
    Value logit = load(b, logitAt(table, row, placeOf(table, at)), b.getF32Type());
    return table.term.guard ? b.select(in.operands.predicate(*table.term.guard, at), logit, b.f32(0)) : logit;
  }

  /// Evaluates the numbers of the thread's queries. In shared memory, the four lanes that hold a row divide its
  /// numbers.
  void keepNumbers(const Table &table) {
    const ElementTerm &term = *table.term.numbers;
    if (table.places.use == LookupUse::OncePerTile)
      return;
    if (table.places.use == LookupUse::EveryTile) {
      ScoreLayout layout = in.place.scores.across(table.places.columns);
      Tiles sums = layout.zeros();
      std::vector<Axes> at = axesOfPeriod(layout);
      for (auto [number, held] : llvm::enumerate(layout.numbers()))
        sums[held.tile][held.part] = termAt(b, in.operands, term, at[number]);
      addToEveryTile(layout, sums);
      return;
    }
    const AttentionShape &attention = in.shape.attention;
    std::vector<std::string> axes = axesIn(expressionsOf(term), attention.space.key);
    for (size_t row = 0; row < in.place.scores.rows(); ++row)
      b.loop(in.at.inGroup, b.i32(table.term.rows), 4, {}, [&](Value place, ValueRange) {
        Axes at = in.place.axesOfQuery(row);
        Value rest = b.toIndex(place);
        for (const std::string &axis : llvm::reverse(axes)) {
          at[axis] = b.remainder(rest, attention.space.sizes.at(axis));
          rest = b.divide(rest, attention.space.sizes.at(axis));
        }
        store(b, termAt(b, in.operands, term, at), logitAt(table, row, place));
        return SmallVector<Value>();
      });
  }

  void keepInShared(const Table &table) {
    b.loop(b.i32(0), b.i32(chunksOf(table)), 1, {}, [&](Value chunk, ValueRange) {
      storeLogits(table, b.mul(chunk, in.tile.tableRows()));
      return SmallVector<Value>();
    });
  }

  void sumInRegisters(const Table &table) {
    ScoreLayout layout = in.place.scores.across(table.places.columns);
    std::vector<Axes> at = axesOfPeriod(layout);
    Tiles sums = gathered(
        b.loop(b.i32(0), b.i32(chunksOf(table)), 1, flattened(layout.zeros()), [&](Value chunk, ValueRange sums) {
          Value firstRow = b.mul(chunk, in.tile.tableRows());
          storeLogits(table, firstRow);
          warpBarrier(b);
          SmallVector<Value> next;
          for (auto [number, held] : llvm::enumerate(layout.numbers())) {
            Value place = b.sub(placeOf(table, at[number]), firstRow);
            Value here = b.both(b.lessEqual(b.i32(0), place), b.less(place, b.i32(in.tile.tableRows())));
            if (table.term.guard)
              here = b.both(here, in.operands.predicate(*table.term.guard, at[number]));
            Value logit = load(b, logitAt(table, held.row, b.select(here, place, b.i32(0))), b.getF32Type());
            next.push_back(b.addf(sums[number], b.select(here, logit, b.f32(0))));
          }
          return next;
        }));
    addToEveryTile(layout, sums);
  }

  /// Returns the axes of the scores of one period of keys, after which rows repeat; any tile will do.
  std::vector<Axes> axesOfPeriod(const ScoreLayout &layout) {
    std::vector<Axes> at;
    for (const HeldNumber &number : layout.numbers())
      at.push_back(in.place.axesAt(number.row, layout.columnFrom(b.i32(0), number.column)));
    return at;
  }

  /// Adds the numbers of one period to those of a whole tile, in which they may occur several times.
  void addToEveryTile(const ScoreLayout &period, const Tiles &sums) {
    ScoreSums all{everyTile.empty() ? in.place.scores.zeros() : everyTile, !everyTile.empty()};
    Tiles repeated;
    size_t ofRows = in.place.scores.columnTiles(), ofPeriod = period.columnTiles();
    for (size_t tile = 0; tile < in.place.scores.tiles(); ++tile)
      repeated.push_back(sums[tile / ofRows * ofPeriod + tile % ofRows % ofPeriod]);
    all.add(b, repeated);
    everyTile = all.tiles;
  }

  std::vector<Table> tables;
  Tiles everyTile; // sums of the logits whose rows are the same in each tile; empty if there are none
};

} // namespace

namespace skewer::gpu {
void addLookups(const KernelContext &in, Strategies &all) {
  if (!in.shape.lookups.empty())
    all.push_back(std::make_unique<Lookups>(in));
}
} // namespace skewer::gpu
