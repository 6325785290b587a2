// Emits an attention that is not fused, one row of scores at a time: the kernel for every attention that an engine
// cannot compute. Part of the class Kernel.
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
  PhaseCode &code = kernel.code;
  mlir::ImplicitLocOpBuilder &b = kernel.b;
  attn::AttentionOp op;
  AttentionPlan &planned;
  const std::vector<Axis> &keys = planned.keys;
  Symbols &symbols = planned.symbols;
  Storage row;
  Expr key = 0; // the place of a key in the row

  ScoreRow(Kernel &kernel, attn::AttentionOp op, AttentionPlan &planned) : kernel(kernel), op(op), planned(planned) {
    for (const Axis &axis : keys)
      key = key * Expr(axis.extent.fixed) + Expr::symbol(axis.name);
    int64_t count = planned.space.keys();
    row.element = b.getF32Type();
    row.shape = {{"", count}};
    row.mayBeAbsent = planned.mask.has_value();
    row.memory = memref::ViewOp::create(b, MemRefType::get({ShapedType::kDynamic}, row.element), code.phase.local,
                                        code.index(0), ValueRange{code.index(count)});
    kernel.plan.localBytes = std::max<int64_t>(kernel.plan.localBytes, llvm::alignTo(count * 4, 64));
  }

  /// Emits the body's value if the mask leaves the key visible, else `otherwise`.
  Value visible(Value otherwise, const std::function<Value()> &body) {
    return planned.mask ? code.guarded(code.predicate(*planned.mask, symbols), otherwise, body) : body();
  }
  Value place() { return code.position(row, key, symbols); }
  void storeNumber(Value number, Value result) {
    const Storage &target = kernel.tensors.storage[result];
    code.store(number, target, code.position(target, planned.lse, symbols));
  }

  /// Stores the weights of the row if they are a result: the numbers in the row, times `inverse`.
  void storeWeights(Value inverse) {
    if (!op.getWeights())
      return;
    code.loops(keys, symbols, [&] {
      Value weight =
          visible(code.real(0), [&]() -> Value { return arith::MulFOp::create(b, code.load(row, place()), inverse); });
      const Storage &target = kernel.tensors.storage[op.getWeights()];
      code.store(weight, target, code.position(target, planned.weights, symbols));
    });
  }

  /// Stores the sum of the values, weighted by the row and multiplied by `inverse`.
  void weigh(Value inverse) {
    storeWeights(inverse);
    // Values that differ from query to query are not a matrix product. A direct weight of 0 does not mean a hidden key.
    if (!planned.valueTerms.empty() || (op.getDirect() && planned.mask))
      return weighOneByOne(inverse);
    Contraction output;
    output.factors = {{&row, {key}}, {&kernel.tensors.storage[op.getValue()], planned.value}};
    output.contracted = keys;
    output.parallel = planned.width;
    output.target = &kernel.tensors.storage[op.getResult()];
    output.targetSubscripts = planned.result;
    output.finish = [&](Value total) -> Value {
      return arith::MulFOp::create(b, total, isa<VectorType>(total.getType()) ? code.spread(inverse) : inverse);
    };
    kernel.contractions.contract(output, symbols);
  }
  void weighOneByOne(Value inverse) {
    code.loops(planned.width, symbols, [&] {
      Value total = code.sums(keys, symbols, code.real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
        return {visible(so[0], [&]() -> Value {
          const Storage &values = kernel.tensors.storage[op.getValue()];
          Value element = code.load(values, code.position(values, planned.value, symbols));
          element = arith::AddFOp::create(b, element, kernel.terms.sumOf(planned.valueTerms, symbols));
          return arith::AddFOp::create(b, so[0], arith::MulFOp::create(b, code.load(row, place()), element));
        })};
      })[0];
      const Storage &target = kernel.tensors.storage[op.getResult()];
      code.store(arith::MulFOp::create(b, total, inverse), target, code.position(target, planned.result, symbols));
    });
  }

  void emitDirect() {
    Value total = code.sums(keys, symbols, code.real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
      Value weight = visible(code.real(0), [&] { return kernel.terms.scoreOf(op, planned, symbols); });
      code.store(weight, row, place());
      return {arith::AddFOp::create(b, so[0], weight)};
    })[0];
    if (op.getTotal())
      storeNumber(total, op.getTotal());
    weigh(code.real(1));
  }

  void emitSoftmax() {
    // The maximum ignores a NaN, but the sum does not, so the whole row becomes NaN.
    Value largest = code.carry(keys, symbols, code.real(-INFINITY), [&](ValueRange so) -> SmallVector<Value> {
      return {visible(so[0], [&]() -> Value {
        Value one = kernel.terms.scoreOf(op, planned, symbols);
        code.store(one, row, place());
        return arith::MaxNumFOp::create(b, so[0], one);
      })};
    })[0];
    // A row with only scores of -inf is a row without keys.
    Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, code.real(-INFINITY));
    largest = arith::SelectOp::create(b, none, code.real(0), largest);
    Value sum = code.sums(keys, symbols, code.real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
      Value power = visible(code.absent(), [&]() -> Value {
        return math::ExpOp::create(b, arith::SubFOp::create(b, code.load(row, place()), largest));
      });
      code.store(power, row, place());
      return {arith::AddFOp::create(b, so[0], power)};
    })[0];
    if (op.getLse())
      storeNumber(arith::AddFOp::create(b, largest, math::LogOp::create(b, sum)), op.getLse());
    Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, code.real(0));
    weigh(arith::DivFOp::create(b, code.real(1), arith::SelectOp::create(b, empty, code.real(1), sum)));
  }
};

bool Kernel::emitRows(attn::AttentionOp op) {
  auto planned = terms.planOf(op);
  if (!planned)
    return false;
  ScoreRow row(*this, op, *planned);
  code.items(planned->outer, planned->outer.size(), planned->symbols, [&](ArrayRef<Axis> rest) {
    code.loops(rest, planned->symbols, [&] { op.getDirect() ? row.emitDirect() : row.emitSoftmax(); });
  });
  return true;
}
