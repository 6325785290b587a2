// Any other row that is added to the values: it is read and added for each query and key. A lane has some columns of
// its rows, but the weights of some keys only. So the weights go through shared memory, where each warp has a place of
// its own.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/Strategies/Strategies.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

class ValueElements : public Strategy {
public:
  explicit ValueElements(const KernelContext &in) : Strategy(in) {}

  void addToValues(const Step &step, const Tiles &weights, WeightedSums &sums) override {
    const ScoreLayout &layout = in.place.scores;
    // The next weights are written after the barrier at the beginning of a step.
    rows.clear();
    for (size_t row = 0; row < layout.rows(); ++row)
      rows.push_back(b.mul(layout.rowInBlock(row), in.layout.weights.stride));
    for (const HeldNumber &number : layout.numbers())
      store(b, weights[number.tile][number.part], weightAt(number.row, layout.column(number.column)));
    warpBarrier(b);
    sums.tiles =
        gathered(b.loop(b.i32(0), b.i32(in.tile.keys), 1, flattened(sums.tiles), [&](Value number, ValueRange before) {
          Tiles next = gathered(before);
          for (size_t row = 0; row < layout.rows(); ++row) {
            Value weight = load(b, weightAt(row, number), b.getF32Type());
            addKey(b.add(step.firstKey, number), weight, row, next);
          }
          return flattened(next);
        }));
  }

private:
  Value weightAt(size_t row, Value key) { return in.shared.numberAt(b.add(rows[row], key), in.layout.weights.offset); }

  void addKey(Value key, Value weight, size_t row, Tiles &sums) {
    Axes at = in.place.axesAt(row, key);
    // Only rows of seen pairs may be read: for other pairs, a table need not have a row. A direct weight of 0 counts,
    // since its row may be no number; -0 marks a hidden key.
    Value seen;
    if (in.shape.attention.direct)
      seen = b.notEqual(LLVM::BitcastOp::create(b, b.getI32Type(), weight), b.i32(INT32_MIN));
    else
      seen = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, weight, b.f32(0));
    seen = b.both(seen, b.less(in.place.query(row), in.place.queries()));
    for (const ValueElement &element : in.shape.valueElements)
      addElement(element, at, weight, seen, row, sums);
  }

  void addElement(const ValueElement &element, const Axes &at, Value weight, Value seen, size_t row, Tiles &sums) {
    const ElementTerm &term = element.first;
    Value there = term.guard ? b.both(seen, in.operands.predicate(*term.guard, at)) : seen;
    Value first = b.select(there, in.operands.index(term.offsets.front(), at), b.index(0));
    Value factor = b.mulf(weight, b.f32(term.scale));
    if (term.factor)
      factor = b.mulf(factor, in.operands.number(*term.factor, at));
    size_t columnTiles = sums.size() / size_t(in.place.scores.rowTiles());
    ScoreLayout layout = in.place.scores.across(int64_t(8 * columnTiles));
    for (const HeldNumber &number : layout.numbersOfRow(row)) {
      Value column = layout.column(number.column);
      if (number.column / 8 * 8 + 8 > in.place.columns)
        column = b.minimum(column, b.i32(in.place.columns - 1));
      if (in.place.firstColumn)
        column = b.add(column, in.place.firstColumn);
      Value place = b.add(b.toI64(first), b.mul(b.toI64(column), element.widthStride));
      Value read = in.operands.elementAt(term.arguments.front(), place);
      Value &sum = sums[number.tile][number.part];
      sum = b.select(there, b.fma(factor, read, sum), sum);
    }
  }

  std::vector<Value> rows; // where the weights of the thread's rows begin, in numbers
};

} // namespace

namespace skewer::gpu {
void addValueElements(const KernelContext &in, Strategies &all) {
  if (!in.shape.valueElements.empty())
    all.push_back(std::make_unique<ValueElements>(in));
}
} // namespace skewer::gpu
