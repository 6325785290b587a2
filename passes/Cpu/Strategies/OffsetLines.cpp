// The strategy "offset_lines": q_i·R[row(j - i)], where key - query picks the row. It computes the logits of the rows
// that a group of queries can reach, then for each query a line over offsets. Each vector of the line is one
// permutation of a vector of logits if its rows are near each other, else a gather. A tile reads the line skewed, as it
// reads the band. Before the first offset and behind the last one the row stays the same, so the tile reads the ends of
// the line again.
#include "passes/Cpu/Strategies/PickedRows.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

namespace {
/// Tables of what is known at compile time about each vector of the line.
struct LineTables {
  std::vector<int32_t> rows; // of each lane; -1: none. Counted from `lowest` of the vector if `permutes`
  std::vector<int32_t> lowest, highest;
  bool permutes = true, monotone = true;
};

/// Returns the tables of a line of `vectors` vectors that begins with the offset `origin`.
LineTables tablesOf(const RowTerm &term, int64_t origin, int64_t vectors, const VectorBuilder &b) {
  LineTables tables;
  int64_t before = term.firstRow; // the row for vectors without one: any that keeps the order
  for (int64_t row : llvm::reverse(term.offsets.rows))
    before = row < 0 ? before : row;
  bool up = true, down = true;
  for (int64_t vector = 0; vector < vectors; ++vector) {
    int64_t low = INT32_MAX, high = -1;
    for (int64_t lane = 0; lane < b.lanes; ++lane) {
      int64_t row = term.offsets.at(origin + vector * b.lanes + lane);
      tables.rows.push_back(row);
      low = row < 0 ? low : std::min(low, row);
      high = std::max(high, row);
    }
    if (high < 0)
      low = high = before;
    if (vector > 0) {
      up &= tables.lowest.back() <= low && tables.highest.back() <= high;
      down &= tables.lowest.back() >= low && tables.highest.back() >= high;
    }
    before = low;
    tables.lowest.push_back(low);
    tables.highest.push_back(high);
    tables.permutes &= canPermute(b) && high - low < b.lanes;
  }
  tables.monotone = up || down;
  if (tables.permutes)
    for (auto [place, row] : llvm::enumerate(tables.rows))
      row = row < 0 ? -1 : row - tables.lowest[place / b.lanes];
  return tables;
}

class OffsetLines : public QueryRows {
public:
  using QueryRows::QueryRows;

  void plan(Layout &layout) override {
    planRows(layout, tileRows);
    // A tile that begins with this offset, or after the last offset, has the same row in all its lanes.
    int64_t tileKeys = tileVectors * lanes;
    origin = term.offsets.low - tileKeys + 1;
    vectorsOfLine = llvm::divideCeil(term.offsets.high() + tileKeys - origin, lanes);
    int64_t window = llvm::divideCeil(keyBlock + tileRows + tileKeys, lanes) + 2;
    onceABlock = !manyKeyBlocks || vectorsOfLine * lanes <= keyBlock;
    stride = std::min(vectorsOfLine, window) * lanes;
    layout.reserve(lines, rowBlock * stride + lanes, Layout::Zone::PickedRows);
  }
  void open() override {
    QueryRows::open();
    linesMemory = view(memory.local, lines);
  }

  void computeRows(const RowBlock &block) override {
    if (!onceABlock)
      return;
    b.loop(b.index(0), block.groups, 1, [&](Value group) {
      Value first = b.add(block.firstRow, b.mul(group, tileRows));
      auto [low, high] = live.of(first, tileRows, b.index(0), positions.keys());
      computeLine(group, block.firstRow, b.index(0), high);
    });
  }
  void computeBlock(const KeyBlock &block) override {
    if (!onceABlock)
      context.forLiveGroups(block,
                            [&](Value group, Value high) { computeLine(group, block.firstRow, block.lowKey, high); });
  }

  void addToScores(ScoreTile &tile) override {
    Value first = b.add(tile.firstRow, tile.row);
    Value start = b.mul(startOf(tile.group, tile.firstRow, tile.lowKey), lanes);
    Value line = b.sub(b.mul(tile.row, stride), b.add(start, origin));
    // The offsets of rows below the last query count too.
    bool inside = origin <= 1 - shape.queries - tileRows && shape.keys <= term.offsets.high() + 1;
    for (int64_t r = 0; r < tile.rows(); ++r) {
      Value offset = b.add(b.sub(tile.key, first), -r);
      if (!inside)
        offset = clampOffset(offset);
      Value at = b.add(b.add(line, offset), r * stride);
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = tile.sums[r * tile.vectors + v];
        sum = b.addf(sum, b.load(linesMemory, b.add(at, v * lanes)));
      }
    }
  }

private:
  /// Returns the offset at which a tile reads its line.
  Value clampOffset(Value offset) {
    offset = b.maximum(offset, b.index(origin));
    return b.minimum(offset, b.index(term.offsets.high()));
  }

  /// Returns the first vector of the line that the tiles of a group read in a block of keys.
  Value startOf(Value group, Value firstRow, Value lowKey) {
    Value last = b.add(b.add(firstRow, b.mul(group, tileRows)), tileRows - 1);
    Value key = onceABlock ? b.index(0) : lowKey;
    Value offset = clampOffset(b.sub(key, last));
    return b.divide(b.add(offset, -origin), lanes);
  }

  void computeLine(Value group, Value firstRow, Value lowKey, Value highKey) {
    LineTables tables = tablesOf(term, origin, vectorsOfLine, b);
    Value first = b.add(firstRow, b.mul(group, tileRows));
    Value start = startOf(group, firstRow, lowKey);
    Value lastOffset = clampOffset(b.add(b.sub(highKey, first), -1));
    Value lastElement = b.add(lastOffset, tileVectors * lanes - 1 - origin);
    Value end = b.minimum(b.add(b.divide(lastElement, lanes), 1), b.index(vectorsOfLine));

    Value lowest = integerTable(b, tables.lowest);
    Value firstPanel = this->firstPanel(), endPanel = this->endPanel();
    if (tables.monotone && term.endRow - term.firstRow > 2 * tileVectors * lanes) {
      Value highest = integerTable(b, tables.highest), lastVector = b.add(end, -1);
      Value low = b.minimum(tableElement(b, lowest, start), tableElement(b, lowest, lastVector));
      Value high = b.maximum(tableElement(b, highest, start), tableElement(b, highest, lastVector));
      firstPanel = b.divide(low, lanes);
      endPanel = b.add(b.divide(high, lanes), 1);
    }
    rowLogits(group, firstPanel, endPanel, b.index(0));

    Value rows = integerTable(b, tables.rows), firstColumn = b.mul(firstPanel, lanes);
    Value line = b.mul(group, tileRows * stride);
    b.loop(start, end, 1, [&](Value vector) {
      Value pattern = loadIntegers(b, rows, b.mul(vector, lanes));
      Value some = term.offsets.hasNone()
                       ? arith::CmpIOp::create(b.builder, arith::CmpIPredicate::sge, pattern, integer(b, 0)).getResult()
                       : Value();
      Value from = tables.permutes ? b.sub(tableElement(b, lowest, vector), firstColumn) : b.index(0);
      if (!tables.permutes)
        pattern = arith::SubIOp::create(b.builder, pattern, broadcastIndex(b, firstColumn));
      Value to = b.add(line, b.mul(b.sub(vector, start), lanes));
      for (int64_t r = 0; r < tileRows; ++r) {
        Value at = b.add(from, r * productStride), x;
        if (tables.permutes) {
          x = permute(b, b.load(productsMemory, at), pattern);
          x = some ? b.select(some, x, b.constant(0)) : x;
        } else {
          x = gather(b, productsMemory, at, pattern, some);
        }
        b.store(x, linesMemory, b.add(to, r * stride));
      }
    });
  }

  // The line begins with offset `origin` and has `vectorsOfLine` vectors, of which a block of keys needs some. With
  // `onceABlock`, a block of rows fills them once, for all blocks of keys.
  int64_t origin = 0, vectorsOfLine = 0;
  bool onceABlock = false;
  Buffer lines; // one for each query of a block, `stride` floats apart
  int64_t stride = 0;
  Value linesMemory;
};

// Cycles for each element of a line: a vector of 16 takes 5 cycles, measured on a Zen 4 core.
constexpr double kLineCycles = 0.3;

class OffsetLinesStrategy : public RowStrategy {
public:
  OffsetLinesStrategy() : RowStrategy(RowKind::Offset, /*keySide=*/false) {}
  StringRef name() const override { return "offset_lines"; }
  /// Counts a line with margins of a tile, or as much of a line as a block of keys reaches. Lines as long as the block
  /// of keys are not counted with the scores, because larger blocks save products: DeBERTa's layer (512 keys, both
  /// sides) takes 15.7 ms in blocks of 256 queries, whose lines do not fit into L2, and 16.5 ms in blocks of 96.
  void addSizes(const TermForm &form, const AttentionShape &, AttentionSizes &sizes) const override {
    const RowTerm &term = *form.as<RowTerm>();
    auto offsets = static_cast<int64_t>(term.offsets.rows.size());
    if (2 * offsets <= sizes.keys) {
      sizes.extraPerRow += offsets + 128;
      return;
    }
    // Each block of keys computes the products for the offsets that it reaches. Count a tile and a row group beyond the
    // block on each side. Buckets grow wider with the distance, so blocks share most of the rows that they reach (512
    // keys in blocks of 192 reach 1.5 times as many rows as all of them together).
    sizes.more.push_back([depth = term.depth, element = term.element](const AttentionSizes &all,
                                                                      const Blocking &blocking, const Target &target) {
      RegisterTile tile = blocking.registers();
      if (all.keys <= blocking.keyBlock)
        return 0.0;
      int64_t blocks = llvm::divideCeil(all.keys, std::max<int64_t>(1, blocking.keyBlock));
      int64_t beyond = 2 * (tile.vectors * target.lanes + tile.rows) * blocks;
      return multiplyCycles(tile.rows, beyond / target.lanes, depth, tile, target, element) / double(tile.rows);
    });
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<OffsetLines>(kernel, *form.as<RowTerm>());
  }

private:
  Counted count(const RowTerm &term, const AttentionShape &shape, const TileSizes &tile,
                const Target &) const override {
    double queries = double(shape.queries), panel = double(tile.tileVectors * tile.lanes);
    double window = std::min(double(term.offsets.rows.size()) + 2 * panel,
                             tile.columns + keyBlocksOf(shape, tile) * (double(tile.tileRows) + panel));
    return {queries * std::min(double(rowsPicked(term)), window), kLineCycles * queries * (window + tile.columns)};
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeOffsetLines() { return std::make_unique<OffsetLinesStrategy>(); }
