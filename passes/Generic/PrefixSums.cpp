// Emits running sums in one pass over the operand: the sum so far is carried from position to position.
//
// Sums are carried in f64 and rounded once when they are stored. Exponentials of their differences often follow
// (decays, gates), and these show every digit that a running sum has lost. Along the last axis, a vector holds
// consecutive positions, and its prefix sums are computed first. Along other axes, the lanes of a vector are
// independent.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Generic/Contractions.h"
#include "passes/Stages/PrefixSum.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

namespace {
/// Returns the lanes shifted by one place in the direction of the sums, with a zero in the free lane.
Value shifted(ImplicitLocOpBuilder &b, Value lanes, Value zeros, bool reversed) {
  auto count = cast<VectorType>(lanes.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < count; ++lane) {
    int64_t from = reversed ? lane + 1 : lane - 1;
    order.push_back(from >= 0 && from < count ? from : count);
  }
  return vector::ShuffleOp::create(b, lanes, zeros, order);
}

/// Returns the prefix sums of the lanes in the direction of the sums. Blocks of lanes double in size, as the second
/// half of a pair adds the sum of the first half (Sklansky 1960). Two of three shuffles stay within 128 bits.
Value summedUp(ImplicitLocOpBuilder &b, Value lanes, Value zeros, bool reversed) {
  auto count = cast<VectorType>(lanes.getType()).getNumElements();
  for (int64_t width = 1; width < count; width *= 2) {
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < count; ++lane) {
      int64_t place = reversed ? count - 1 - lane : lane, last = place / width * width - 1;
      int64_t from = reversed ? count - 1 - last : last;
      order.push_back(place / width % 2 ? from : count);
    }
    lanes = arith::AddFOp::create(b, lanes, vector::ShuffleOp::create(b, lanes, zeros, order));
  }
  return lanes;
}

/// One pass along an axis: `count` steps of `step` positions from `low` on, or backwards from their end.
struct Pass {
  int64_t low, count, step;
  bool reversed;
};
using Step = std::function<SmallVector<Value>(Value at, ValueRange before)>;

/// Runs `body` on the sums so far at each step; returns the sums behind the last position.
SmallVector<Value> run(ImplicitLocOpBuilder &b, const Pass &pass, ValueRange start, const Step &body) {
  auto index = [&](int64_t number) { return arith::ConstantIndexOp::create(b, number).getResult(); };
  auto loop = scf::ForOp::create(b, index(0), index(pass.count), index(1), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  if (pass.reversed)
    number = b.createOrFold<arith::SubIOp>(index(pass.count - 1), number);
  Value at = b.createOrFold<arith::AddIOp>(b.createOrFold<arith::MulIOp>(number, index(pass.step)), index(pass.low));
  scf::YieldOp::create(b, body(at, loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

/// Returns the type of `x`, a number or a vector, with these elements.
Type typeWith(Value x, Type element) {
  auto vector = dyn_cast<VectorType>(x.getType());
  return vector ? VectorType::get(vector.getShape(), element) : element;
}
Value toDouble(ImplicitLocOpBuilder &b, Value x) { return arith::ExtFOp::create(b, typeWith(x, b.getF64Type()), x); }
Value toSingle(ImplicitLocOpBuilder &b, Value x) { return arith::TruncFOp::create(b, typeWith(x, b.getF32Type()), x); }
} // namespace

/// Emits the running sums along an axis other than the vector axis: at one point of the other axes, or at `vectors`
/// vectors along `vectorAxis` that begin at `first`.
void Contractions::runAcross(const Contraction &contraction, const PrefixSum &sum, int64_t size, Symbols &symbols,
                             const std::string &vectorAxis, Value first, int64_t vectors) {
  bool isVector = !vectorAxis.empty();
  Value zero = zeroOf(contraction, isVector);
  SmallVector<Value> start(vectors, toDouble(b, zero)), places;
  for (int64_t v = 0; isVector && v < vectors; ++v)
    places.push_back(b.createOrFold<arith::AddIOp>(first, code.index(v * kLanes)));
  run(b, {0, size, 1, sum.reversed}, start, [&](Value at, ValueRange before) {
    symbols[sum.along] = symbols[sum.before] = at;
    SmallVector<Value> next;
    for (int64_t v = 0; v < vectors; ++v) {
      if (isVector)
        symbols[vectorAxis] = places[v];
      Value own = toDouble(b, addProduct(zero, contraction, symbols, vectorAxis));
      next.push_back(arith::AddFOp::create(b, before[v], own));
      code.store(toSingle(b, sum.exclusive ? before[v] : next[v]), *contraction.target,
                 code.position(*contraction.target, contraction.targetSubscripts, symbols));
    }
    return next;
  });
}

/// Emits the running sums along the axis of the vectors.
void Contractions::runWithin(const Contraction &contraction, const PrefixSum &sum, int64_t size, Symbols &symbols) {
  int64_t whole = size / kLanes * kLanes;
  Value zero = toDouble(b, zeroOf(contraction, false)), zeros = toDouble(b, zeroOf(contraction, true)), base = zeros;
  auto place = [&](Value at) {
    symbols[sum.along] = symbols[sum.before] = at;
    return code.position(*contraction.target, contraction.targetSubscripts, symbols);
  };
  auto rest = [&](Value start) {
    return run(b, {whole, size - whole, 1, sum.reversed}, start,
               [&](Value at, ValueRange before) -> SmallVector<Value> {
                 Value to = place(at);
                 Value own = toDouble(b, addProduct(zeroOf(contraction, false), contraction, symbols, ""));
                 Value next = arith::AddFOp::create(b, before[0], own);
                 code.store(toSingle(b, sum.exclusive ? before[0] : next), *contraction.target, to);
                 return {next};
               })[0];
  };
  if (sum.reversed && whole < size)
    base = code.spread(rest(zero));
  base =
      run(b, {0, whole / kLanes, kLanes, sum.reversed}, base, [&](Value at, ValueRange before) -> SmallVector<Value> {
        Value to = place(at);
        Value lanes = toDouble(b, addProduct(zeroOf(contraction, true), contraction, symbols, sum.before));
        lanes = summedUp(b, lanes, zeros, sum.reversed);
        Value total = vector::ExtractOp::create(b, lanes, sum.reversed ? 0 : kLanes - 1);
        Value own = sum.exclusive ? shifted(b, lanes, zeros, sum.reversed) : lanes;
        code.store(toSingle(b, arith::AddFOp::create(b, before[0], own)), *contraction.target, to);
        return {arith::AddFOp::create(b, before[0], code.spread(total))};
      })[0];
  if (!sum.reversed && whole < size)
    rest(vector::ExtractOp::create(b, base, 0));
}

void Contractions::prefixSums(Contraction contraction, const PrefixSum &sum, Symbols &symbols) {
  std::vector<Axis> others;
  int64_t size = 0;
  bool isLast = contraction.parallel.back().name == sum.along;
  for (const Axis &axis : contraction.parallel)
    if (axis.name == sum.along)
      size = axis.extent.fixed;
    else
      others.push_back(axis);
  contraction.guard.reset();
  auto step = [&](const std::string &axis) {
    return generic::step(*contraction.target, contraction.targetSubscripts, axis);
  };
  Axis before{sum.before, {"", size}};
  bool within = isLast && step(sum.along) == 1 && vectorises(contraction, before);
  bool across = !within && !others.empty() && vectorises(contraction, others.back()) && step(others.back().name) == 1;
  code.items(others, across ? others.size() - 1 : others.size(), symbols, [&](ArrayRef<Axis> rest) {
    if (!across || rest.empty())
      return code.loops(rest, symbols, [&] {
        if (within)
          runWithin(contraction, sum, size, symbols);
        else
          runAcross(contraction, sum, size, symbols, "", {}, 1);
      });
    const Axis inner = rest.back();
    auto several = [&](Value first, int64_t vectors) { // they share the loop over positions
      runAcross(contraction, sum, size, symbols, inner.name, first, vectors);
    };
    auto single = [&](Value at) {
      symbols[inner.name] = at;
      runAcross(contraction, sum, size, symbols, "", {}, 1);
    };
    code.loops(rest.drop_back(), symbols, [&] { code.alongVectors(inner, several, single); });
  });
}
