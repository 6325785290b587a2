// An attention that cannot fuse: one row of scores at a time.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Generic/Kernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

bool Kernel::emitRows(attn::AttentionOp op) {
  auto planned = planAttention(op);
  if (!planned)
    return false;
  const attn::ScoreSpace &space = planned->space;
  const std::vector<Axis> &keys = planned->keys;
  const std::optional<Expr> &mask = planned->mask;
  const std::vector<ScoreTerm> &valueTerms = planned->valueTerms;
  Symbols &symbols = planned->symbols;
  Expr key = 0; // its place in the row of scores
  for (const Axis &axis : keys)
    key = key * Expr(axis.extent.fixed) + Expr::symbol(axis.name);

  Storage row;
  row.element = b.getF32Type();
  row.shape = {{"", space.keys()}};
  row.masked = mask.has_value();
  row.memory = memref::ViewOp::create(b, MemRefType::get({ShapedType::kDynamic}, row.element), phase.local, index(0),
                                      ValueRange{index(space.keys())});
  plan.localBytes = std::max<int64_t>(plan.localBytes, llvm::alignTo(space.keys() * 4, 64));
  items(planned->outer, planned->outer.size(), symbols, [&](ArrayRef<Axis> rest) {
    loops(rest, symbols, [&] {
      auto visible = [&](Value otherwise, const std::function<Value()> &body) {
        return mask ? guarded(predicate(*mask, symbols), otherwise, body) : body();
      };
      auto place = [&] { return position(row, key, symbols); };
      auto weigh = [&](Value inverse) {
        // Values that differ from query to query leave no product to make. A direct weight of 0 is no hidden key's.
        if (!valueTerms.empty() || (op.getDirect() && mask)) {
          loops(planned->width, symbols, [&] {
            Value total = sums(keys, symbols, real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
              return {visible(so[0], [&]() -> Value {
                const Storage &values = storage[op.getValue()];
                Value element = load(values, position(values, planned->value, symbols));
                element = arith::AddFOp::create(b, element, sumOf(valueTerms, symbols));
                return arith::AddFOp::create(b, so[0], arith::MulFOp::create(b, load(row, place()), element));
              })};
            })[0];
            const Storage &target = storage[op.getResult()];
            store(arith::MulFOp::create(b, total, inverse), target, position(target, planned->result, symbols));
          });
          return;
        }
        Contraction output;
        output.factors = {{&row, {key}}, {&storage[op.getValue()], planned->value}};
        output.contracted = keys;
        output.parallel = planned->width;
        output.target = &storage[op.getResult()];
        output.targetSubscripts = planned->result;
        output.finish = [&](Value total) -> Value {
          return arith::MulFOp::create(b, total, isa<VectorType>(total.getType()) ? spread(inverse) : inverse);
        };
        contract(output, symbols);
      };
      if (op.getDirect()) {
        Value total = sums(keys, symbols, real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
          Value weight = visible(real(0), [&] { return scoreOf(op, *planned, symbols); });
          store(weight, row, place());
          return {arith::AddFOp::create(b, so[0], weight)};
        })[0];
        if (op.getTotal()) {
          const Storage &target = storage[op.getTotal()];
          store(total, target, position(target, planned->lse, symbols));
        }
        return weigh(real(1));
      }
      // A NaN passes the maximum by and reaches the sum, and so the whole row.
      Value largest = carry(keys, symbols, real(-INFINITY), [&](ValueRange so) -> SmallVector<Value> {
        return {visible(so[0], [&]() -> Value {
          Value one = scoreOf(op, *planned, symbols);
          store(one, row, place());
          return arith::MaxNumFOp::create(b, so[0], one);
        })};
      })[0];
      // Scores of -inf alone are a row without keys.
      Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, real(-INFINITY));
      largest = arith::SelectOp::create(b, none, real(0), largest);
      Value sum = sums(keys, symbols, real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
        Value power = visible(real(0), [&]() -> Value {
          return math::ExpOp::create(b, arith::SubFOp::create(b, load(row, place()), largest));
        });
        store(power, row, place());
        return {arith::AddFOp::create(b, so[0], power)};
      })[0];
      if (op.getLse()) {
        const Storage &target = storage[op.getLse()];
        Value total = arith::AddFOp::create(b, largest, math::LogOp::create(b, sum));
        store(total, target, position(target, planned->lse, symbols));
      }
      Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, real(0));
      Value inverse = arith::DivFOp::create(b, real(1), arith::SelectOp::create(b, empty, real(1), sum));
      weigh(inverse);
    });
  });
  return true;
}
