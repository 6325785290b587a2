// Emits a softmax that is no part of a fused attention, because another stage reads its weights or because there is
// nothing else: a row at a time, in vectors. With a mask, hidden elements become -inf first, element by element; the
// rest is the same as without a mask. The loops of the generic path call it for each row.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Cpu/CpuStages.h"
#include "passes/Cpu/WeightedSums.h"
#include "passes/Emit/VectorMath.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

static constexpr float kNoScore = -std::numeric_limits<float>::infinity();
// Vectors of powers that one chain sums up: after a large power, a longer chain loses small ones (1e-6 of the weights
// for 1030 elements in vectors of 4).
static constexpr int64_t kShortChain = 32;

/// Returns whether the elements of a row are consecutive: its axes are the last dimension, in order, and are in no
/// other dimension.
static bool isRun(ArrayRef<Axis> axes, ArrayRef<Expr> subscripts) {
  Expr flat = 0;
  for (const Axis &axis : axes) {
    if (!axis.extent.name.empty())
      return false;
    flat = flat * Expr(axis.extent.fixed) + Expr::symbol(axis.name);
    for (const Expr &other : subscripts.drop_back())
      if (subscript::symbolsOf(other).count(axis.name))
        return false;
  }
  return !subscripts.empty() && subscript::simplify(subscripts.back() - flat).isConstant(0);
}

namespace {
/// The vectors of a row, and the elements behind the last whole vector.
struct RowOfVectors {
  VectorBuilder &v;
  Value source, from, result, to;
  int64_t length, whole;

  /// Returns the largest element; ignores NaN.
  Value maximum() {
    Value largest =
        v.loop(v.index(0), v.index(whole), v.lanes, ValueRange{v.constant(kNoScore)}, [&](Value x, ValueRange so) {
          return SmallVector<Value>{larger(v, v.load(source, v.add(from, x)), so[0])};
        })[0];
    return v.loop(v.index(whole), v.index(length), 1, ValueRange{reduceMax(v, largest)}, [&](Value x, ValueRange so) {
      return SmallVector<Value>{larger(v, v.scalar(source, v.add(from, x)), so[0])};
    })[0];
  }

  /// Stores e^(x - reference) for each element x, and returns the sum of these powers.
  Value powers(Value reference) {
    Value references = v.broadcast(reference);
    auto power = [&](Value x) { return expOfWeight(v, v.subf(x, references)); };
    Value sums = sumOfVectors(v, v.index(whole), whole, v.constant(0), kShortChain, [&](Value x) {
      Value one = power(v.load(source, v.add(from, x)));
      v.store(one, result, v.add(to, x));
      return one;
    });
    Value sum = reduceAdd(v, sums);
    if (int64_t rest = length - whole) {
      v.storeFirst(power(v.loadFirst(source, v.add(from, whole), rest)), result, v.add(to, whole), rest);
      sum = v.loop(v.index(whole), v.index(length), 1, ValueRange{sum}, [&](Value x, ValueRange so) {
        return SmallVector<Value>{v.addf(so[0], v.scalar(result, v.add(to, x)))};
      })[0];
    }
    return sum;
  }

  void scale(Value factor) {
    Value factors = v.broadcast(factor);
    v.loop(v.index(0), v.index(whole), v.lanes, [&](Value x) {
      Value at = v.add(to, x);
      v.store(v.mulf(v.load(result, at), factors), result, at);
    });
    if (int64_t rest = length - whole) {
      Value at = v.add(to, whole);
      v.storeFirst(v.mulf(v.loadFirst(result, at, rest), factors), result, at, rest);
    }
  }
};
} // namespace

bool CpuStages::emitSoftmaxRow(const SoftmaxRow &row) {
  if (!row.result.element.isF32() || !isRun(row.inner, row.subscripts))
    return false;
  VectorBuilder v(b, target.lanes);
  int64_t length = 1;
  for (const Axis &axis : row.inner)
    length *= axis.extent.fixed;
  Symbols first = row.symbols;
  for (const Axis &axis : row.inner)
    first[axis.name] = code.index(0);
  Value from = code.position(row.input, row.subscripts, first), to = code.position(row.result, row.subscripts, first);
  RowOfVectors vectors{v, row.input.memory, from, row.result.memory, to, length, length / v.lanes * v.lanes};
  auto element = [&](const Storage &tensor) { return code.position(tensor, row.subscripts, row.symbols); };
  auto isVisible = [&] { return code.predicate(*row.mask, row.symbols); };
  if (row.mask) {
    code.loops(row.inner, row.symbols, [&] {
      Value seen =
          code.guarded(isVisible(), code.real(kNoScore), [&] { return code.load(row.input, element(row.input)); });
      code.store(seen, row.result, element(row.result));
    });
    vectors.source = row.result.memory;
    vectors.from = to;
  }
  Value largest = vectors.maximum();
  Value none = v.compare(arith::CmpFPredicate::OEQ, largest, v.constantScalar(kNoScore));
  Value sum = vectors.powers(v.select(none, v.constantScalar(0), largest));
  // Only a row without a visible element, or with only -inf, sums to 0.
  Value empty = v.compare(arith::CmpFPredicate::OEQ, sum, v.constantScalar(0));
  vectors.scale(v.divf(v.constantScalar(1), v.select(empty, v.constantScalar(1), sum)));
  auto hide = [&](Value weight) {
    code.loops(row.inner, row.symbols, [&] {
      Value at = element(row.result);
      code.store(v.select(isVisible(), code.load(row.result, at), weight), row.result, at);
    });
  };
  if (row.result.mayBeAbsent)
    hide(code.absent());
  else if (row.mask) // a hidden key has no weight even if the row is NaN
    v.when(v.compare(arith::CmpFPredicate::UNO, sum, sum), [&] { hide(code.real(0)); });
  return true;
}
