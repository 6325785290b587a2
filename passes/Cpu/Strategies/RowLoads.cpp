// The strategy "row_load": adds rows of an operand whose keys are consecutive in memory, and reads them in place. It
// reads nothing behind the last key or below the last query; both lengths may be numbers of the call.
#include "passes/Cpu/ElementTerms.h"
#include "passes/Cpu/Strategies/Others.h"
#include "passes/Emit/IntegerLanes.h"

using namespace mlir;
using namespace skewer;

namespace {
class RowLoad : public CpuStrategy {
public:
  RowLoad(CpuKernel &kernel, const OtherTerm &term) : CpuStrategy(kernel), term(term) {
    while (term.isGate(operand))
      ++operand;
    needsTiles = true; // the last vector of a tile may not be read whole
  }

  void addToScores(ScoreTile &tile) override {
    Value base = b.add(positions.baseOf(term.row.base), tile.key);
    Value stride = term.rowStride ? positions.baseOf(*term.rowStride) : b.index(term.row.query);
    SmallVector<Value> inside; // of each vector: the lanes with a key, if the length is a number of the call
    for (int64_t v = 0; shape.bounds.keyLength && v < tile.vectors; ++v) {
      Value rest = broadcastIndex(b, b.sub(positions.keys(), b.add(tile.key, v * lanes)));
      inside.push_back(arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, laneNumbers(b), rest));
    }
    for (int64_t r = 0; r < tileRows; ++r) {
      Value query = b.minimum(b.add(tile.position, r), b.add(positions.queries(), -1));
      Value factor = b.constantScalar(term.scale);
      if (!term.gates.empty())
        factor = timesGates(context, term, positions.axesAt(query, {}), factor);
      factor = b.broadcast(factor);
      Value from = b.add(base, b.mul(query, stride));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        int64_t count = tile.last && v + 1 == tile.vectors && shape.keys % lanes ? shape.keys % lanes : lanes;
        Value &sum = tile.sums[r * tile.vectors + v];
        Value source = memory.arguments[term.arguments[operand]], at = b.add(from, v * lanes);
        sum = b.fma(factor, inside.empty() ? b.loadFirst(source, at, count) : b.loadMasked(source, at, inside[v]), sum);
      }
    }
  }

private:
  const OtherTerm &term;
  unsigned operand = 0; // the one that is no gate
};

class RowLoadStrategy : public BiasStrategy {
public:
  RowLoadStrategy() : BiasStrategy("row_load", AddOrder::Loads, BiasKind::Row) {}
  bool takesLengths() const override { return true; }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<RowLoad>(kernel, *form.as<OtherTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeRowLoad() { return std::make_unique<RowLoadStrategy>(); }
