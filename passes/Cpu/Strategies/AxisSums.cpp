// The strategy "axis_sums": adds to the values rows of a table that one axis of a map picks. It sums up the weights of
// each position along the axis over the other axes; then each run is a small product.
#include "passes/Cpu/Strategies/ValueRows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

namespace {
class AxisSums : public ValueRows {
public:
  using ValueRows::ValueRows;
  void plan(Layout &layout) override {
    weightStride = llvm::alignTo(term.keyAxis.extent, lanes) + lanes;
    planRows(layout, weightStride);
  }

  void addToValues(const WeightedRows &rows) override {
    forRows(rows, [&](Value row, Value position) { addRow(row, position, rows); });
  }

private:
  void addRow(Value row, Value position, const WeightedRows &);
  int64_t weightStride = 0; // floats for one query: a sum of weights for each position of the key axis, and one vector
};
} // namespace

void AxisSums::addRow(Value row, Value position, const WeightedRows &rows) {
  const MapAxis &axis = term.keyAxis;
  b.loop(b.index(0), b.index(weightStride), lanes,
         [&](Value at) { b.store(b.constant(kernel.hidden.noWeight()), weightsMemory, at); });
  Value weights = b.sub(b.mul(row, scoreStride), rows.lowKey);
  int64_t period = axis.inner == 1 ? axis.extent : axis.inner;
  b.loop(b.divide(rows.low, period), b.divide(b.add(rows.high, period - 1), period), 1, [&](Value part) {
    Value origin = b.mul(part, period);
    Value from = b.maximum(rows.low, origin), to = b.minimum(rows.high, b.add(origin, period));
    if (axis.inner == 1) {
      b.loop(from, to, lanes, [&](Value key) {
        Value at = b.sub(key, origin);
        Value sum = b.addf(b.load(weightsMemory, at), firstWeights(b.add(weights, key), b.sub(to, key)));
        b.store(sum, weightsMemory, at);
      });
    } else {
      Value at = b.remainder(part, axis.extent);
      Value sum = sumOfWeights(b.add(weights, from), b.add(weights, to));
      b.storeScalar(b.addf(b.scalar(weightsMemory, at), sum), weightsMemory, at);
    }
  });
  Value own = positions.axisOf(term.queryAxis, position);
  addToRow(row, [&](int64_t firstVector, int64_t vectors, ValueRange start) {
    SmallVector<Value> sums(start);
    for (const OffsetRun &run : term.runs) {
      Value from = b.maximum(b.index(0), b.add(own, run.low));
      Value to = b.minimum(b.index(axis.extent), b.add(own, run.high + 1));
      sums = b.loop(from, to, 1, sums, [&](Value at, ValueRange carried) {
        Value p = b.scalar(weightsMemory, at);
        Value seen = kernel.hidden.isSeen(p), wide = b.broadcast(p);
        Value table = rowOf(run, b.sub(at, own));
        SmallVector<Value> next;
        for (int64_t v = 0; v < vectors; ++v) {
          Value x = b.load(tableMemory, b.add(table, (firstVector + v) * lanes));
          next.push_back(b.select(seen, b.fma(wide, x, carried[v]), carried[v]));
        }
        return next;
      });
    }
    return sums;
  });
}

namespace {
// Cycles to add a vector of weights to the places of an axis; counted in the emitted loops.
constexpr double kAxisCycles = 4;

class AxisSumsStrategy : public ValueStrategy {
public:
  AxisSumsStrategy() : ValueStrategy(ValueKind::Axis) {}
  StringRef name() const override { return "axis_sums"; }
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &) const override {
    double rows = double(form.as<ValueTerm>()->keyAxis.extent) * widthVectors(shape, tile);
    return {0, double(shape.queries) * (double(shape.keys) / double(tile.lanes) * kAxisCycles + rows * kRowCycles)};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    if (form.as<ValueTerm>()->runs.empty())
      return nullptr; // no visible pair has a row
    return std::make_unique<AxisSums>(kernel, *form.as<ValueTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeAxisSums() { return std::make_unique<AxisSumsStrategy>(); }
