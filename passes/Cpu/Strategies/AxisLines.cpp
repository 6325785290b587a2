// The strategy "axis_lines": q_i·R[row], where one axis of a key map and any axes of the query pick the row. For each
// query it computes a line of logits over that key axis, and adds it up in the lines of biases. The width of the map
// may be a number of the call (LengthMap.h).
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/Strategies/PickedRows.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Emit/VectorMath.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace skewer;

namespace {
class AxisLines : public QueryRows {
public:
  AxisLines(CpuKernel &kernel, const RowTerm &term) : QueryRows(kernel, term) {
    if (!term.onMap)
      return;
    row = term.onMap->row;
    rowGuard = term.onMap->guard;
  }
  double variance() const override { return 0; } // centred
  LineUse lineUse() const override { return LineUse::AddsAlongMap; }

  void plan(Layout &layout) override {
    planRows(layout, tileRows);
    lineStride = llvm::alignTo(mostOnAxis(term, shape), lanes) + lanes;
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
    return AlongOuter([this, row = row.row](Value outer, Value firstKey, Value &base) -> AlongInner {
      if (term.onMap ? !term.onMap->ofRow : axis().inner == 1)
        return [this, row](Value x, Value sum) {
          return b.addf(sum, b.load(linesMemory, b.add(b.mul(row, lineStride), x)));
        };
      Value at = b.add(b.mul(row, lineStride), term.onMap ? outer : positions.axisOf(axis(), firstKey));
      base = b.addf(base, b.loadBroadcast(linesMemory, at));
      return {};
    });
  }

private:
  const MapAxis &axis() const { return shape.keyAxes[term.axis]; }
  const char *nameOnMap() const { return term.onMap->ofRow ? LengthMap::kKeyRow : LengthMap::kKeyColumn; }
  /// Returns how many values the axis has.
  Value extent() {
    if (!term.onMap)
      return b.index(axis().extent);
    Value width = positions.mapWidth;
    if (!term.onMap->ofRow)
      return width;
    return arith::DivUIOp::create(b.builder, b.add(b.add(positions.keys(), width), -1), width);
  }

  /// Stores the logits of one query over the axis, minus their maximum: see AxisLogits.cpp.
  void axisLine(Value row, Value position, Value products) {
    Value extent = this->extent(), whole = b.mul(b.divide(extent, lanes), lanes);
    float none = -std::numeric_limits<float>::infinity();
    Positions::Values at = term.onMap ? positions.onMapAt(position) : positions.axesAt(position, {});
    std::string name = term.onMap ? nameOnMap() : shape.space.key[term.axis];
    Value line = b.mul(row, lineStride);
    auto vectorAt = [&](Value x) {
      Value guard, keys = arith::AddIOp::create(b.builder, broadcastIndex(b, x), laneNumbers(b));
      Value rows = pickedRows(at, {{name, keys}}, guard);
      Value logits = pick(products, rows, guard);
      b.store(logits, linesMemory, b.add(line, x));
      return logits;
    };
    Value largest = b.loop(b.index(0), whole, lanes, ValueRange{b.constant(none)}, [&](Value x, ValueRange carried) {
      return SmallVector<Value>{larger(b, vectorAt(x), carried[0])};
    })[0];
    Value rest = broadcastIndex(b, b.sub(extent, whole));
    largest = b.loop(whole, extent, lanes, ValueRange{largest}, [&](Value x, ValueRange carried) {
      Value inside = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, laneNumbers(b), rest);
      return SmallVector<Value>{larger(b, b.select(inside, vectorAt(x), b.constant(none)), carried[0])};
    })[0];
    if (!kernel.softmax.mayShift())
      return;
    Value centre = ifFinite(b, reduceMax(b, largest)), shift = b.broadcast(centre);
    kernel.softmax.noteShift(row, centre);
    b.loop(b.index(0), extent, lanes, [&](Value x) {
      Value place = b.add(line, x);
      b.store(b.subf(b.load(linesMemory, place), shift), linesMemory, place);
    });
  }

public:
  /// Returns the most values that the axis may have.
  static int64_t mostOnAxis(const RowTerm &term, const AttentionShape &shape) {
    if (term.onMap)
      return term.onMap->ofRow ? shape.bounds.map->mostRows : shape.bounds.map->mostWidth;
    return shape.keyAxes[term.axis].extent;
  }

private:
  Buffer lines; // one for each query of a block
  int64_t lineStride = 0;
  Value linesMemory;
};

class AxisLinesStrategy : public RowStrategy {
public:
  AxisLinesStrategy() : RowStrategy(RowKind::Axis, /*keySide=*/false) {}
  StringRef name() const override { return "axis_lines"; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    const RowTerm *term = form.as<RowTerm>();
    if (!term || term->keySide)
      return false;
    return shape.hasLength() ? shape.bounds.map && term->onMap : term->kind == RowKind::Axis;
  }
  bool takesLengths() const override { return true; }
  void take(const TermForm &form, AttentionShape &shape) const override {
    if (!form.as<RowTerm>()->onMap)
      RowStrategy::take(form, shape);
  }
  void addSizes(const TermForm &form, const AttentionShape &shape, AttentionSizes &sizes) const override {
    sizes.hasRowLine = true;
    sizes.extraPerRow += AxisLines::mostOnAxis(*form.as<RowTerm>(), shape);
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<AxisLines>(kernel, *form.as<RowTerm>());
  }

private:
  Counted count(const RowTerm &term, const AttentionShape &shape, const TileSizes &,
                const Target &target) const override {
    double queries = double(shape.queries);
    return {queries * double(rowsPicked(term)),
            target.gatherCycles * queries * double(AxisLines::mostOnAxis(term, shape))};
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeAxisLines() { return std::make_unique<AxisLinesStrategy>(); }
