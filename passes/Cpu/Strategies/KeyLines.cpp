// The strategy "key_lines": k_j·R[row], where one axis of a query map and any axes of the key pick the row. Once a
// head, it computes a line over the keys for each value of that query axis.
#include "passes/Cpu/Strategies/PickedRows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

namespace {
class KeyLines : public KeyRows {
public:
  using KeyRows::KeyRows;

  void plan(Layout &layout) override {
    planKeys(layout, picked());
    lineStride = llvm::alignTo(keyVectors, tileVectors) * lanes;
    layout.reserve(lines, axis().extent * lineStride, Layout::Zone::PickedRows);
  }
  void open() override {
    KeyRows::open();
    linesMemory = view(memory.local, lines);
  }

  void prepareHead() override {
    auto tile = [&](Value vector, int64_t vectors) {
      keyProducts(b.index(firstRow()), b.index(term.endRow), vector, vectors);
      Value key = b.mul(vector, lanes);
      b.loop(b.index(0), b.index(axis().extent), 1, [&](Value value) {
        Positions::Values at = positions.axes;
        at[shape.space.query[term.axis]] = value;
        Value line = b.add(b.mul(value, lineStride), key);
        for (int64_t v = 0; v < vectors; ++v)
          b.store(pick(at, key, v), linesMemory, b.add(line, v * lanes));
      });
    };
    int64_t whole = keyVectors / tileVectors * tileVectors;
    b.loop(b.index(0), b.index(whole), tileVectors, [&](Value vector) { tile(vector, tileVectors); });
    if (whole < keyVectors)
      tile(b.index(whole), keyVectors - whole);
  }

  void addToScores(ScoreTile &tile) override {
    for (int64_t r = 0; r < tile.rows(); ++r) {
      Value value = positions.axisOf(axis(), b.add(tile.position, r));
      Value line = b.add(b.mul(value, lineStride), tile.key);
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = tile.sums[r * tile.vectors + v];
        sum = b.addf(sum, b.load(linesMemory, b.add(line, v * lanes)));
      }
    }
  }

private:
  const MapAxis &axis() const { return shape.queryAxes[term.axis]; }
  Buffer lines;
  int64_t lineStride = 0;
  Value linesMemory;
};

class KeyLinesStrategy : public RowStrategy {
public:
  KeyLinesStrategy() : RowStrategy(RowKind::Axis, /*keySide=*/true) {}
  StringRef name() const override { return "key_lines"; }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<KeyLines>(kernel, *form.as<RowTerm>());
  }

private:
  Counted count(const RowTerm &term, const AttentionShape &shape, const TileSizes &,
                const Target &target) const override {
    double keys = double(shape.keys);
    return {keys * double(rowsPicked(term)), target.gatherCycles * keys * double(shape.queryAxes[term.axis].extent)};
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeKeyLines() { return std::make_unique<KeyLinesStrategy>(); }
