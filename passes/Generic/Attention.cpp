// Emits an attention that is not fused: one row of scores at a time.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Generic/Kernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

/// The scores of one query, in the worker's memory, and the code that turns them into weights and results.
struct Kernel::ScoreRow {
  Kernel &kernel;
  mlir::ImplicitLocOpBuilder &b = kernel.b;
  attn::AttentionOp op;
  AttentionPlan &planned;
  const std::vector<Axis> &keys = planned.keys;
  Symbols &symbols = planned.symbols;
  Storage row;
  Expr key = 0; // the place of the key in the row

  ScoreRow(Kernel &kernel, attn::AttentionOp op, AttentionPlan &planned) : kernel(kernel), op(op), planned(planned) {
    for (const Axis &axis : keys)
      key = key * Expr(axis.extent.fixed) + Expr::symbol(axis.name);
    int64_t count = planned.space.keys();
    row.element = b.getF32Type();
    row.shape = {{"", count}};
    row.masked = planned.mask.has_value();
    row.memory = memref::ViewOp::create(b, MemRefType::get({ShapedType::kDynamic}, row.element), kernel.phase.local,
                                        kernel.index(0), ValueRange{kernel.index(count)});
    kernel.plan.localBytes = std::max<int64_t>(kernel.plan.localBytes, llvm::alignTo(count * 4, 64));
  }

  /// Returns the value of the body if the mask leaves the key visible, else `otherwise`.
  Value visible(Value otherwise, const std::function<Value()> &body) {
    return planned.mask ? kernel.guarded(kernel.predicate(*planned.mask, symbols), otherwise, body) : body();
  }
  Value place() { return kernel.position(row, key, symbols); }
  void storeNumber(Value number, Value result) {
    const Storage &target = kernel.storage[result];
    kernel.store(number, target, kernel.position(target, planned.lse, symbols));
  }

  /// Stores the weights of the row, if they are a result: the numbers in the row, times `inverse`.
  void storeWeights(Value inverse) {
    if (!op.getWeights())
      return;
    kernel.loops(keys, symbols, [&] {
      Value weight = visible(kernel.real(0), [&]() -> Value {
        return arith::MulFOp::create(b, kernel.load(row, place()), inverse);
      });
      const Storage &target = kernel.storage[op.getWeights()];
      kernel.store(weight, target, kernel.position(target, planned.weights, symbols));
    });
  }

  /// Stores the sum of the values, weighted by the row and multiplied by `inverse`.
  void weigh(Value inverse) {
    storeWeights(inverse);
    // Values that differ from query to query are not a matrix product. A direct weight of 0 does not mean a hidden key.
    if (!planned.valueTerms.empty() || (op.getDirect() && planned.mask))
      return weighOneByOne(inverse);
    Contraction output;
    output.factors = {{&row, {key}}, {&kernel.storage[op.getValue()], planned.value}};
    output.contracted = keys;
    output.parallel = planned.width;
    output.target = &kernel.storage[op.getResult()];
    output.targetSubscripts = planned.result;
    output.finish = [&](Value total) -> Value {
      return arith::MulFOp::create(b, total, isa<VectorType>(total.getType()) ? kernel.spread(inverse) : inverse);
    };
    kernel.contract(output, symbols);
  }
  void weighOneByOne(Value inverse) {
    kernel.loops(planned.width, symbols, [&] {
      Value total = kernel.sums(keys, symbols, kernel.real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
        return {visible(so[0], [&]() -> Value {
          const Storage &values = kernel.storage[op.getValue()];
          Value element = kernel.load(values, kernel.position(values, planned.value, symbols));
          element = arith::AddFOp::create(b, element, kernel.sumOf(planned.valueTerms, symbols));
          return arith::AddFOp::create(b, so[0], arith::MulFOp::create(b, kernel.load(row, place()), element));
        })};
      })[0];
      const Storage &target = kernel.storage[op.getResult()];
      kernel.store(arith::MulFOp::create(b, total, inverse), target, kernel.position(target, planned.result, symbols));
    });
  }

  void emitDirect() {
    Value total = kernel.sums(keys, symbols, kernel.real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
      Value weight = visible(kernel.real(0), [&] { return kernel.scoreOf(op, planned, symbols); });
      kernel.store(weight, row, place());
      return {arith::AddFOp::create(b, so[0], weight)};
    })[0];
    if (op.getTotal())
      storeNumber(total, op.getTotal());
    weigh(kernel.real(1));
  }

  void emitSoftmax() {
    // The maximum ignores a NaN, but the sum does not, so the whole row becomes NaN.
    Value largest = kernel.carry(keys, symbols, kernel.real(-INFINITY), [&](ValueRange so) -> SmallVector<Value> {
      return {visible(so[0], [&]() -> Value {
        Value one = kernel.scoreOf(op, planned, symbols);
        kernel.store(one, row, place());
        return arith::MaxNumFOp::create(b, so[0], one);
      })};
    })[0];
    // A row with only scores of -inf is a row without keys.
    Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, kernel.real(-INFINITY));
    largest = arith::SelectOp::create(b, none, kernel.real(0), largest);
    Value sum = kernel.sums(keys, symbols, kernel.real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
      Value power = visible(kernel.real(0), [&]() -> Value {
        return math::ExpOp::create(b, arith::SubFOp::create(b, kernel.load(row, place()), largest));
      });
      kernel.store(power, row, place());
      return {arith::AddFOp::create(b, so[0], power)};
    })[0];
    if (op.getLse())
      storeNumber(arith::AddFOp::create(b, largest, math::LogOp::create(b, sum)), op.getLse());
    Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, kernel.real(0));
    weigh(arith::DivFOp::create(b, kernel.real(1), arith::SelectOp::create(b, empty, kernel.real(1), sum)));
  }
};

bool Kernel::emitRows(attn::AttentionOp op) {
  auto planned = planAttention(op);
  if (!planned)
    return false;
  ScoreRow row(*this, op, *planned);
  items(planned->outer, planned->outer.size(), planned->symbols, [&](ArrayRef<Axis> rest) {
    loops(rest, planned->symbols, [&] { op.getDirect() ? row.emitDirect() : row.emitSoftmax(); });
  });
  return true;
}
