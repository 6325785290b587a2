// The strategy "diagonals": adds to the values rows of a table that key - query picks, by runs of offsets. A run that
// moves on by one row for each key is a product like the one with the values, but it reads the weights along a
// diagonal: one element further for each query. A run that stays on one row needs only the sum of its weights, so a
// clipped table costs only its interior (Shaw et al. 2018, arXiv:1803.02155, equation 3).
#include "passes/Cpu/Strategies/ValueRows.h"
#include "passes/Cpu/WeightedSums.h"

using namespace mlir;
using namespace skewer;

namespace {
class Diagonals : public ValueRows {
public:
  using ValueRows::ValueRows;
  void plan(Layout &layout) override {
    weightStride = llvm::count_if(term.runs, [](const OffsetRun &run) { return run.isSummed(); });
    planRows(layout, tileRows * weightStride);
  }

  Value testRows(Value sum) override {
    for (const OffsetRun &run : term.runs) {
      int64_t last = run.step == 0 ? run.low : run.high;
      sum = b.loop(b.index(run.low), b.index(last + 1), 1, ValueRange{sum}, [&](Value offset, ValueRange carried) {
        Value at = rowOf(run, offset), total = carried[0];
        for (int64_t v = 0; v < widthVectors; ++v)
          total = b.fma(b.load(tableMemory, b.add(at, v * lanes)), b.constant(0), total);
        return SmallVector<Value>{total};
      })[0];
    }
    return sum;
  }

  void addToValues(const WeightedRows &) override;

private:
  std::vector<OffsetRun> visibleRuns() const;
  void sumWeights(ArrayRef<OffsetRun>, const WeightedRows &, Value row, Value position);
  int64_t weightStride = 0; // runs that stay on one row: each query of a group has a sum of weights for each
};
} // namespace

/// Returns the runs without the offsets that the mask hides, which have no weight.
std::vector<OffsetRun> Diagonals::visibleRuns() const {
  std::vector<OffsetRun> runs;
  for (OffsetRun run : term.runs) {
    int64_t from = run.low, to = run.high;
    if (shape.visible && shape.visibleShift.isConstant(0)) {
      from = std::max(from, shape.visible->low);
      to = std::min(to, shape.visible->high);
    }
    if (from > to)
      continue;
    run.start += run.step * (from - run.low);
    run.low = from, run.high = to;
    runs.push_back(run);
  }
  return runs;
}

/// Stores the sums of each row's weights along the runs that stay on one row.
void Diagonals::sumWeights(ArrayRef<OffsetRun> runs, const WeightedRows &weighted, Value row, Value position) {
  int64_t sumNumber = 0;
  for (const OffsetRun &run : runs) {
    if (!run.isSummed())
      continue;
    b.loop(b.index(0), b.index(tileRows), 1, [&](Value r) {
      Value own = b.add(position, r);
      Value from = b.maximum(weighted.low, b.add(own, run.low));
      Value to = b.minimum(weighted.high, b.add(own, run.high + 1));
      Value weights = b.sub(b.mul(b.add(row, r), scoreStride), weighted.lowKey);
      b.storeScalar(sumOfWeights(b.add(weights, from), b.add(weights, to)), weightsMemory,
                    b.add(b.mul(r, weightStride), sumNumber));
    });
    ++sumNumber;
  }
}

void Diagonals::addToValues(const WeightedRows &weighted) {
  Value group = weighted.group, firstRow = weighted.firstRow, lowKey = weighted.lowKey;
  Value low = weighted.low, high = weighted.high;
  Value row = b.mul(group, tileRows), position = b.add(firstRow, row);
  int64_t outStride = widthVectors * lanes;
  std::vector<OffsetRun> runs = visibleRuns();
  sumWeights(runs, weighted, row, position);

  for (int64_t firstVector = 0; firstVector < widthVectors; firstVector += tileVectors) {
    int64_t vectors = std::min(tileVectors, widthVectors - firstVector);
    Value out = b.add(b.mul(row, outStride), firstVector * lanes);
    SmallVector<Value> none(tileRows * vectors, b.constant(0)), sums = none;
    auto addToStored = [&](ArrayRef<Value> more) {
      for (int64_t r = 0; r < tileRows; ++r)
        for (int64_t v = 0; v < vectors; ++v) {
          Value at = b.add(out, r * outStride + v * lanes);
          b.store(b.addf(b.load(memory.accumulators, at), more[r * vectors + v]), memory.accumulators, at);
        }
    };
    auto product = [&](Value at, const std::function<Value(int64_t)> &weight, bool tested, SmallVector<Value> sums) {
      SmallVector<Value> values;
      for (int64_t v = 0; v < vectors; ++v)
        values.push_back(b.load(tableMemory, b.add(at, (firstVector + v) * lanes)));
      addWeighted(b, tileRows, values, weight, kernel.hidden.seenIf(tested), sums);
      return sums;
    };
    auto steps = [&](const OffsetRun &run, Value from, Value to, bool tested, ArrayRef<Value> start) {
      return b.loop(from, to, 1, SmallVector<Value>(start), [&](Value offset, ValueRange carried) {
        Value key = b.add(position, offset);
        auto weight = [&](int64_t r) -> Value {
          Value own = b.add(key, r), weights = b.sub(b.mul(b.add(row, r), scoreStride), lowKey);
          if (!tested)
            return b.scalar(memory.scores, b.add(weights, own));
          // If the key does not exist or is not in this block, some other weight is read, but not used.
          Value inside = arith::AndIOp::create(b.builder, b.less(own, high), b.less(b.add(low, -1), own));
          Value near = b.maximum(low, b.minimum(own, b.add(high, -1)));
          return b.select(inside, b.scalar(memory.scores, b.add(weights, near)),
                          b.constantScalar(kernel.hidden.noWeight()));
        };
        return product(rowOf(run, offset), weight, tested, SmallVector<Value>(carried));
      });
    };
    int64_t sumNumber = 0, chained = 0;
    for (const OffsetRun &run : runs) {
      if (run.isSummed()) {
        auto weight = [&](int64_t r) { return b.scalar(weightsMemory, b.index(r * weightStride + sumNumber)); };
        sums = product(rowOf(run, b.index(run.low)), weight, true, sums);
        ++sumNumber, ++chained;
        continue;
      }
      // In [from, to) some row has a key at the offset; in [allFrom, allTo) every row has one.
      Value from = b.maximum(b.index(run.low), b.add(b.sub(low, position), 1 - tileRows));
      Value to = b.maximum(from, b.minimum(b.index(run.high + 1), b.sub(high, position)));
      Value allFrom = b.minimum(to, b.maximum(from, b.sub(low, position)));
      Value allTo = b.maximum(allFrom, b.minimum(to, b.add(b.sub(high, position), 1 - tileRows)));
      if (kernel.values.areFinite())
        allTo = b.select(kernel.values.areFinite(), allTo, allFrom);
      sums = steps(run, from, allFrom, true, sums);
      if (chained + run.length() <= kChain) {
        chained += run.length();
        sums = steps(run, allFrom, allTo, false, sums);
      } else {
        b.loop(allFrom, allTo, kChain, [&](Value first) {
          addToStored(steps(run, first, b.minimum(b.add(first, kChain), allTo), false, none));
        });
      }
      sums = steps(run, allTo, to, true, sums);
    }
    addToStored(sums);
  }
}

namespace {
// Cycles to sum up a vector of weights along a row; counted in the emitted loops.
constexpr double kSumCycles = 1;

/// Returns how many pairs of a query and a key have a difference in [low, high] that the mask leaves visible.
double pairsWithin(const AttentionShape &shape, int64_t low, int64_t high) {
  if (shape.visible) {
    low = std::max(low, shape.visible->low);
    high = std::min(high, shape.visible->high);
  }
  double pairs = 0;
  for (int64_t query = 0; low <= high && query < shape.queries; ++query) {
    // Offsets may be as large as INT64_MAX, so that a sum with a position could overflow.
    int64_t first = low <= -query ? 0 : query + std::min(low, shape.keys);
    int64_t last = high >= shape.keys - 1 - query ? shape.keys - 1 : query + high;
    pairs += static_cast<double>(std::max<int64_t>(0, last - first + 1));
  }
  return pairs;
}

class DiagonalsStrategy : public ValueStrategy {
public:
  DiagonalsStrategy() : ValueStrategy(ValueKind::Runs) {}
  StringRef name() const override { return "diagonals"; }
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    auto vectors = static_cast<int64_t>(widthVectors(shape, tile));
    double rows = double(tile.tileRows), groups = double(llvm::divideCeil(shape.queries, tile.tileRows));
    double key = multiplyCycles(tile.tileRows, vectors, 1, tile.registers(), target); // one key of a row group
    TermWork work;
    for (const OffsetRun &run : form.as<ValueTerm>()->runs) {
      double pairs = pairsWithin(shape, run.low, run.high);
      if (run.isSummed()) {
        work.cycles += pairs / double(tile.lanes) * kSumCycles + groups * key;
        continue;
      }
      double steps = pairs / rows + (pairs > 0 ? groups : 0); // of all row groups
      work.cycles += steps * key;
      work.flops += 2.0 * steps * rows * double(vectors * tile.lanes);
    }
    return work;
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    if (form.as<ValueTerm>()->runs.empty())
      return nullptr; // no visible pair has a row
    return std::make_unique<Diagonals>(kernel, *form.as<ValueTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeDiagonals() { return std::make_unique<DiagonalsStrategy>(); }
