// The strategy "query_numbers": terms that do not depend on the key. Their sum is one number for each query of a block,
// which is added to all scores of the query. A softmax does not depend on a finite number, so that only the log-sum-exp
// gets it; then the scores keep their digits however large it is.
#include "passes/Analysis/AxisProducts.h"
#include "passes/Cpu/ElementTerms.h"
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/Strategies/Others.h"

using namespace mlir;
using namespace skewer;

// Cycles for each vector of scores: an addition, for one term or for several. Cycles of a number, as an element's.
static constexpr double kAddedCycles = 1, kNumberCycles = 6;

namespace {
class QueryNumbers : public CpuStrategy {
public:
  QueryNumbers(CpuKernel &kernel, const TermStrategy &own, uint64_t sum) : CpuStrategy(kernel) {
    inSum(sum);
    for (const OtherTerm &term : shape.others)
      if (term.own == &own && term.sum == sum)
        terms.push_back(&term);
  }
  bool isEmpty() const { return terms.empty(); }

  void plan(Layout &layout) override { layout.reserve(numbers, rowBlock, Layout::Zone::Prepared); }
  void open() override { numbersMemory = view(memory.local, numbers); }

  void computeRows(const RowBlock &block) override {
    b.loop(b.index(0), b.mul(block.groups, tileRows), 1, [&](Value row) {
      b.storeScalar(b.constantScalar(0), numbersMemory, row);
      b.when(b.less(row, block.rows), [&] { storeNumber(row, positions.axesAt(b.add(block.firstRow, row), {})); });
    });
  }

  void addToScores(ScoreTile &tile) override {
    for (int64_t r = 0; r < tile.rows(); ++r) {
      Value number = b.loadBroadcast(numbersMemory, b.add(tile.row, r));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = tile.sums[r * tile.vectors + v];
        sum = b.addf(sum, number);
      }
    }
  }

private:
  /// Stores the sum of the terms. If a number may be subtracted from a row, it stores what the scores must still get:
  /// 0, or a number that is not finite.
  void storeNumber(Value row, const Positions::Values &at) {
    for (const OtherTerm *term : terms) {
      auto add = [&] {
        Value sum = b.addf(b.widen(b.scalar(numbersMemory, row)), elementOf(context, *term, at));
        b.storeScalar(b.narrow(sum), numbersMemory, row);
      };
      if (term->guard)
        b.when(positions.predicate(*term->guard, at), add);
      else
        add();
    }
    if (!kernel.softmax.mayShift())
      return;
    Value number = b.scalar(numbersMemory, row), finite = ifFinite(b, number);
    kernel.softmax.noteShift(row, finite);
    b.storeScalar(b.subf(number, finite), numbersMemory, row);
  }

  SmallVector<const OtherTerm *> terms;
  Buffer numbers; // one for each row of a block
  Value numbersMemory;
};

class QueryNumbersStrategy : public TermStrategy {
public:
  StringRef name() const override { return "query_numbers"; }
  AddOrder order() const override { return AddOrder::Loads; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    const OtherTerm *term = form.as<OtherTerm>();
    return term && axesIn(expressionsOf(*term), shape.space.key).empty();
  }
  bool takesLengths() const override { return true; }
  void take(const TermForm &form, AttentionShape &shape) const override {
    TermStrategy::take(form, shape);
    shape.others[form.number].gates.clear(); // they are part of the number
  }
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &) const override {
    double numbers = double(shape.queries);
    for (const auto &[axis, size] : form.as<OtherTerm>()->contracted)
      numbers *= double(size);
    return {0, kNumberCycles * numbers + kAddedCycles * double(shape.queries) * tile.columns / double(tile.lanes)};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &, const TermForm &) const override { return nullptr; }
  void makeShared(CpuKernel &kernel, std::vector<std::unique_ptr<CpuStrategy>> &strategies) const override {
    for (uint64_t sum = 0; sum < uint64_t(kernel.context.shape.sums); ++sum) {
      auto numbers = std::make_unique<QueryNumbers>(kernel, *this, sum);
      if (!numbers->isEmpty())
        strategies.push_back(std::move(numbers));
    }
  }
};
} // namespace

std::unique_ptr<TermStrategy> makeQueryNumbers() { return std::make_unique<QueryNumbersStrategy>(); }
