// The strategies "difference_line", "key_line" and "score_table": summands and masks whose values are prepared before
// the scores are computed, by each worker for its heads, or once a call (score table).
//
// A Difference of one pair of axes is a line that each row reads one element earlier than the row before it, like the
// band. Over maps it has a dimension for each pair of axes, and is added up in the lines of biases. A Key line is the
// same for all rows.
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Cpu/ElementTerms.h"
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/Strategies/Others.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace skewer;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Slopes are at most 1 and blocks have few rows, so a larger difference comes from a mask. Beyond the largest shift,
// the steps of f32 are larger than a tenth.
static constexpr float kLargestDifference = 256, kLargestShift = 0x1p20f;

namespace {
class PreparedLine : public CpuStrategy {
public:
  PreparedLine(CpuKernel &kernel, BiasKind kind, std::vector<std::string> axes, bool gated, uint64_t sum)
      : CpuStrategy(kernel), kind(kind), axes(std::move(axes)), gated(gated), table(kernel.context, this->axes) {
    inSum(sum);
    findSizes();
  }
  /// Returns whether another summand or mask may share the buffer: it needs the same kind, copies and sum, and no gate.
  bool takes(BiasKind other, const std::vector<std::string> &otherAxes, bool mask, uint64_t otherSum) const {
    return !gated && kind == other && axes == otherAxes && isMask() == mask && sum() == otherSum;
  }
  void addTerm(unsigned number) { terms.push_back(number); }
  void addMask(unsigned number) { masks.push_back(number); }

  LineUse lineUse() const override {
    return !overMap() ? LineUse::None : isMask() ? LineUse::Hides : LineUse::AddsAlongMap;
  }
  void plan(Layout &) override;
  void open() override;
  PackedTable *packedTable() override { return kind == BiasKind::Table ? &table : nullptr; }
  void packItem(Value target, Value copy, Value row) override { prepare(target, b.mul(copy, copyFloats), row); }
  void prepareHead() override {
    if (kind != BiasKind::Table)
      prepare(bufferMemory, b.index(0), {});
  }
  KeyRange visibleKeys() override;
  void packQueries(const RowBlock &) override;
  void centre(const RowBlock &) override;
  std::optional<AlongOuter> mapPart(const BiasRow &) override;
  void addToScores(ScoreTile &) override;
  void hide(ScoreTile &) override;

private:
  bool isMask() const { return !masks.empty(); }
  bool overMap() const { return kind == BiasKind::Difference && strides.size() > 1; }
  /// Returns whether each block of rows has a line of its own, with the largest value near 0, so that large biases are
  /// added without rounding.
  bool isCentred() const {
    return kind == BiasKind::Difference && !overMap() && !isMask() && !gated && kernel.softmax.mayShift();
  }
  const OtherTerm &gatedTerm() const { return shape.others[terms.front()]; }
  std::optional<SmallVector<unsigned>> argumentsOfTable() const;
  void findSizes();
  /// Stores the values at `target`: all of them, or one row of a score table.
  void prepare(Value target, Value targetBase, Value queryRow);
  /// The place at which the first row of a tile reads, and the floats from there to the place of the next row.
  struct Source {
    Value start;
    int64_t rowStride;
  };
  Source sourceOf(const ScoreTile &);

  const BiasKind kind;
  const std::vector<std::string> axes; // score table: the leading axes; each tuple has a copy
  const bool gated;                    // its one term has gates: one factor a row of the block
  std::vector<unsigned> terms;         // of shape.others; their values are added up
  std::vector<unsigned> masks;         // of shape.masks: 0 where all hold, -inf elsewhere
  int64_t copyFloats = 0;              // of the line, or of one copy of the table
  PackedTable table;                   // its items are rows
  std::vector<int64_t> strides;        // Difference: of each pair of axes; Table: of a row
  int64_t origin = 0;                  // place of the difference (0, …, 0)
  Buffer buffer, gates;
  Buffer lows, centred; // rounding errors of `buffer`; the values minus the largest one that a block of rows sees
  Value bufferMemory, gatesMemory, lowsMemory, centredMemory;
};
} // namespace

/// Computes the sizes of the buffer so that loads behind the last key, or of rows that the last group lacks, stay
/// inside.
void PreparedLine::findSizes() {
  int64_t paddedKeys = keyVectors * lanes;
  switch (kind) {
  case BiasKind::Table:
    strides = {paddedKeys};
    copyFloats = (shape.queries + tileRows) * paddedKeys;
    break;
  case BiasKind::Difference: {
    strides.assign(shape.queryAxes.size(), 0);
    int64_t floats = 1;
    for (size_t k = strides.size(); k-- > 0;) {
      bool innermost = k + 1 == strides.size();
      strides[k] = floats;
      int64_t extent = shape.queryAxes[k].extent + shape.keyAxes[k].extent - 1;
      origin += (shape.queryAxes[k].extent - 1) * floats;
      floats *= innermost ? extent + tileRows + 2 * lanes : extent;
    }
    origin += tileRows;
    copyFloats = floats;
    break;
  }
  default:
    copyFloats = paddedKeys;
  }
  copyFloats = llvm::alignTo(copyFloats, lanes);
}

void PreparedLine::plan(Layout &layout) {
  if (kind == BiasKind::Table) {
    table.itemsOfCopy = shape.queries;
    table.copyFloats = copyFloats;
    table.arguments = argumentsOfTable();
    table.plan(layout, Layout::Zone::Prepared);
  } else {
    layout.reserve(buffer, copyFloats, Layout::Zone::Prepared);
  }
  layout.reserve(gates, gated ? rowBlock : 0, Layout::Zone::Prepared);
  if (isCentred()) {
    layout.reserve(lows, copyFloats, Layout::Zone::Prepared);
    layout.reserve(centred, copyFloats, Layout::Zone::Prepared);
  }
}

void PreparedLine::open() {
  bufferMemory = kind == BiasKind::Table ? table.view() : view(memory.local, buffer);
  gatesMemory = gated ? view(memory.local, gates) : Value();
  lowsMemory = isCentred() ? view(memory.local, lows) : Value();
  centredMemory = isCentred() ? view(memory.local, centred) : Value();
}

std::optional<SmallVector<unsigned>> PreparedLine::argumentsOfTable() const {
  SmallVector<unsigned> arguments;
  std::vector<subscript::Expr> expressions;
  auto add = [&](const std::optional<subscript::Expr> &expression) {
    if (expression)
      expressions.push_back(*expression);
  };
  for (unsigned number : terms) {
    const OtherTerm &term = shape.others[number];
    arguments.append(term.arguments.begin(), term.arguments.end());
    llvm::append_range(expressions, term.offsets);
    add(term.factor);
    add(term.guard);
    if (term.application) // its arguments may be positions
      return std::nullopt;
  }
  for (unsigned number : masks)
    add(shape.masks[number].predicate);
  if (!llvm::all_of(expressions, [](const subscript::Expr &e) { return subscript::readsOf(e).empty(); }))
    return std::nullopt;
  return arguments;
}

void PreparedLine::prepare(Value target, Value targetBase, Value queryRow) {
  auto storeAt = [&](Value where, const Positions::Values &at) {
    if (gated && saysNothing(gatedTerm()))
      return storeOrNothing(context, gatedTerm(), at, target, where);
    Value lows = isCentred() ? lowsMemory : Value();
    for (Value part : {target, lows})
      if (part)
        b.storeScalar(b.constantScalar(0), part, where);
    for (unsigned mask : masks)
      b.when(
          positions.predicate(shape.masks[mask].predicate, at), [] {},
          [&] { b.storeScalar(b.constantScalar(-kInfinity), target, where); });
    for (unsigned term : terms) {
      auto add = [&] {
        Value sum = b.addf(b.widen(b.scalar(target, where)), elementOf(context, shape.others[term], at));
        if (lows)
          sum = b.addf(sum, b.widen(b.scalar(lows, where)));
        Value high = b.narrow(sum);
        b.storeScalar(high, target, where);
        if (!lows)
          return;
        Value finite = b.compare(arith::CmpFPredicate::OEQ, b.subf(high, high), b.constantScalar(0));
        Value low = b.narrow(b.subf(sum, b.widen(high)));
        b.storeScalar(b.select(finite, low, b.constantScalar(0)), lows, where);
      };
      if (shape.others[term].guard)
        b.when(positions.predicate(*shape.others[term].guard, at), add);
      else
        add();
    }
  };
  Value zero = b.index(0);
  if (kind == BiasKind::Key)
    return b.loop(zero, positions.keys(), 1,
                  [&](Value key) { storeAt(b.add(targetBase, key), positions.axesAt({}, key)); });
  if (kind == BiasKind::Table)
    return b.loop(zero, b.index(shape.keys), 1, [&](Value key) {
      Value row = b.add(targetBase, b.mul(queryRow, strides[0]));
      storeAt(b.add(row, key), positions.axesAt(queryRow, key));
    });
  // Each tuple of differences is computed at one pair of positions that has it.
  Positions::Values at = positions.axes;
  std::function<void(size_t, Value)> nest = [&](size_t pair, Value where) {
    if (pair == strides.size())
      return storeAt(where, at);
    int64_t queries = shape.queryAxes[pair].extent, keys = shape.keyAxes[pair].extent;
    // A line is prepared only where the mask leaves it visible: no row sees the rest.
    Value first = zero, end = b.index(queries + keys - 1);
    if (strides.size() == 1 && shape.visible) {
      if (shape.visible->low != INT64_MIN && !shape.prefix)
        first = b.maximum(first, b.add(live.lowestVisible(), queries - 1));
      if (shape.visible->high != INT64_MAX)
        end = b.minimum(end, b.add(live.highestVisible(), queries));
    }
    if (shape.bounds.queryLength)
      first = b.maximum(first, b.sub(b.index(queries), positions.queries()));
    if (shape.bounds.keyLength)
      end = b.minimum(end, b.add(positions.keys(), queries - 1));
    b.loop(first, end, 1, [&](Value step) {
      Value difference = b.add(step, 1 - queries);
      Value key = b.maximum(difference, zero);
      at[shape.space.key[pair]] = key;
      at[shape.space.query[pair]] = b.sub(key, difference);
      nest(pair + 1, b.add(where, b.mul(difference, strides[pair])));
    });
  };
  nest(0, b.add(targetBase, origin));
}

/// Returns the range of keys that a mask over the key alone (lengths, padding) leaves visible. Tiles outside are never
/// computed.
KeyRange PreparedLine::visibleKeys() {
  if (!isMask() || kind != BiasKind::Key)
    return {};
  Value keys = positions.keys();
  auto found = b.loop(b.index(0), keys, 1, ValueRange{keys, b.index(0)}, [&](Value key, ValueRange range) {
    Value seen = b.compare(arith::CmpFPredicate::OEQ, b.scalar(bufferMemory, key), b.constantScalar(0));
    Value low = b.select(seen, b.minimum(range[0], key), range[0]);
    return SmallVector<Value>{low, b.select(seen, b.add(key, 1), range[1])};
  });
  return {found[0], found[1]};
}

void PreparedLine::packQueries(const RowBlock &block) {
  if (!gated)
    return;
  const OtherTerm &term = gatedTerm();
  b.loop(b.index(0), b.mul(block.groups, tileRows), 1, [&](Value row) {
    b.storeScalar(b.constantScalar(0), gatesMemory, row);
    b.when(b.less(row, block.rows), [&] {
      auto at = positions.axesAt(b.add(block.firstRow, row), {});
      b.storeScalar(timesGates(context, term, at, b.constantScalar(1)), gatesMemory, row);
    });
  });
}

/// Stores the line for a block of rows, minus a number on which no row's weights depend: the middle between the largest
/// values that the first and the last row see, so that no row is further from 0 than the furthest row was before. If
/// those two values are far apart, or the middle is large, a number that hides keys is among the values and some row
/// would lose digits; then nothing is subtracted.
void PreparedLine::centre(const RowBlock &block) {
  if (!isCentred())
    return;
  Value rows = b.mul(block.groups, tileRows), end = b.add(block.firstRow, rows), begin = b.index(origin);
  auto largestOf = [&](Value row) {
    Value from = b.sub(begin, row), to = b.add(from, positions.keys()), low = from;
    if (shape.visible && shape.visible->low != INT64_MIN && !shape.prefix)
      low = b.minimum(to, b.maximum(from, b.add(begin, live.lowestVisible())));
    if (shape.visible && shape.visible->high != INT64_MAX)
      to = b.maximum(low, b.minimum(to, b.add(b.add(begin, live.highestVisible()), 1)));
    return largestIn(b, bufferMemory, low, to);
  };
  Value last =
      b.minimum(b.add(end, -1), shape.bounds.queryLength ? b.add(positions.queries(), -1) : b.index(shape.queries - 1));
  Value top = largestOf(block.firstRow), bottom = largestOf(last), half = b.constantScalar(0.5);
  auto isWithin = [&](Value x, float most) {
    Value size = math::AbsFOp::create(b.builder, x);
    return b.compare(arith::CmpFPredicate::OLE, size, b.constantScalar(most));
  };
  Value middle = b.addf(b.mulf(top, half), b.mulf(bottom, half));
  Value safe = arith::AndIOp::create(b.builder, isWithin(middle, kLargestShift),
                                     isWithin(b.subf(top, bottom), kLargestDifference));
  // Rows between the first and the last row must see nothing but what one of these two sees.
  safe = arith::AndIOp::create(b.builder, safe, b.less(rows, b.add(positions.keys(), 1)));
  Value shift = b.select(safe, middle, b.constantScalar(0)), shifts = b.broadcast(shift);
  Value from = b.add(b.sub(begin, end), 1), to = b.sub(b.add(begin, shape.keys), block.firstRow);
  b.loop(from, to, lanes, [&](Value x) {
    Value centred = b.subf(b.load(bufferMemory, x), shifts);
    b.store(b.addf(centred, b.load(lowsMemory, x)), centredMemory, x);
  });
  if (shape.further.lse)
    b.loop(b.index(0), rows, 1, [&](Value row) { kernel.softmax.noteShift(row, shift); });
}

std::optional<AlongOuter> PreparedLine::mapPart(const BiasRow &row) {
  if (!overMap())
    return std::nullopt;
  Value start = b.index(origin);
  for (auto [axis, stride] : llvm::zip(shape.queryAxes, strides))
    start = b.sub(start, b.mul(positions.axisOf(axis, row.position), stride));
  Value gate = gated ? b.loadBroadcast(gatesMemory, row.row) : Value();
  return AlongOuter([this, start, gate](Value, Value firstKey, Value &) -> AlongInner {
    Value at = start;
    for (size_t pair = 0; pair + 1 < shape.keyAxes.size(); ++pair)
      at = b.add(at, b.mul(positions.axisOf(shape.keyAxes[pair], firstKey), strides[pair]));
    return [this, at, gate](Value x, Value sum) {
      Value term = b.load(bufferMemory, b.add(at, x)), nothing = b.constant(-kInfinity);
      if (gate)
        return addGated(b, gatedTerm(), gate, term, sum);
      return isMask() ? b.select(b.compare(arith::CmpFPredicate::OEQ, term, nothing), nothing, sum) : b.addf(sum, term);
    };
  });
}

PreparedLine::Source PreparedLine::sourceOf(const ScoreTile &tile) {
  if (kind == BiasKind::Key)
    return {tile.key, 0};
  if (kind == BiasKind::Difference)
    return {b.add(b.sub(tile.key, tile.position), origin), -1};
  return {b.add(b.add(table.copyOfHead(), b.mul(tile.position, strides[0])), tile.key), strides[0]};
}

void PreparedLine::addToScores(ScoreTile &tile) {
  if (isMask() || overMap())
    return;
  Source source = sourceOf(tile);
  Value line = isCentred() ? centredMemory : bufferMemory;
  for (int64_t r = 0; r < tile.rows(); ++r) {
    Value gate = gated ? b.loadBroadcast(gatesMemory, b.add(tile.row, r)) : Value();
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value x = b.load(line, b.add(source.start, r * source.rowStride + v * lanes));
      Value &sum = tile.sums[r * tile.vectors + v];
      sum = gate ? addGated(b, gatedTerm(), gate, x, sum) : b.addf(sum, x);
    }
  }
}

void PreparedLine::hide(ScoreTile &tile) {
  if (!isMask() || overMap())
    return;
  Value nothing = b.constant(-kInfinity), hidden = kernel.hidden.mark();
  Source source = sourceOf(tile);
  for (int64_t r = 0; r < tileRows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value mask = b.load(bufferMemory, b.add(source.start, r * source.rowStride + v * lanes));
      Value &sum = tile.sums[r * tile.vectors + v];
      sum = b.select(b.compare(arith::CmpFPredicate::OEQ, mask, nothing), hidden, sum);
    }
}

/// Returns one strategy for each buffer.
static std::vector<std::unique_ptr<CpuStrategy>> makePreparedLines(CpuKernel &kernel) {
  const AttentionShape &shape = kernel.context.shape;
  std::vector<std::unique_ptr<PreparedLine>> lines;
  auto lineFor = [&](BiasKind kind, ArrayRef<subscript::Expr> expressions, bool gated, bool mask,
                     uint64_t sum) -> PreparedLine & {
    std::vector<std::string> axes;
    if (kind == BiasKind::Table)
      axes = leadingAxesIn(expressions, shape.space);
    for (const auto &line : lines)
      if (!gated && line->takes(kind, axes, mask, sum))
        return *line;
    return *lines.emplace_back(std::make_unique<PreparedLine>(kernel, kind, axes, gated, sum));
  };
  auto isPrepared = [](BiasKind kind) {
    return kind == BiasKind::Difference || kind == BiasKind::Key || kind == BiasKind::Table;
  };
  for (auto [number, term] : llvm::enumerate(shape.others))
    if (!term.own && isPrepared(term.bias) && !term.onMap)
      lineFor(term.bias, expressionsOf(term, term.gates), !term.gates.empty(), false, term.sum).addTerm(number);
  for (auto [number, part] : llvm::enumerate(shape.masks))
    if (isPrepared(part.kind))
      lineFor(part.kind, {part.predicate}, false, true, 0).addMask(number);
  std::vector<std::unique_ptr<CpuStrategy>> strategies;
  for (auto &line : lines)
    strategies.push_back(std::move(line));
  return strategies;
}

namespace {
class PreparedStrategy : public BiasStrategy {
public:
  PreparedStrategy(llvm::StringRef name, BiasKind kind) : BiasStrategy(name, AddOrder::Prepared, kind) {}
  /// With run-time lengths, a score table does not fit, since it is made once a call before the lengths are known, and
  /// lines over maps do not, since they are as long as the bounds.
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    return isMeantFor(form) &&
           (!shape.hasLength() || kind == BiasKind::Key || (kind == BiasKind::Difference && shape.keyAxes.size() == 1));
  }
  bool takesLengths() const override { return true; }
};

class DifferenceLineStrategy : public PreparedStrategy {
public:
  DifferenceLineStrategy() : PreparedStrategy("difference_line", BiasKind::Difference) {}
  /// Over maps, the term is added up in the lines of biases.
  void addSizes(const TermForm &form, const AttentionShape &shape, AttentionSizes &sizes) const override {
    const OtherTerm *term = form.as<OtherTerm>();
    sizes.hasLine |= term && (shape.keyAxes.size() > 1 || term->onMap);
  }
  /// Makes the strategies of all three names, which share buffers.
  void makeShared(CpuKernel &kernel, std::vector<std::unique_ptr<CpuStrategy>> &strategies) const override {
    for (auto &line : makePreparedLines(kernel))
      strategies.push_back(std::move(line));
    addMapLines(kernel, strategies);
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeDifferenceLine() { return std::make_unique<DifferenceLineStrategy>(); }
std::unique_ptr<TermStrategy> skewer::makeKeyLine() {
  return std::make_unique<PreparedStrategy>("key_line", BiasKind::Key);
}
std::unique_ptr<TermStrategy> skewer::makeScoreTable() {
  return std::make_unique<PreparedStrategy>("score_table", BiasKind::Table);
}
