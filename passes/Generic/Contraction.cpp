// Emits sums of products on the generic path, with vectors along the last axis of the result or the last contracted
// axis.
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Analysis/Summation.h"
#include "passes/Generic/Contractions.h"
#include <algorithm>

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

/// Returns whether the sums of a contraction may be absent.
static bool marks(const Contraction &contraction) { return contraction.target && contraction.target->mayBeAbsent; }

/// Returns, for each factor, whether the code must check which of its elements are absent.
static SmallVector<bool> hidingFactors(const Contraction &contraction) {
  SmallVector<const Storage *> operands;
  SmallVector<bool> hide;
  for (const Factor &factor : contraction.factors)
    operands.push_back(factor.storage);
  for (size_t number = 0; number < operands.size(); ++number)
    hide.push_back(hidesOthers(operands, number));
  return hide;
}

Value Contractions::numberOf(const Factor &factor, const Symbols &symbols, const std::string &vectorAxis) {
  Value element = elementOf(factor, symbols, vectorAxis);
  return factor.storage->mayBeAbsent ? code.present(element) : element;
}

bool Contractions::vectorises(const Contraction &contraction, const Axis &axis, int64_t lanes) {
  if (code.elementItems || !axis.extent.name.empty() || axis.extent.fixed < lanes)
    return false;
  if (contraction.guard && subscript::symbolsOf(*contraction.guard).count(axis.name))
    return false;
  bool moves = false;
  for (auto [factor, hides] : llvm::zip(contraction.factors, hidingFactors(contraction))) {
    if (factor.computed) {
      if (hides || !elements.vectorises(factor.computed, factor.subscripts, axis.name))
        return false;
      moves |=
          llvm::any_of(factor.subscripts, [&](const Expr &e) { return subscript::symbolsOf(e).count(axis.name) > 0; });
      continue;
    }
    auto by = step(*factor.storage, factor.subscripts, axis.name);
    // The check whether a factor is absent works on single numbers.
    if (!by || (*by && hides))
      return false;
    moves |= *by != 0;
  }
  return moves;
}

/// Emits an element of a factor; with a `vectorAxis`, `kLanes` elements along it, or one if they are all the same.
Value Contractions::elementOf(const Factor &factor, const Symbols &symbols, const std::string &vectorAxis) {
  bool vector = !vectorAxis.empty();
  if (factor.computed) {
    elements.computed.clear(); // the known elements belong to another point, or to a branch
    Value element = elements.element(factor.computed, factor.subscripts, symbols, vectorAxis);
    return element ? element : code.real(0, vector);
  }
  bool wide = vector && step(*factor.storage, factor.subscripts, vectorAxis) == 1;
  return code.load(*factor.storage, code.position(*factor.storage, factor.subscripts, symbols), wide);
}

Value Contractions::zeroOf(const Contraction &contraction, bool vector) {
  return code.real(marks(contraction) ? -0.0 : 0.0, vector);
}

/// Emits sum + Π factors at the point that `symbols` give; with a `vectorAxis`, at `kLanes` points along it.
Value Contractions::addProduct(Value sum, const Contraction &contraction, const Symbols &symbols,
                               const std::string &vectorAxis) {
  bool vector = !vectorAxis.empty();
  auto fast = arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract);
  auto read = [&](const Factor &factor) { return elementOf(factor, symbols, vectorAxis); };
  // Multiply the scalar factors as scalars first.
  Value scalars, vectors;
  auto multiply = [&](Value factor) {
    Value &product = isa<VectorType>(factor.getType()) ? vectors : scalars;
    product = product ? arith::MulFOp::create(b, product, factor, fast).getResult() : factor;
  };
  Value absent;
  SmallVector<bool> hiding = hidingFactors(contraction);
  for (auto [factor, hides] : llvm::zip(contraction.factors, hiding))
    if (hides) {
      Value weight = read(factor);
      Value gone = code.isAbsent(weight);
      absent = absent ? arith::OrIOp::create(b, absent, gone).getResult() : gone;
      multiply(weight);
    }
  auto rest = [&]() -> Value {
    for (auto [factor, hides] : llvm::zip(contraction.factors, hiding))
      if (!hides)
        multiply(read(factor));
    if (!scalars && !vectors)
      scalars = code.real(1);
    if (scalars && vector)
      scalars = code.spread(scalars);
    Value left = scalars ? scalars : vectors;
    Value product = scalars && vectors ? arith::MulFOp::create(b, scalars, vectors, fast).getResult() : left;
    bool isMarked = contraction.factors.size() == 1 && contraction.factors[0].storage->mayBeAbsent;
    if (marks(contraction) && !isMarked)
      product = code.present(product);
    return arith::AddFOp::create(b, sum, product, fast);
  };
  auto unguarded = [&]() -> Value {
    if (!absent)
      return rest();
    Value present = arith::XOrIOp::create(b, absent, arith::ConstantIntOp::create(b, 1, 1));
    return code.guarded(present, sum, rest);
  };
  if (!contraction.guard)
    return unguarded();
  return code.guarded(code.predicate(*contraction.guard, symbols), sum, [&]() -> Value { return unguarded(); });
}

Value Contractions::dot(const Contraction &contraction, Symbols &symbols) {
  auto scalar = [&](ArrayRef<Axis> axes, Value start) {
    return code.sums(axes, symbols, start, 1, [&](ValueRange so) -> SmallVector<Value> {
      return {addProduct(so[0], contraction, symbols, "")};
    })[0];
  };
  if (contraction.contracted.empty() || !vectorises(contraction, contraction.contracted.back()))
    return scalar(contraction.contracted, zeroOf(contraction, false));
  const Axis &inner = contraction.contracted.back();
  ArrayRef<Axis> outer = ArrayRef<Axis>(contraction.contracted).drop_back();
  int64_t whole = inner.extent.fixed / kLanes * kLanes;
  SmallVector<Value> start = {code.spread(zeroOf(contraction, false)), zeroOf(contraction, false)};
  int64_t steps = std::max<int64_t>(whole / kLanes, 1), terms = std::max(steps, inner.extent.fixed - whole);
  SmallVector<Value> both = code.sums(outer, symbols, start, terms, [&](ValueRange so) -> SmallVector<Value> {
    auto run = [&](int64_t low, int64_t high, int64_t step, Value sum) {
      auto loop = scf::ForOp::create(b, code.index(low), code.index(high), code.index(step), sum);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      symbols[inner.name] = loop.getInductionVar();
      scf::YieldOp::create(b,
                           addProduct(loop.getRegionIterArgs()[0], contraction, symbols, step == 1 ? "" : inner.name));
      return loop.getResult(0);
    };
    Value wide;
    if (steps <= kChain)
      wide = run(0, whole, kLanes, so[0]);
    else
      wide = arith::AddFOp::create(b, so[0],
                                   code.sumsOfChains(code.index(whole), kLanes, steps, kChain, start[0],
                                                     [&](Value at, ValueRange sum) -> SmallVector<Value> {
                                                       symbols[inner.name] = at;
                                                       return {addProduct(sum[0], contraction, symbols, inner.name)};
                                                     })[0]);
    return {wide, whole == inner.extent.fixed ? so[1] : run(whole, inner.extent.fixed, 1, so[1])};
  });
  constexpr auto kAdd = vector::CombiningKind::ADD;
  constexpr auto kAnyOrder = arith::FastMathFlags::reassoc;
  Value reduced = marks(contraction) ? vector::ReductionOp::create(b, kAdd, both[0], start[1], kAnyOrder)
                                     : vector::ReductionOp::create(b, kAdd, both[0], kAnyOrder);
  return arith::AddFOp::create(b, reduced, both[1]);
}

// The fewest consecutive elements that are computed as a vector.
constexpr int64_t kFewestLanes = 4;

void Contractions::turnToOperands(Contraction &contraction) {
  std::vector<Axis> &axes = contraction.parallel;
  auto along = [&](const Axis &axis) {
    return step(*contraction.target, contraction.targetSubscripts, axis.name) == 1;
  };
  if (axes.empty() || (vectorises(contraction, axes.back()) && along(axes.back())) ||
      (!contraction.contracted.empty() && vectorises(contraction, contraction.contracted.back())))
    return;
  for (int64_t lanes : {kLanes, kFewestLanes})
    for (auto axis = axes.begin(); axis != axes.end(); ++axis)
      if (vectorises(contraction, *axis, lanes) && !along(*axis)) {
        std::rotate(axis, axis + 1, axes.end());
        return;
      }
}

void Contractions::put(Value sum, const Contraction &contraction, const Symbols &symbols) {
  code.store(contraction.finish ? contraction.finish(sum) : sum, *contraction.target,
             code.position(*contraction.target, contraction.targetSubscripts, symbols));
}

/// Emits vectors along an axis on which the target's elements are not consecutive, and stores each element separately.
void Contractions::contractAcross(const Contraction &contraction, Symbols &symbols) {
  const Axis &inner = contraction.parallel.back();
  auto run = [&](Value first, int64_t lanes) {
    symbols[inner.name] = first;
    Value start = zeroOf(contraction, false);
    if (lanes > 1)
      start = code.spread(start);
    Value total = code.sums(contraction.contracted, symbols, start, 1, [&](ValueRange sum) -> SmallVector<Value> {
      return {addProduct(sum[0], contraction, symbols, lanes > 1 ? inner.name : "")};
    })[0];
    for (int64_t lane = 0; lane < lanes; ++lane) {
      symbols[inner.name] = b.createOrFold<arith::AddIOp>(first, code.index(lane));
      Value sum = lanes > 1 ? vector::ExtractOp::create(b, total, ArrayRef<int64_t>{lane}).getResult() : total;
      put(sum, contraction, symbols);
    }
  };
  code.loops(ArrayRef<Axis>(contraction.parallel).drop_back(), symbols, [&] {
    int64_t done = 0, size = inner.extent.fixed;
    for (int64_t lanes : {kLanes, kFewestLanes, int64_t(1)}) {
      int64_t end = done + (size - done) / lanes * lanes, before = std::exchange(code.lanes, lanes);
      if (end > done)
        code.loop(code.index(done), code.index(end), lanes, [&](Value first) { run(first, lanes); });
      code.lanes = before;
      done = end;
    }
  });
}

void Contractions::contract(const Contraction &contraction, Symbols &symbols) {
  if (!contraction.parallel.empty() && vectorises(contraction, contraction.parallel.back(), kFewestLanes) &&
      step(*contraction.target, contraction.targetSubscripts, contraction.parallel.back().name) != 1)
    return contractAcross(contraction, symbols);
  if (contraction.parallel.empty() || !vectorises(contraction, contraction.parallel.back()) ||
      step(*contraction.target, contraction.targetSubscripts, contraction.parallel.back().name) != 1)
    return code.loops(contraction.parallel, symbols, [&] { put(dot(contraction, symbols), contraction, symbols); });
  // Several vectors of the last axis together share the scalars and hide the latency of the additions.
  const Axis &inner = contraction.parallel.back();
  auto several = [&](Value first, int64_t vectors) {
    SmallVector<Value> places, start(vectors, code.spread(zeroOf(contraction, false)));
    for (int64_t v = 0; v < vectors; ++v)
      places.push_back(b.createOrFold<arith::AddIOp>(first, code.index(v * kLanes)));
    auto totals = code.sums(contraction.contracted, symbols, start, 1, [&](ValueRange carried) {
      SmallVector<Value> next;
      for (int64_t v = 0; v < vectors; ++v) {
        symbols[inner.name] = places[v];
        next.push_back(addProduct(carried[v], contraction, symbols, inner.name));
      }
      return next;
    });
    for (int64_t v = 0; v < vectors; ++v) {
      symbols[inner.name] = places[v];
      put(totals[v], contraction, symbols);
    }
  };
  auto single = [&](Value at) {
    symbols[inner.name] = at;
    Value total = code.sums(
        contraction.contracted, symbols, zeroOf(contraction, false), 1,
        [&](ValueRange sum) -> SmallVector<Value> { return {addProduct(sum[0], contraction, symbols, "")}; })[0];
    put(total, contraction, symbols);
  };
  code.loops(ArrayRef<Axis>(contraction.parallel).drop_back(), symbols,
             [&] { code.alongVectors(inner, several, single); });
}
