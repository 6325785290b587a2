// "axis_logits": the same on one axis of a map, once for all blocks of keys: logits of every value of the key's axis,
// added up in the lines of biases.
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/Strategies/OffsetTable.h"

using namespace mlir;
using namespace skewer;

namespace {
class AxisLogits : public OffsetLogits {
public:
  using OffsetLogits::OffsetLogits;
  LineUse lineUse() const override { return LineUse::Adds; }

  void computeGroup(const RowBlock &block, Value group) override {
    computeLogits(group, block.firstRow, b.index(0), b.index(shape.keys));
  }

  /// Less their maximum, so that what is near the row's largest score is near 0 and is added up without rounding much.
  /// Each query's weights stay what they are. For its effect see kChunk in Summation.h.
  void centreRow(const RowBlock &block, Value row) override {
    if (!hasEveryRow() || !kernel.mayShift())
      return;
    Value origin = originOf(row, b.add(block.firstRow, row), block.firstRow, b.index(0));
    int64_t extent = term.keyAxis.extent, whole = extent / lanes * lanes;
    Value shift = largestIn(b, logitsMemory, origin, b.add(origin, extent)), shifts = b.broadcast(shift);
    kernel.noteShift(row, shift);
    b.loop(b.index(0), b.index(whole), lanes, [&](Value x) {
      Value at = b.add(origin, x);
      b.store(b.subf(b.load(logitsMemory, at), shifts), logitsMemory, at);
    });
    b.loop(b.index(whole), b.index(extent), 1, [&](Value x) {
      Value at = b.add(origin, x);
      b.storeScalar(b.subf(b.scalar(logitsMemory, at), shift), logitsMemory, at);
    });
  }

  std::optional<AlongOuter> mapPart(const BiasRow &row) override {
    Value origin = originOf(row.row, row.position, row.firstRow, row.lowKey);
    return AlongOuter([this, origin](Value, Value firstKey, Value &base) -> AlongInner {
      if (term.keyAxis.inner == 1)
        return [this, origin](Value x, Value sum) { return b.addf(sum, b.load(logitsMemory, b.add(origin, x))); };
      Value at = b.add(origin, axisOf(term.keyAxis, firstKey));
      base = b.addf(base, b.loadBroadcast(logitsMemory, at));
      return {};
    });
  }

private:
  /// Whether the table has a row for each pair of query and key, also for those that a mask hides: where it lacks one
  /// no logit is computed, and what stands in its place says nothing.
  bool hasEveryRow() const {
    int64_t below = (term.sign > 0 ? term.queryAxis : term.keyAxis).extent - 1;
    int64_t above = (term.sign > 0 ? term.keyAxis : term.queryAxis).extent - 1;
    return term.shift.isConstant(0) && term.constant >= below && term.constant + above < term.rows;
  }

  /// Where key-axis value 0 stands in the logits of this row.
  Value originOf(Value row, Value position, Value firstRow, Value lowKey) {
    Value start = startOf(b.divide(row, tileRows), firstRow, lowKey);
    Value query = axisOf(term.queryAxis, position);
    Value column = b.sub(b.sub(firstColumn(), query), b.mul(start, lanes));
    return b.add(b.add(b.mul(row, logitsStride), margin), column);
  }
};

class AxisLogitsStrategy : public TermStrategy {
public:
  StringRef name() const override { return "axis_logits"; }
  AddOrder order() const override { return AddOrder::Offsets; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    const OffsetTerm *term = form.as<OffsetTerm>();
    return term && !isOfWholePositions(*term, shape);
  }
  /// The table's rows that are there are packed, and 0 behind them: what the bound of an axis reaches is a number.
  bool takesLengths() const override { return true; }
  void addSizes(const TermForm &form, const AttentionShape &, AttentionSizes &sizes) const override {
    const OffsetTerm &term = *form.as<OffsetTerm>();
    sizes.hasLine = true;
    sizes.extraPerRow += term.keyAxis.extent + term.queryAxis.extent;
  }
  /// A group of rows meets the columns of the axis that its queries reach, for each block of keys.
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    const OffsetTerm &term = *form.as<OffsetTerm>();
    int64_t span = term.queryAxis.inner == 1 ? std::min(tile.tileRows, term.queryAxis.extent) : 1;
    double window = keyBlocksOf(shape, tile) * double(llvm::alignTo(term.keyAxis.extent + span - 1, tile.lanes));
    double groups = double(llvm::divideCeil(shape.queries, tile.tileRows));
    double flops = 2 * double(tile.tileRows) * groups * window * double(term.depth);
    return {flops, productCycles(flops, tile, target)};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<AxisLogits>(kernel, *form.as<OffsetTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeAxisLogits() { return std::make_unique<AxisLogitsStrategy>(); }
