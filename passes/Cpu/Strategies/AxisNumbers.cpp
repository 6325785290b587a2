// The strategy "axis_numbers": terms that depend on the key through some axes of a map alone, such as T[h, i, jx]. For
// each query of a block it computes one number for each tuple of indices of these axes, and adds the numbers up in the
// lines of biases.
#include "passes/Analysis/AxisProducts.h"
#include "passes/Cpu/ElementTerms.h"
#include "passes/Cpu/LaneIndices.h"
#include "passes/Cpu/Strategies/Others.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;

// Cycles for each vector of a line of biases: the load and addition of a vector of numbers, or the addition of one
// number. Cycles of an element that is computed by itself are those of the strategy "element".
static constexpr double kAddCycles = 1, kElementCycles = 6;

namespace {
/// The key axes that a term depends on, and where its numbers stand: one for each tuple of their indices, in row-major
/// order.
struct NumberedAxes {
  NumberedAxes(const OtherTerm &term, const AttentionShape &shape)
      : names(axesIn(expressionsOf(term), shape.space.key)), count(countOf(names, shape.space)) {
    int64_t stride = count;
    for (const std::string &name : names) {
      map.push_back(shape.keyAxes[llvm::find(shape.space.key, name) - shape.space.key.begin()]);
      strides.push_back(stride /= map.back().extent);
    }
  }
  /// Returns whether the numbers change along the innermost axis of the map.
  bool alongInner() const { return map.back().inner == 1; }

  std::vector<std::string> names;
  int64_t count;
  std::vector<MapAxis> map;
  std::vector<int64_t> strides;
};

class AxisNumbers : public CpuStrategy {
public:
  AxisNumbers(CpuKernel &kernel, const OtherTerm &term)
      : CpuStrategy(kernel), term(term), axes(term, shape), byLanes(fitsLanes(term, shape.space)) {
    for (const Expr &offset : term.offsets)
      places.push_back(splitPlace(offset, shape.space));
  }
  LineUse lineUse() const override { return LineUse::AddsAlongMap; }

  void plan(Layout &layout) override {
    stride = llvm::alignTo(axes.count, lanes) + lanes; // a vector begins in the last row of numbers
    layout.reserve(numbers, rowBlock * stride, Layout::Zone::PickedRows);
  }
  void open() override { numbersMemory = view(memory.local, numbers); }

  void computeRows(const RowBlock &block) override {
    b.loop(b.index(0), block.rows, 1, [&](Value row) {
      Positions::Values at = positions.axesAt(b.add(block.firstRow, row), {});
      compute(0, at, b.mul(row, stride));
    });
  }

  std::optional<AlongOuter> mapPart(const BiasRow &row) override {
    return AlongOuter([this, row = row.row](Value, Value firstKey, Value &base) -> AlongInner {
      Value at = b.mul(row, stride);
      for (auto [axis, stride] : llvm::zip(axes.map, axes.strides))
        if (axis.inner != 1)
          at = b.add(at, b.mul(positions.axisOf(axis, firstKey), stride));
      if (axes.alongInner())
        return [this, at](Value x, Value sum) { return b.addf(sum, b.load(numbersMemory, b.add(at, x))); };
      base = b.addf(base, b.loadBroadcast(numbersMemory, at));
      return {};
    });
  }

private:
  /// Stores the numbers of a query from axis number `level` on.
  void compute(size_t level, Positions::Values at, Value where) {
    const std::string &name = axes.names[level];
    int64_t extent = axes.map[level].extent;
    bool last = level + 1 == axes.names.size();
    b.loop(b.index(0), b.index(extent), last && byLanes ? lanes : 1, [&](Value x) {
      if (last && byLanes)
        return b.store(vectorAt(at, name, x), numbersMemory, b.add(where, x));
      at[name] = x;
      last ? storeNumber(at, b.add(where, x)) : compute(level + 1, at, b.add(where, b.mul(x, axes.strides[level])));
    });
  }

  /// Returns the numbers from index `x` of the last axis on. Lanes behind its end repeat the last number.
  Value vectorAt(const Positions::Values &at, const std::string &name, Value x) {
    Value lane = arith::AddIOp::create(b.builder, broadcastIndex(b, x), laneNumbers(b));
    lane = arith::MinSIOp::create(b.builder, lane, integer(b, axes.map.back().extent - 1));
    LaneIndices indices(b, at, {{name, lane}}, positions.indices);
    Value guard = term.guard ? indices.emitPredicate(*term.guard) : Value(), product = b.constant(term.scale);
    for (auto [place, argument] : llvm::zip(places, term.arguments))
      product = b.mulf(product, gather(b, memory.arguments[argument], positions.baseOf(place.first),
                                       indices.emit(place.second), guard));
    if (term.factor)
      product = b.mulf(product, arith::SIToFPOp::create(b.builder, b.vector, indices.emit(*term.factor)));
    return guard ? b.select(guard, product, b.constant(0)) : product;
  }

  void storeNumber(const Positions::Values &at, Value where) {
    auto store = [&] { b.storeScalar(b.narrow(elementOf(context, term, at)), numbersMemory, where); };
    if (!term.guard)
      return store();
    b.when(positions.predicate(*term.guard, at), store,
           [&] { b.storeScalar(b.constantScalar(0), numbersMemory, where); });
  }

  const OtherTerm &term;
  const NumberedAxes axes;
  const bool byLanes;                        // a vector of numbers at a time
  std::vector<std::pair<Expr, Expr>> places; // of each operand: the part of heads, and that of positions
  Buffer numbers;                            // `stride` for each row of a block
  int64_t stride = 0;
  Value numbersMemory;
};

class AxisNumbersStrategy : public TermStrategy {
public:
  StringRef name() const override { return "axis_numbers"; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    const OtherTerm *term = form.as<OtherTerm>();
    if (!term || shape.keyAxes.size() < 2)
      return false;
    NumberedAxes axes(*term, shape);
    return !axes.names.empty() && axes.count < shape.keys;
  }
  void take(const TermForm &form, AttentionShape &shape) const override {
    TermStrategy::take(form, shape);
    shape.others[form.number].gates.clear(); // they are part of the numbers
  }
  void addSizes(const TermForm &form, const AttentionShape &shape, AttentionSizes &sizes) const override {
    sizes.hasLine = true;
    sizes.extraPerRow += NumberedAxes(*form.as<OtherTerm>(), shape).count;
  }
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    const OtherTerm &term = *form.as<OtherTerm>();
    double queries = double(shape.queries), numbers = queries * double(NumberedAxes(term, shape).count);
    double each = fitsLanes(term, shape.space) ? target.gatherCycles : kElementCycles;
    for (const auto &[axis, size] : term.contracted)
      each *= double(size);
    return {0, numbers * each * double(term.offsets.size() + 1) +
                   kAddCycles * queries * tile.columns / double(tile.lanes)};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<AxisNumbers>(kernel, *form.as<OtherTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> makeAxisNumbers() { return std::make_unique<AxisNumbersStrategy>(); }
