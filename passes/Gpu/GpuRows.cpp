// Emits an attention by its index expressions, with a warp for each row of scores.
//
// A warp takes 32 keys at a time: each lane computes the score of one key, then the warp computes the maximum and the
// weights, then each lane sums columns of the values, weight after weight. The softmax is the online one (Milakov and
// Gimelshein 2018, arXiv:1805.02867), so nothing of the row is kept.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Gpu/GpuStages.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::generic;

static constexpr int64_t kWarp = 32;

/// Combines the values of all lanes, by sum or maximum; each lane gets the result.
static Value overWarp(ImplicitLocOpBuilder &b, Value value, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = 1; distance < kWarp; distance *= 2)
    value = combine(value, shuffle(b, value, distance));
  return value;
}

/// Finds the axes of a flat position in their product.
static void decompose(ImplicitLocOpBuilder &b, Value flat, ArrayRef<Axis> axes, Symbols &symbols) {
  for (size_t k = axes.size(); k-- > 0;) {
    Value size = arith::ConstantIndexOp::create(b, axes[k].extent.fixed);
    symbols[axes[k].name] = k == 0 ? flat : b.createOrFold<arith::RemUIOp>(flat, size);
    if (k > 0)
      flat = b.createOrFold<arith::DivUIOp>(flat, size);
  }
}

/// Returns whether no axis, or only the outermost one, has a run-time size: then a flat position determines all axes.
static bool canDecompose(ArrayRef<Axis> axes) {
  return llvm::all_of(axes.drop_front(std::min<size_t>(1, axes.size())),
                      [](const Axis &axis) { return axis.extent.name.empty(); });
}

static int64_t elementsOf(ArrayRef<Axis> axes) {
  int64_t product = 1;
  for (const Axis &axis : axes)
    product *= axis.extent.fixed;
  return product;
}

/// Emits the row of a warp. A lane has one key of each 32 keys, then one column of each 32 columns.
class GpuStages::WarpRow {
public:
  WarpRow(GpuStages &s, attn::AttentionOp op, AttentionPlan &planned, int64_t width)
      : s(s), b(s.b), op(op), planned(planned), symbols(planned.symbols), width(width),
        sums(size_t((std::min(width, kMostColumns) + kWarp - 1) / kWarp)) {}
  void emit();

private:
  Value least(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(x, y); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value less(Value x, Value y) { return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, x, y); }
  Value columnOf(size_t number) { return add(add(firstColumn, s.code.index(int64_t(number) * kWarp)), lane); }
  void when(Value condition, llvm::function_ref<void()> body);
  SmallVector<Value> step(Value base, ValueRange before);
  Value power(Value score, Value reference);
  SmallVector<Value> addKeys(Value base, Value weight, ArrayRef<Value> shrunk);
  SmallVector<Value> addValues(Value weight, ValueRange before);
  void finish(ValueRange results);
  void storeWeights(Value reference, Value inverse);

  GpuStages &s;
  ImplicitLocOpBuilder &b;
  attn::AttentionOp op;
  AttentionPlan &planned;
  Symbols &symbols;
  const int64_t width;
  const size_t sums; // number of columns of a lane
  Value lane, none, zero, firstColumn, keys;
};

void GpuStages::WarpRow::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard within(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// Returns exp(score - reference). Weights that would be denormal are 0, as in every kernel.
Value GpuStages::WarpRow::power(Value score, Value reference) {
  Value power = math::ExpOp::create(b, arith::SubFOp::create(b, score, reference));
  Value tiny = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, power, s.code.real(0x1p-126));
  return arith::SelectOp::create(b, tiny, zero, power);
}

/// Adds weight × values of one key to the sums of a lane's columns. A masked key adds nothing, whatever its values are.
SmallVector<Value> GpuStages::WarpRow::addValues(Value weight, ValueRange before) {
  auto added = [&] {
    SmallVector<Value> result;
    const Storage &values = s.tensors.storage[op.getValue()];
    for (auto [number, sum] : llvm::enumerate(before)) {
      decompose(b, least(columnOf(number), s.code.index(width - 1)), planned.width, symbols);
      Value element = s.code.load(values, s.code.position(values, planned.value, symbols));
      if (!planned.valueTerms.empty())
        element = arith::AddFOp::create(b, element, s.terms.sumOf(planned.valueTerms, symbols));
      result.push_back(math::FmaOp::create(b, weight, element, sum));
    }
    return result;
  };
  if (!planned.mask)
    return added();
  Value some;
  if (op.getDirect()) {
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), weight);
    Value hidden = arith::ConstantIntOp::create(b, INT32_MIN, 32); // -0
    some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits, hidden);
  } else {
    some = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, weight, zero);
  }
  auto branch = scf::IfOp::create(b, SmallVector<Type>(sums, b.getF32Type()), some, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard within(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, added());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, before);
  return branch.getResults();
}

/// Adds the values of the keys from `base` on, one key after another; each lane has the weight of one key.
SmallVector<Value> GpuStages::WarpRow::addKeys(Value base, Value weight, ArrayRef<Value> shrunk) {
  Value count = least(s.code.index(kWarp), b.createOrFold<arith::SubIOp>(keys, base));
  auto loop = scf::ForOp::create(b, s.code.index(0), count, s.code.index(1), shrunk);
  OpBuilder::InsertionGuard inner(b);
  b.setInsertionPointToStart(loop.getBody());
  Value from = arith::IndexCastOp::create(b, b.getI32Type(), loop.getInductionVar());
  Value its = shuffleFrom(b, weight, from);
  decompose(b, add(base, loop.getInductionVar()), planned.keys, symbols);
  scf::YieldOp::create(b, addValues(its, loop.getRegionIterArgs()));
  return loop.getResults();
}

/// Emits a step of 32 keys from `base` on. `before` and the result: the maximum, the sum, and the sums of the columns.
SmallVector<Value> GpuStages::WarpRow::step(Value base, ValueRange before) {
  Value own = add(base, lane);
  decompose(b, least(own, add(keys, s.code.index(-1))), planned.keys, symbols);
  Value visible = less(own, keys);
  if (planned.mask)
    visible = arith::AndIOp::create(b, visible, s.code.predicate(*planned.mask, symbols));
  Value hidden = op.getDirect() ? s.code.real(-0.0) : none;
  Value score = s.code.guarded(visible, hidden, [&]() -> Value {
    Value seen = s.terms.scoreOf(op, planned, symbols);
    return op.getDirect() ? arith::AddFOp::create(b, seen, zero).getResult() : seen; // -0 marks a hidden key
  });
  if (op.getDirect()) {
    SmallVector<Value> next{before[0], arith::AddFOp::create(b, before[1], score)};
    next.append(addKeys(base, score, SmallVector<Value>(before.drop_front(2))));
    return next;
  }
  // A NaN does not reach the maximum, but it reaches the sum, and so the whole row.
  Value largest = overWarp(b, score, [&](Value x, Value y) -> Value { return arith::MaxNumFOp::create(b, x, y); });
  largest = arith::MaxNumFOp::create(b, before[0], largest);
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, none);
  Value reference = arith::SelectOp::create(b, empty, zero, largest);
  Value weight = arith::SelectOp::create(b, visible, power(score, reference), zero);
  Value shrink = power(before[0], reference);
  SmallVector<Value> next{largest, arith::AddFOp::create(b, arith::MulFOp::create(b, before[1], shrink), weight)};
  SmallVector<Value> shrunk;
  for (Value sum : before.drop_front(2))
    shrunk.push_back(arith::MulFOp::create(b, sum, shrink));
  next.append(addKeys(base, weight, shrunk));
  return next;
}

/// Stores the row's weights if they are a result. It computes the scores again, now that their maximum is known. Only
/// the first block of columns does it.
void GpuStages::WarpRow::storeWeights(Value largest, Value inverse) {
  Value unseen = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, none);
  Value reference = arith::SelectOp::create(b, unseen, zero, largest);
  when(less(firstColumn, s.code.index(1)), [&] {
    auto loop = scf::ForOp::create(b, s.code.index(0), keys, s.code.index(kWarp));
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(loop.getBody());
    Value own = add(loop.getInductionVar(), lane);
    when(less(own, keys), [&] {
      decompose(b, own, planned.keys, symbols);
      auto weight = [&]() -> Value {
        Value score = s.terms.scoreOf(op, planned, symbols);
        return op.getDirect() ? score : arith::MulFOp::create(b, power(score, reference), inverse).getResult();
      };
      const Storage &target = s.tensors.storage[op.getWeights()];
      Value made = planned.mask ? s.code.guarded(s.code.predicate(*planned.mask, symbols), zero, weight) : weight();
      s.code.store(made, target, s.code.position(target, planned.weights, symbols));
    });
  });
}

/// Stores the row. `results`: the maximum, the lane's part of the sum, and the sums of its columns.
void GpuStages::WarpRow::finish(ValueRange results) {
  Value sum = overWarp(b, results[1], [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); });
  Value largest = results[0];
  Value isFirst = less(add(firstColumn, lane), s.code.index(1));
  if (op.getTotal())
    when(isFirst, [&] {
      const Storage &target = s.tensors.storage[op.getTotal()];
      s.code.store(sum, target, s.code.position(target, planned.lse, symbols));
    });
  if (op.getLse())
    when(isFirst, [&] {
      Value unseen = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, none);
      Value reference = arith::SelectOp::create(b, unseen, zero, largest);
      const Storage &target = s.tensors.storage[op.getLse()];
      Value total = arith::AddFOp::create(b, reference, math::LogOp::create(b, sum));
      s.code.store(total, target, s.code.position(target, planned.lse, symbols));
    });
  Value inverse = s.code.real(1);
  if (!op.getDirect()) {
    Value unseen = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
    inverse = arith::DivFOp::create(b, s.code.real(1), arith::SelectOp::create(b, unseen, s.code.real(1), sum));
  }
  if (op.getWeights())
    storeWeights(largest, inverse);
  const Storage &target = s.tensors.storage[op.getResult()];
  for (size_t number = 0; number < sums; ++number) {
    Value column = columnOf(number);
    auto put = [&] {
      decompose(b, column, planned.width, symbols);
      Value total = arith::MulFOp::create(b, results[unsigned(number + 2)], inverse);
      s.code.store(total, target, s.code.position(target, planned.result, symbols));
    };
    // A condition that is not checked takes no register.
    if (width <= kMostColumns && int64_t(number + 1) * kWarp <= width)
      put();
    else
      when(less(column, s.code.index(width)), put);
  }
}

void GpuStages::WarpRow::emit() {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value laneNumber = arith::AndIOp::create(b, thread, arith::ConstantIntOp::create(b, kWarp - 1, 32));
  lane = arith::IndexCastOp::create(b, b.getIndexType(), laneNumber);
  none = s.code.real(-INFINITY);
  zero = s.code.real(0);
  firstColumn = b.createOrFold<arith::MulIOp>(symbols.at("block of columns"), s.code.index(kMostColumns));
  keys = s.code.count(llvm::map_to_vector(planned.keys, [](const Axis &axis) { return axis.extent; }));
  SmallVector<Value> start{none, zero};
  start.append(sums, zero);
  auto loop = scf::ForOp::create(b, s.code.index(0), keys, s.code.index(kWarp), start);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, step(loop.getInductionVar(), loop.getRegionIterArgs()));
  }
  finish(loop.getResults());
}

bool GpuStages::emitWarpRows(attn::AttentionOp op) {
  auto planned = terms.planOf(op);
  if (!planned)
    return false;
  bool hasWidth = llvm::all_of(planned->width, [](const Axis &axis) { return axis.extent.name.empty(); });
  if (!canDecompose(planned->keys) || !hasWidth)
    return fail(op, "an inner axis of the keys, or the values' width, is of run-time size");
  int64_t width = elementsOf(planned->width);
  std::vector<Axis> axes = planned->outer;
  axes.push_back({"block of columns", {"", (width + kMostColumns - 1) / kMostColumns}});
  code.items(axes, axes.size(), planned->symbols, [&](ArrayRef<Axis>) { WarpRow(*this, op, *planned, width).emit(); });
  return true;
}
