// The strategy "axis_logits": q_i·R[±(j - i) + c] on one axis of a map. For each query it computes the logits of every
// value of the key axis, once for all blocks of keys, and adds them up in the lines of biases.
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/Strategies/OffsetTable.h"

using namespace mlir;
using namespace skewer;

namespace {
class AxisLogits : public OffsetLogits {
public:
  using OffsetLogits::OffsetLogits;
  LineUse lineUse() const override { return LineUse::AddsAlongMap; }

  void computeGroup(const RowBlock &block, Value group) override {
    computeLogits(group, block.firstRow, b.index(0), b.index(shape.keys));
  }

  /// Subtracts the maximum of a row's logits from them, so that logits near the row's largest score are near 0 and are
  /// added up with little rounding. The weights of each query stay the same. For the effect see kChunk in Summation.h.
  void centreRow(const RowBlock &block, Value row) override {
    if (!hasEveryRow() || !kernel.softmax.mayShift())
      return;
    Value origin = originOf(row, b.add(block.firstRow, row), block.firstRow, b.index(0));
    int64_t extent = term.linear.keyAxis.extent;
    Value shift = largestOf(b, logitsMemory, origin, extent), shifts = b.broadcast(shift);
    kernel.softmax.noteShift(row, shift);
    // Lanes behind the last logit belong to the same row, which does not read them.
    b.loop(b.index(0), b.index(extent), lanes, [&](Value x) {
      Value at = b.add(origin, x);
      b.store(b.subf(b.load(logitsMemory, at), shifts), logitsMemory, at);
    });
  }

  std::optional<AlongOuter> mapPart(const BiasRow &row) override {
    Value origin = originOf(row.row, row.position, row.firstRow, row.lowKey);
    return AlongOuter([this, origin](Value, Value firstKey, Value &base) -> AlongInner {
      if (term.linear.keyAxis.inner == 1)
        return [this, origin](Value x, Value sum) { return b.addf(sum, b.load(logitsMemory, b.add(origin, x))); };
      Value at = b.add(origin, positions.axisOf(term.linear.keyAxis, firstKey));
      base = b.addf(base, b.loadBroadcast(logitsMemory, at));
      return {};
    });
  }

private:
  /// Returns whether the table has a row for each pair of query and key, also for pairs that a mask hides. Where a row
  /// is missing, no logit is computed, and the number in its place has no meaning.
  bool hasEveryRow() const {
    int64_t below = (term.linear.sign > 0 ? term.linear.queryAxis : term.linear.keyAxis).extent - 1;
    int64_t above = (term.linear.sign > 0 ? term.linear.keyAxis : term.linear.queryAxis).extent - 1;
    return term.linear.shift.isConstant(0) && term.linear.constant >= below && term.linear.constant + above < term.rows;
  }

  /// Returns the place of key-axis value 0 in the logits of this row.
  Value originOf(Value row, Value position, Value firstRow, Value lowKey) {
    Value start = startOf(b.divide(row, tileRows), firstRow, lowKey);
    Value query = positions.axisOf(term.linear.queryAxis, position);
    Value column = b.sub(b.sub(firstColumn(), query), b.mul(start, columnsApart()));
    return b.add(b.add(b.mul(row, logitsStride), margin), column);
  }
};

class AxisLogitsStrategy : public TermStrategy {
public:
  StringRef name() const override { return "axis_logits"; }
  AddOrder order() const override { return AddOrder::Offsets; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    return linearTerm(form, shape, /*isWhole=*/false);
  }
  /// Existing rows of the table are packed, with 0 behind them, so that all columns within the bound of an axis are
  /// numbers.
  bool takesLengths() const override { return true; }
  void addSizes(const TermForm &form, const AttentionShape &, AttentionSizes &sizes) const override {
    const RowTerm &term = *form.as<RowTerm>();
    sizes.hasLine = true;
    sizes.extraPerRow += term.linear.keyAxis.extent + term.linear.queryAxis.extent;
  }
  /// Counts for each group of rows the columns of the axis that its queries reach, for each block of keys.
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    const RowTerm &term = *form.as<RowTerm>();
    int64_t span = term.linear.queryAxis.inner == 1 ? std::min(tile.tileRows, term.linear.queryAxis.extent) : 1;
    double window = keyBlocksOf(shape, tile) * double(llvm::alignTo(term.linear.keyAxis.extent + span - 1, tile.lanes));
    double groups = double(llvm::divideCeil(shape.queries, tile.tileRows));
    double flops = 2 * double(tile.tileRows) * groups * window * double(term.depth);
    return {flops, productCycles(flops, tile, target, term.element)};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<AxisLogits>(kernel, *form.as<RowTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeAxisLogits() { return std::make_unique<AxisLogitsStrategy>(); }
