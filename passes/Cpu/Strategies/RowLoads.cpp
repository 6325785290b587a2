// "row load": rows of an operand whose keys lie side by side in memory, read in place: not beside the last key, nor
// below the last query.
#include "passes/Cpu/ElementTerms.h"
#include "passes/Cpu/Strategies/Others.h"

using namespace mlir;
using namespace skewer;

namespace {
class RowLoad : public CpuStrategy {
public:
  RowLoad(CpuKernel &kernel, const OtherTerm &term) : CpuStrategy(kernel), term(term) {
    while (term.isGate(operand))
      ++operand;
  }

  void addToScores(ScoreTile &tile) override {
    Value base = b.add(baseOf(term.row.base), tile.key);
    for (int64_t r = 0; r < tileRows; ++r) {
      Value query = b.minimum(b.add(tile.position, r), b.index(shape.queries - 1));
      Value factor = b.constantScalar(term.scale * kernel.unit());
      if (!term.gates.empty())
        factor = timesGates(kernel, term, axesAt(query, {}), factor);
      factor = b.broadcast(factor);
      Value from = b.add(base, b.mul(query, term.row.query));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        int64_t count = tile.last && v + 1 == tile.vectors && shape.keys % lanes ? shape.keys % lanes : lanes;
        Value &sum = tile.sums[r * tile.vectors + v];
        sum = b.fma(factor, b.loadFirst(memory.arguments[term.arguments[operand]], b.add(from, v * lanes), count), sum);
      }
    }
  }

private:
  const OtherTerm &term;
  unsigned operand = 0; // which is no gate
};

class RowLoadStrategy : public BiasStrategy {
public:
  RowLoadStrategy() : BiasStrategy("row_load", AddOrder::Loads, BiasKind::Row) {}
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<RowLoad>(kernel, *form.as<OtherTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeRowLoad() { return std::make_unique<RowLoadStrategy>(); }
