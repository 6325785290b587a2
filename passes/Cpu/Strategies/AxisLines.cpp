// "axis_lines": rows picked by one axis of a key map and any of the query's: for each query a line of logits over that
// axis, added up in the lines of biases.
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/Strategies/PickedRows.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace skewer;

namespace {
class AxisLines : public QueryRows {
public:
  using QueryRows::QueryRows;
  double variance() const override { return 0; } // centred
  LineUse lineUse() const override { return LineUse::Adds; }

  void plan(Layout &layout) override {
    planRows(layout, tileRows);
    lineStride = llvm::alignTo(axis().extent, lanes) + lanes;
    layout.reserve(lines, rowBlock * lineStride, Layout::Zone::PickedRows);
  }
  void open() override {
    QueryRows::open();
    linesMemory = view(memory.local, lines);
  }

  void computeRows(const RowBlock &block) override {
    b.loop(b.index(0), block.groups, 1, [&](Value group) {
      rowLogits(group, firstPanel(), endPanel(), b.index(0));
      Value firstOfGroup = b.mul(group, tileRows);
      b.loop(firstOfGroup, b.minimum(b.add(firstOfGroup, tileRows), block.rows), 1, [&](Value row) {
        axisLine(row, b.add(block.firstRow, row), b.mul(b.sub(row, firstOfGroup), productStride));
      });
    });
  }

  std::optional<AlongOuter> mapPart(const BiasRow &row) override {
    return AlongOuter([this, row = row.row](Value firstKey, Value &base) -> AlongInner {
      if (axis().inner == 1)
        return [this, row](Value x, Value sum) {
          return b.addf(sum, b.load(linesMemory, b.add(b.mul(row, lineStride), x)));
        };
      Value at = b.add(b.mul(row, lineStride), axisOf(axis(), firstKey));
      base = b.addf(base, b.loadBroadcast(linesMemory, at));
      return {};
    });
  }

private:
  const MapAxis &axis() const { return shape.keyAxes[term.axis]; }

  /// One query's logits over the axis, less their maximum: see AxisLogits.cpp.
  void axisLine(Value row, Value position, Value products) {
    int64_t extent = axis().extent, whole = extent / lanes * lanes;
    float none = -std::numeric_limits<float>::infinity();
    Positions::Values at = axesAt(position, {});
    Value line = b.mul(row, lineStride);
    auto vectorAt = [&](Value x) {
      Value guard, keys = arith::AddIOp::create(b.builder, b.broadcastIndex(x), b.laneNumbers());
      Value rows = pickedRows(at, {{shape.space.key[term.axis], keys}}, guard);
      Value logits = pick(products, rows, guard);
      b.store(logits, linesMemory, b.add(line, x));
      return logits;
    };
    Value largest =
        b.loop(b.index(0), b.index(whole), lanes, ValueRange{b.constant(none)},
               [&](Value x, ValueRange carried) { return SmallVector<Value>{b.larger(vectorAt(x), carried[0])}; })[0];
    if (whole < extent) {
      Value inside =
          arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, b.laneNumbers(), b.integer(extent - whole));
      largest = b.larger(b.select(inside, vectorAt(b.index(whole)), b.constant(none)), largest);
    }
    if (!kernel.mayShift())
      return;
    Value centre = ifFinite(b, b.reduceMax(largest)), shift = b.broadcast(centre);
    kernel.noteShift(row, centre);
    b.loop(b.index(0), b.index(extent), lanes, [&](Value x) {
      Value place = b.add(line, x);
      b.store(b.subf(b.load(linesMemory, place), shift), linesMemory, place);
    });
  }

  Buffer lines; // one for each query of a block
  int64_t lineStride = 0;
  Value linesMemory;
};

class AxisLinesStrategy : public RowStrategy {
public:
  AxisLinesStrategy() : RowStrategy(RowKind::Axis, /*keySide=*/false) {}
  StringRef name() const override { return "axis_lines"; }
  void addSizes(const TermForm &form, const AttentionShape &shape, AttentionSizes &sizes) const override {
    sizes.hasRowLine = true;
    sizes.extraPerRow += shape.keyAxes[form.as<RowTerm>()->axis].extent;
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<AxisLines>(kernel, *form.as<RowTerm>());
  }

private:
  Counted count(const RowTerm &term, const AttentionShape &shape, const TileSizes &,
                const Target &target) const override {
    double queries = double(shape.queries);
    return {queries * double(rowsPicked(term)),
            target.gatherCycles * queries * double(shape.keyAxes[term.axis].extent)};
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeAxisLines() { return std::make_unique<AxisLinesStrategy>(); }
