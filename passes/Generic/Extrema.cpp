// Emits the largest or the least element along axes, with vectors along the last axis of the result, or along the last
// reduced axis.
#include "dialect/IR/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Generic/Kernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

/// The number of vectors that are compared in parallel, since a comparison that propagates NaN takes several dependent
/// instructions.
static constexpr int64_t kVectors = 4;

static Value better(ImplicitLocOpBuilder &b, bool least, Value x, Value y) {
  return least ? arith::MinimumFOp::create(b, x, y).getResult() : arith::MaximumFOp::create(b, x, y).getResult();
}

/// Returns the extremum along all contracted axes, at one point of the others.
Value Contractions::extremeOf(const Contraction &contraction, bool least, Symbols &symbols) {
  Value worst = code.real(least ? INFINITY : -INFINITY);
  auto read = [&](bool vector) {
    return numberOf(contraction.factors[0], symbols, vector ? contraction.contracted.back().name : "");
  };
  auto scalar = [&](ArrayRef<Axis> axes, Value start) {
    return code.carry(axes, symbols, start,
                      [&](ValueRange so) -> SmallVector<Value> { return {better(b, least, so[0], read(false))}; })[0];
  };
  if (contraction.contracted.empty() || !vectorises(contraction, contraction.contracted.back()))
    return scalar(contraction.contracted, worst);
  const Axis &inner = contraction.contracted.back();
  int64_t size = inner.extent.fixed, wide = size / (kVectors * kLanes) * kVectors * kLanes;
  int64_t whole = size / kLanes * kLanes;
  SmallVector<Value> start(kVectors, code.spread(worst));
  start.push_back(worst);
  auto found = code.carry(ArrayRef<Axis>(contraction.contracted).drop_back(), symbols, start, [&](ValueRange so) {
    SmallVector<Value> now(so);
    auto run = [&](int64_t low, int64_t high, int64_t lanes, int64_t first, int64_t count) {
      if (low == high)
        return;
      auto loop = scf::ForOp::create(b, code.index(low), code.index(high), code.index(lanes * count),
                                     ValueRange(now).slice(first, count));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next;
      for (int64_t v = 0; v < count; ++v) {
        symbols[inner.name] = b.createOrFold<arith::AddIOp>(loop.getInductionVar(), code.index(v * lanes));
        next.push_back(better(b, least, loop.getRegionIterArgs()[v], read(lanes > 1)));
      }
      scf::YieldOp::create(b, next);
      llvm::copy(loop.getResults(), now.begin() + first);
    };
    run(0, wide, kLanes, 0, kVectors);
    run(wide, whole, kLanes, 0, 1);
    run(whole, size, 1, kVectors, 1);
    return now;
  });
  Value vector = found[0];
  for (int64_t v = 1; v < kVectors; ++v)
    vector = better(b, least, vector, found[v]);
  auto kind = least ? vector::CombiningKind::MINIMUMF : vector::CombiningKind::MAXIMUMF;
  return better(b, least, vector::ReductionOp::create(b, kind, vector), found[kVectors]);
}

bool Kernel::emitExtremum(attn::ExtremumOp op) {
  attn::ResolvedEinsum resolved = resolve(op);
  auto found = tensors.extentsOf(op, resolved);
  if (!resolved.spec.result || !found)
    return fail(op, "a run-time size is no operand's dimension");
  Contraction contraction = contractionOf(resolved, *found);
  elements.setDomain(*found);
  contraction.factors.push_back({&tensors.storage[op.getInput()], resolved.subscripts[0],
                                 tensors.isStored(op.getInput()) ? Value() : op.getInput()});
  contraction.target = &tensors.storage[op.getResult()];
  Symbols symbols;
  code.addRuntimeSizes(*found, symbols);
  code.addRuntimeSymbols(symbols);
  bool least = op.getLeast();
  const std::vector<Axis> axes = contraction.parallel;
  const Storage &target = *contraction.target;
  auto place = [&] { return code.position(target, contraction.targetSubscripts, symbols); };
  bool isVector = !axes.empty() && contractions.vectorises(contraction, axes.back()) &&
                  step(target, contraction.targetSubscripts, axes.back().name) == 1;
  code.items(axes, isVector ? axes.size() - 1 : axes.size(), symbols, [&](ArrayRef<Axis> rest) {
    if (!isVector || rest.empty())
      return code.loops(rest, symbols,
                        [&] { code.store(contractions.extremeOf(contraction, least, symbols), target, place()); });
    const Axis inner = rest.back();
    auto several = [&](Value first, int64_t vectors) {
      SmallVector<Value> start(vectors, code.spread(code.real(least ? INFINITY : -INFINITY)));
      auto at = [&](int64_t v) { symbols[inner.name] = b.createOrFold<arith::AddIOp>(first, code.index(v * kLanes)); };
      auto all = code.carry(contraction.contracted, symbols, start, [&](ValueRange so) {
        SmallVector<Value> next;
        for (int64_t v = 0; v < vectors; ++v) {
          at(v);
          next.push_back(better(b, least, so[v], contractions.numberOf(contraction.factors[0], symbols, inner.name)));
        }
        return next;
      });
      for (int64_t v = 0; v < vectors; ++v) {
        at(v);
        code.store(all[v], target, place());
      }
    };
    auto single = [&](Value at) {
      symbols[inner.name] = at;
      code.store(contractions.extremeOf(contraction, least, symbols), target, place());
    };
    code.loops(rest.drop_back(), symbols, [&] { code.alongVectors(inner, several, single); });
  });
  return true;
}
