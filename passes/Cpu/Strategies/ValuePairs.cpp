// The strategy "read_for_each_pair": adds any other row to the values. It finds the element of the row for each key
// that has a weight.
#include "passes/Cpu/Strategies/ValueRows.h"

using namespace mlir;
using namespace skewer;

namespace {
class ValuePairs : public WeightedTerm {
public:
  using WeightedTerm::WeightedTerm;
  void addToValues(const WeightedRows &rows) override {
    forRows(rows, [&](Value row, Value position) { addRow(row, position, rows); });
  }

private:
  void addRow(Value row, Value position, const WeightedRows &);
};
} // namespace

void ValuePairs::addRow(Value row, Value position, const WeightedRows &rows) {
  Value weights = b.sub(b.mul(row, scoreStride), rows.lowKey), source = memory.arguments[term.argument];
  auto onlyIf = [&](Value condition, ValueRange otherwise, MakeValues body) {
    return choose(b, condition, otherwise.getTypes(), body, [&] { return SmallVector<Value>(otherwise); });
  };
  addToRow(row, [&](int64_t firstVector, int64_t vectors, ValueRange start) {
    return b.loop(rows.low, rows.high, 1, start, [&](Value key, ValueRange carried) {
      Value p = b.scalar(memory.scores, b.add(weights, key));
      // A weight of 0 may belong to a masked key, for which nothing is proven.
      Value seen = kernel.hidden.isSeen(p);
      return onlyIf(seen, carried, [&] {
        Positions::Values at = positions.axesAt(position, key);
        auto read = [&] {
          Value factor = b.mulf(p, b.constantScalar(term.scale));
          if (term.factor) {
            Value wide =
                arith::IndexCastOp::create(b.builder, b.builder.getI64Type(), positions.indexOf(*term.factor, at));
            factor = b.mulf(factor, arith::SIToFPOp::create(b.builder, b.f32, wide));
          }
          Value from = positions.indexOf(term.offset, at), wide = b.broadcast(factor);
          SmallVector<Value> sums;
          for (int64_t v = 0; v < vectors; ++v) {
            int64_t count = std::min(lanes, shape.width - (firstVector + v) * lanes);
            Value x = b.loadFirst(source, b.add(from, (firstVector + v) * lanes), count);
            sums.push_back(b.fma(wide, x, carried[v]));
          }
          return sums;
        };
        return term.guard ? onlyIf(positions.predicate(*term.guard, at), carried, read) : read();
      });
    });
  });
}

namespace {
// Cycles to find the element of a pair and to test its weight; counted in the emitted loops.
constexpr double kPairCycles = 8;

class ValuePairsStrategy : public ValueStrategy {
public:
  ValuePairsStrategy() : ValueStrategy(ValueKind::Pairs) {}
  StringRef name() const override { return "read_for_each_pair"; }
  /// Fits every term whose rows are contiguous.
  bool fits(const TermForm &form, const AttentionShape &) const override {
    const ValueTerm *term = form.as<ValueTerm>();
    return term && (term->kind == ValueKind::Pairs || term->widthStride == 1);
  }
  TermWork work(const TermForm &, const AttentionShape &shape, const TileSizes &tile, const Target &) const override {
    return {0, double(shape.queries) * double(shape.keys) * (kPairCycles + widthVectors(shape, tile) * kRowCycles)};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<ValuePairs>(kernel, *form.as<ValueTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeValuePairs() { return std::make_unique<ValuePairsStrategy>(); }
