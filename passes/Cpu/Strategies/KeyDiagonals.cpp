// The strategy "key_diagonals": k_j·R[row(j - i)], where key - query picks the row. The products of rows and keys have
// the keys in their lanes, so that `lanes` queries × `lanes` keys lie on diagonals of 2*lanes - 1 rows. Nothing is
// transposed: log2(lanes) stages of selects, each by one bit of the lane, bring every lane to its own row. A row is
// addressed through the function of the offset, so that clamped and logarithmic rows cost no more.
#include "passes/Cpu/Strategies/PickedRows.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

/// Returns the most rows, from the lowest to the highest, that a window of `length` offsets picks.
static int64_t reachOf(const OffsetRows &offsets, int64_t length) {
  int64_t most = 1;
  for (int64_t first = offsets.low - length + 1; first <= offsets.high(); ++first)
    most = std::max(most, std::abs(offsets.at(first + length - 1) - offsets.at(first)) + 1);
  return most;
}

namespace {
class KeyDiagonals : public KeyRows {
public:
  KeyDiagonals(CpuKernel &kernel, const RowTerm &term) : KeyRows(kernel, term) {
    int64_t window = llvm::alignTo(rowBlock, lanes) + tileVectors * lanes;
    rows = reachOf(term.offsets, window);
    byOffset = !term.offsets.isMonotone() || term.offsets.hasNone() || rows > window;
    if (byOffset) {
      table.itemsOfCopy = term.offsets.rows.size();
      rows = std::min(table.itemsOfCopy, window);
    }
  }
  LineUse lineUse() const override { return LineUse::AddsByTile; }
  void plan(Layout &layout) override { planKeys(layout, rows); }

  void packItem(Value target, Value copy, Value item) override {
    if (!byOffset)
      return KeyRows::packItem(target, copy, item);
    Value to = b.add(b.mul(copy, table.copyFloats), b.mul(item, steps()));
    std::vector<int32_t> rowOf(term.offsets.rows.begin(), term.offsets.rows.end());
    Value row = tableElement(b, integerTable(b, rowOf), item);
    b.when(
        b.less(row, b.index(0)),
        [&] {
          b.loop(b.index(0), b.index(steps()), 1,
                 [&](Value d) { b.storeScalar(b.constantScalar(0), target, b.add(to, d)); });
        },
        [&] { copyRow(target, to, row); });
  }

  void meetKeys(const KeyBlock &block, Value vector, int64_t vectors) override {
    // The packed row of each offset that a block of rows and a tile of keys may ask for, also beyond the last query and
    // key.
    int64_t lowest = 1 - shape.queries - rowBlock - 3 * lanes, highest = (keyVectors + tileVectors) * lanes + lanes;
    std::vector<int32_t> rowOf;
    for (int64_t offset = lowest; offset <= highest; ++offset)
      rowOf.push_back(byOffset ? std::clamp(offset, term.offsets.low, term.offsets.high()) - term.offsets.low
                               : term.offsets.at(offset));
    Value table = integerTable(b, rowOf);
    auto rowAt = [&](Value offset) { return tableElement(b, table, b.add(offset, -lowest)); };

    Value key = b.mul(vector, lanes);
    // Groups of `lanes` queries may reach beyond the last query.
    Value lastRow = b.add(b.add(block.firstRow, b.mul(b.divide(b.add(block.rows, lanes - 1), lanes), lanes)), -1);
    Value atLow = rowAt(b.sub(key, lastRow)), atHigh = rowAt(b.add(b.sub(key, block.firstRow), vectors * lanes - 1));
    Value first = b.minimum(atLow, atHigh), end = b.add(b.maximum(atLow, atHigh), 1);
    keyProducts(first, end, vector, vectors);

    auto bit = VectorType::get({lanes}, b.builder.getI1Type());
    Value origin = b.mul(first, productStride), lines = kernel.lines.of(term.sum);
    b.loop(b.index(0), block.rows, lanes, [&](Value row) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value offset = b.add(b.sub(key, b.add(block.firstRow, row)), v * lanes - lanes + 1);
        SmallVector<Value> diagonal;
        for (int64_t m = 0; m < 2 * lanes - 1; ++m) {
          Value product = b.sub(b.mul(rowAt(b.add(offset, m)), productStride), origin);
          diagonal.push_back(b.load(productsMemory, b.add(product, v * lanes)));
        }
        for (int64_t step = lanes / 2; step > 0; step /= 2) {
          SmallVector<bool> bits;
          for (int64_t lane = 0; lane < lanes; ++lane)
            bits.push_back(lane & step);
          Value mask = arith::ConstantOp::create(b.builder, DenseElementsAttr::get(bit, ArrayRef<bool>(bits)));
          for (size_t m = 0; m + step < diagonal.size(); ++m)
            diagonal[m] = b.select(mask, diagonal[m + step], diagonal[m]);
          diagonal.resize(diagonal.size() - step);
        }
        // Now diagonal[m] belongs to the query lanes - 1 - m.
        Value line = b.add(b.add(b.mul(row, lineStride), lineMargin), b.add(b.sub(key, block.lowKey), v * lanes));
        for (int64_t query = 0; query < lanes; ++query)
          addToLineAt(lines, diagonal[lanes - 1 - query], b.add(line, query * lineStride));
      }
    });
  }

private:
  bool byOffset = false; // the packed table has a row for each offset of RowTerm::offsets, instead of its own rows
  int64_t rows = 0;      // that a block of queries and a tile of keys may ask for
};

// Cycles for each element: a block of diagonals (31 loads, 75 selects, 16 loads and stores for 256 elements) takes 100
// cycles, measured on a Zen 4 core.
constexpr double kDiagonalCycles = 0.4;
// The number of times that the logits of a window pass between the core and their buffer: written once, read twice.
constexpr double kWindowPasses = 3;
// The approximate number of offsets of a block of queries and a tile of keys.
constexpr int64_t kWindow = 160;

/// Returns how many rows each offset of a window of `length` offsets needs, on average over all pairs of positions.
double shareOf(const OffsetRows &offsets, int64_t queries, int64_t keys, int64_t length) {
  if (!offsets.isMonotone() || offsets.hasNone())
    return 1;
  double rows = 0, weights = 0;
  for (int64_t middle = 1 - queries; middle < keys; ++middle) {
    double weight = static_cast<double>(std::max<int64_t>(1, std::min(queries, keys) - std::abs(middle)));
    int64_t first = offsets.at(middle - length / 2), last = offsets.at(middle - length / 2 + length - 1);
    rows += weight * static_cast<double>(std::max(first, last) - std::min(first, last) + 1);
    weights += weight;
  }
  return std::min(1.0, rows / weights / static_cast<double>(length));
}

class KeyDiagonalsStrategy : public RowStrategy {
public:
  KeyDiagonalsStrategy() : RowStrategy(RowKind::Offset, /*keySide=*/true) {}
  StringRef name() const override { return "key_diagonals"; }
  void addSizes(const TermForm &form, const AttentionShape &shape, AttentionSizes &sizes) const override {
    const RowTerm &term = *form.as<RowTerm>();
    // A block of queries computes the products of the keys with its window of rows again for each tile of keys.
    double share = shareOf(term.offsets, shape.queries, shape.keys, kWindow);
    sizes.more.push_back([share, most = rowsOf(term), depth = term.depth, element = term.element](
                             const AttentionSizes &all, const Blocking &blocking, const Target &target) {
      int64_t panel = blocking.tileVectors * target.lanes, offsets = blocking.rowBlock + panel;
      auto window = static_cast<int64_t>(share * static_cast<double>(std::min(offsets, most)));
      int64_t keyVectors = llvm::divideCeil(all.keys, target.lanes);
      double cycles =
          multiplyCycles(window, keyVectors, depth, blocking.registers(), target, element) / double(blocking.rowBlock);
      if (kFloatBytes * double(window * panel) > kPanelShare * target.l1Bytes)
        cycles += kWindowPasses * kFloatBytes * double(all.keys) / target.l2Rate;
      return cycles;
    });
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<KeyDiagonals>(kernel, *form.as<RowTerm>());
  }

private:
  /// Returns the number of rows of the packed table: the picked rows if they are monotone in the offset, else one for
  /// each offset.
  static int64_t rowsOf(const RowTerm &term) {
    return term.offsets.isMonotone() ? rowsPicked(term) : static_cast<int64_t>(term.offsets.rows.size());
  }
  Counted count(const RowTerm &term, const AttentionShape &shape, const TileSizes &tile,
                const Target &) const override {
    double window = shareOf(term.offsets, shape.queries, shape.keys, kWindow) *
                    double(tile.rowBlock + tile.tileVectors * tile.lanes);
    return {rowBlocksOf(shape, tile) * tile.columns * std::min(double(rowsOf(term)), window),
            kDiagonalCycles * double(shape.queries) * tile.columns};
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeKeyDiagonals() { return std::make_unique<KeyDiagonalsStrategy>(); }
