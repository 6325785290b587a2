// The strategy "gathered_scalars": terms and masks of which only indices are prepared, such as rows picked by any
// function of positions, segments, documents, prefixes. It computes a vector of keys at a time; index expressions that
// depend on the key alone are in lines of integers.
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/LaneFit.h"
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/LaneIndices.h"
#include "passes/Cpu/Strategies/Others.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Emit/VectorMath.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::subscript;

namespace {
/// A function of the key and the leading axes, evaluated once a head: an i32 for each key. The expressions of lane
/// terms contain it as the symbol `name`.
struct IndexLine {
  subscript::Expr expression;
  std::string name;
  Buffer buffer;
};

/// A term whose element is scale × factor × Π operand[base + place]. The parts of places, factors and guards that
/// depend on the key alone are index lines.
struct LaneTerm {
  unsigned term = 0; // of AttentionShape::others
  std::vector<subscript::Expr> bases, places;
  std::optional<subscript::Expr> factor, guard;
};

class Lanes : public CpuStrategy {
public:
  Lanes(CpuKernel &kernel, uint64_t sum) : CpuStrategy(kernel) {
    inSum(sum);
    auto lineOf = [&](const Expr &expression) {
      for (const IndexLine &line : indexLines)
        if (line.expression == expression)
          return Expr::symbol(line.name);
      IndexLine line;
      line.expression = expression;
      line.name = "index line " + std::to_string(indexLines.size());
      indexLines.push_back(line);
      return Expr::symbol(line.name);
    };
    std::function<Expr(const Expr &)> hoist = [&](const Expr &e) -> Expr {
      if (!usesAny(e, shape.space.key) || e.isSymbol())
        return e;
      if (!usesAny(e, shape.space.query))
        return lineOf(e);
      std::vector<Expr> parts;
      if (e.kind() == Kind::Add) {
        addends(e, parts);
        Expr ofKey = 0, rest = 0;
        for (const Expr &part : parts) {
          bool alone = usesAny(part, shape.space.key) && !usesAny(part, shape.space.query);
          Expr &sum = alone ? ofKey : rest;
          Expr one = alone ? part : hoist(part);
          sum = sum.isConstant(0) ? one : sum + one;
        }
        return ofKey.isConstant(0) ? rest : rest + hoist(ofKey);
      }
      for (const Expr &operand : e.operands())
        parts.push_back(hoist(operand));
      return e.withOperands(parts);
    };
    for (auto [number, term] : llvm::enumerate(shape.others)) {
      if (term.own || term.bias != BiasKind::Lanes || term.sum != sum)
        continue;
      LaneTerm lane;
      lane.term = number;
      for (const Expr &offset : term.offsets) {
        auto [base, place] = splitPlace(offset, shape.space);
        lane.bases.push_back(base);
        lane.places.push_back(hoist(place));
      }
      if (term.factor)
        lane.factor = hoist(*term.factor);
      if (term.guard)
        lane.guard = hoist(*term.guard);
      laneTerms.push_back(std::move(lane));
    }
    for (const MaskPart &part : shape.masks)
      if (part.kind == BiasKind::Lanes && sum == 0)
        laneMasks.push_back(hoist(part.predicate));
  }
  bool isEmpty() const { return laneTerms.empty() && laneMasks.empty(); }
  LineUse lineUse() const override { return laneMasks.empty() ? LineUse::Adds : LineUse::Hides; }

  void plan(Layout &layout) override {
    for (IndexLine &line : indexLines)
      layout.reserve(line.buffer, keyVectors * lanes, Layout::Zone::Indices);
    layout.reserve(liveVectors, laneMasks.empty() ? 0 : keyBlock + tileVectors * lanes, Layout::Zone::Indices);
  }

  /// Stores the index lines. Lanes behind the last key repeat the number of the last key.
  void prepareHead() override {
    for (const IndexLine &line : indexLines) {
      Value target = integersIn(line.buffer), last = b.add(positions.keys(), -1);
      Value end = b.mul(b.add(b.divide(last, lanes), 1), lanes);
      b.loop(b.index(0), end, 1, [&](Value key) {
        Value inside = b.minimum(key, last);
        Value number = positions.indexOf(line.expression, positions.axesAt({}, inside));
        Value narrow = arith::IndexCastOp::create(b.builder, b.builder.getI32Type(), number);
        memref::StoreOp::create(b.builder, narrow, target, ValueRange{key});
      });
    }
  }

  /// Adds the terms to a line; a key that a mask hides becomes -inf.
  void addToLine(const BiasRow &row) override {
    Positions::Values at = positions.axesAt(row.position, {});
    Value nothing = b.constant(-std::numeric_limits<float>::infinity());
    std::vector<Value> lines;
    for (const IndexLine &known : indexLines)
      lines.push_back(integersIn(known.buffer));
    b.loop(row.lowKey, row.highKey, lanes, [&](Value key) {
      Positions::Values lanesAt = keyLanes(b, shape, key, positions.keys());
      for (auto [known, integers] : llvm::zip(indexLines, lines))
        lanesAt[known.name] = loadIntegers(b, integers, key);
      LaneIndices indices(b, at, std::move(lanesAt), positions.indices, keyInOrder(shape));
      Value where = b.add(row.line, b.sub(key, row.lowKey));
      Value before = b.load(row.memory, where), sum = before;
      for (const LaneTerm &lane : laneTerms) {
        const OtherTerm &term = shape.others[lane.term];
        Value guard = lane.guard ? indices.emitPredicate(*lane.guard) : Value();
        Value x = b.constant(term.scale);
        for (auto [place, argument] : llvm::enumerate(term.arguments))
          x = b.mulf(x, gather(b, memory.arguments[argument], positions.baseOf(lane.bases[place]),
                               indices.emit(lane.places[place]), guard));
        if (lane.factor)
          x = b.mulf(x, arith::SIToFPOp::create(b.builder, b.vector, indices.emit(*lane.factor)));
        sum = b.addf(sum, guard ? b.select(guard, x, b.constant(0)) : x);
      }
      if (kernel.lines.hide() && !laneTerms.empty())
        sum = b.select(b.compare(arith::CmpFPredicate::OEQ, before, nothing), nothing, sum);
      Value seen;
      for (const Expr &mask : laneMasks) {
        Value one = indices.emitPredicate(mask);
        seen = seen ? arith::AndIOp::create(b.builder, seen, one).getResult() : one;
      }
      if (seen) {
        sum = b.select(seen, sum, nothing);
        Value live = liveMemory(), at = b.sub(key, row.lowKey);
        b.store(b.select(seen, b.constant(1), b.load(live, at)), live, at);
      }
      b.store(sum, row.memory, where);
    });
  }

  /// Marks all keys as not seen by any row so far.
  void beginLines() override {
    if (laneMasks.empty())
      return;
    Value live = liveMemory();
    b.loop(b.index(0), b.index(liveVectors.floats), lanes, [&](Value at) { b.store(b.constant(0), live, at); });
  }

  /// Returns the keys from the first to the last vector that some row of the block sees. Keys outside are not computed.
  KeyRange liveKeys(const KeyBlock &block) override {
    if (laneMasks.empty())
      return {};
    Value low = block.lowKey, high = block.highKey;
    Value vectors = b.divide(b.add(b.sub(high, low), lanes - 1), lanes);
    auto found = b.loop(b.index(0), vectors, 1, ValueRange{high, low}, [&](Value vector, ValueRange range) {
      Value seen = isLive(vector, 1), first = b.add(low, b.mul(vector, lanes));
      Value lowest = b.select(seen, b.minimum(range[0], first), range[0]);
      return SmallVector<Value>{lowest, b.select(seen, b.minimum(b.add(first, lanes), high), range[1])};
    });
    return {found[0], found[1]};
  }

  Value isLive(Value vector, int64_t vectors) override {
    if (laneMasks.empty())
      return {};
    Value live = liveMemory(), any = b.constant(0);
    for (int64_t v = 0; v < vectors; ++v)
      any = larger(b, b.load(live, b.mul(b.add(vector, v), lanes)), any);
    return b.compare(arith::CmpFPredicate::OGT, reduceMax(b, any), b.constantScalar(0));
  }

private:
  Value integersIn(const Buffer &buffer) {
    auto type = MemRefType::get({ShapedType::kDynamic}, b.builder.getI32Type());
    return memref::ViewOp::create(b.builder, b.builder.getLoc(), type, memory.local, b.index(buffer.offset),
                                  ValueRange{b.index(buffer.floats)});
  }
  Value liveMemory() { return view(memory.local, liveVectors); }

  std::vector<IndexLine> indexLines;
  std::vector<LaneTerm> laneTerms;
  std::vector<Expr> laneMasks;
  Buffer liveVectors; // a float for each key of a block: 1 if some row sees the key
};

// Cycles to read one lane by itself: extract its index from a vector, load, insert the element into another vector.
constexpr double kLaneReadCycles = 3;

class GatheredScalarsStrategy : public BiasStrategy {
public:
  GatheredScalarsStrategy() : BiasStrategy("gathered_scalars", AddOrder::Lanes, BiasKind::Lanes) {}
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    const OtherTerm *term = form.as<OtherTerm>();
    return isMeantFor(form) || (term && fitsLanes(*term, shape.space));
  }
  bool takesLengths() const override { return true; }
  void addSizes(const TermForm &, const AttentionShape &, AttentionSizes &sizes) const override {
    sizes.hasLine = true;
  }
  /// Counts a gather for each vector of keys and each operand that moves with the key.
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &,
                const Target &target) const override {
    double cycles = 0;
    if (const OtherTerm *term = form.as<OtherTerm>())
      cycles = target.gatherCycles *
                   double(llvm::count_if(term->offsets,
                                         [&](const Expr &offset) { return usesAny(offset, shape.space.key); })) +
               kLaneReadCycles * double(readsByLane(*term, shape.space));
    return {0, cycles * double(shape.queries) * double(shape.keys)};
  }
  void makeShared(CpuKernel &kernel, std::vector<std::unique_ptr<CpuStrategy>> &strategies) const override {
    for (uint64_t sum = 0; sum < uint64_t(kernel.context.shape.sums); ++sum) {
      auto lanes = std::make_unique<Lanes>(kernel, sum);
      if (!lanes->isEmpty())
        strategies.push_back(std::move(lanes));
    }
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeGatheredScalars() { return std::make_unique<GatheredScalarsStrategy>(); }
