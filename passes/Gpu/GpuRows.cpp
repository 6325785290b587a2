// An attention by its index expressions: a warp for each row of scores.
//
// 32 keys at a time: each lane makes the score of one, the maximum and the weights follow, then each lane adds up
// columns of the values, weight after weight. The softmax is the online one (Milakov and Gimelshein 2018,
// arXiv:1805.02867), so that nothing of the row is kept.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Gpu/GpuStages.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::generic;

static constexpr int64_t kWarp = 32;

static Value shuffle(ImplicitLocOpBuilder &b, Value value, Value from, NVVM::ShflKind kind) {
  Value all = arith::ConstantIntOp::create(b, -1, 32), clamp = arith::ConstantIntOp::create(b, 31, 32);
  return NVVM::ShflOp::create(b, value.getType(), all, value, from, clamp, kind, nullptr);
}

/// The sum or maximum of all lanes, in each of them.
static Value overWarp(ImplicitLocOpBuilder &b, Value value, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    Value step = arith::ConstantIntOp::create(b, distance, 32);
    value = combine(value, shuffle(b, value, step, NVVM::ShflKind::bfly));
  }
  return value;
}

/// The axes of a flat position in their product.
static void decompose(ImplicitLocOpBuilder &b, Value flat, ArrayRef<Axis> axes, Symbols &symbols) {
  for (size_t k = axes.size(); k-- > 0;) {
    Value size = arith::ConstantIndexOp::create(b, axes[k].extent.fixed);
    symbols[axes[k].name] = k == 0 ? flat : b.createOrFold<arith::RemUIOp>(flat, size);
    if (k > 0)
      flat = b.createOrFold<arith::DivUIOp>(flat, size);
  }
}

static std::optional<int64_t> elementsOf(ArrayRef<Axis> axes) {
  int64_t product = 1;
  for (const Axis &axis : axes) {
    if (!axis.extent.name.empty())
      return std::nullopt;
    product *= axis.extent.fixed;
  }
  return product;
}

bool GpuStages::emitWarpRows(attn::AttentionOp op) {
  auto planned = planAttention(op);
  if (!planned)
    return false;
  auto keys = elementsOf(planned->keys), width = elementsOf(planned->width);
  if (!keys || !width)
    return fail(op, "keys or values of run-time size");
  Symbols &symbols = planned->symbols;
  std::vector<Axis> axes = planned->outer;
  axes.push_back({"block of columns", {"", (*width + kMostColumns - 1) / kMostColumns}});
  size_t sums = size_t((std::min(*width, kMostColumns) + kWarp - 1) / kWarp);

  auto least = [&](Value x, Value y) { return b.createOrFold<arith::MinSIOp>(x, y); };
  auto add = [&](Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); };
  auto less = [&](Value x, Value y) { return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, x, y); };
  items(axes, axes.size(), symbols, [&](ArrayRef<Axis>) {
    Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
    Value laneNumber = arith::AndIOp::create(b, thread, arith::ConstantIntOp::create(b, kWarp - 1, 32));
    Value lane = arith::IndexCastOp::create(b, b.getIndexType(), laneNumber);
    Value none = real(-INFINITY), zero = real(0);
    Value firstColumn = b.createOrFold<arith::MulIOp>(symbols.at("block of columns"), index(kMostColumns));
    auto columnOf = [&](size_t number) { return add(add(firstColumn, index(int64_t(number) * kWarp)), lane); };

    SmallVector<Value> start{none, zero};
    start.append(sums, zero);
    auto loop = scf::ForOp::create(b, index(0), index(*keys), index(kWarp), start);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value base = loop.getInductionVar(), own = add(base, lane), end = index(*keys);
      ValueRange before = loop.getRegionIterArgs();
      decompose(b, least(own, add(end, index(-1))), planned->keys, symbols);
      Value visible = less(own, end);
      if (planned->mask)
        visible = arith::AndIOp::create(b, visible, predicate(*planned->mask, symbols));
      Value score = guarded(visible, none, [&] { return sumOf(planned->terms, symbols); });
      // A NaN passes the maximum by and reaches the sum, and so the whole row.
      Value largest = overWarp(b, score, [&](Value x, Value y) -> Value { return arith::MaxNumFOp::create(b, x, y); });
      largest = arith::MaxNumFOp::create(b, before[0], largest);
      Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, none);
      Value reference = arith::SelectOp::create(b, empty, zero, largest);
      // Weights that would be denormal are 0, as in every kernel.
      auto power = [&](Value score) -> Value {
        Value power = math::ExpOp::create(b, arith::SubFOp::create(b, score, reference));
        Value tiny = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, power, real(0x1p-126));
        return arith::SelectOp::create(b, tiny, zero, power);
      };
      Value weight = arith::SelectOp::create(b, visible, power(score), zero);
      Value shrink = power(before[0]);
      SmallVector<Value> next{largest, arith::AddFOp::create(b, arith::MulFOp::create(b, before[1], shrink), weight)};
      SmallVector<Value> shrunk;
      for (Value sum : before.drop_front(2))
        shrunk.push_back(arith::MulFOp::create(b, sum, shrink));
      Value count = least(index(kWarp), b.createOrFold<arith::SubIOp>(end, base));
      auto add32 = scf::ForOp::create(b, index(0), count, index(1), shrunk);
      {
        OpBuilder::InsertionGuard inner(b);
        b.setInsertionPointToStart(add32.getBody());
        Value from = arith::IndexCastOp::create(b, b.getI32Type(), add32.getInductionVar());
        Value its = shuffle(b, weight, from, NVVM::ShflKind::idx);
        decompose(b, add(base, add32.getInductionVar()), planned->keys, symbols);
        auto addValues = [&] {
          SmallVector<Value> result;
          const Storage &values = storage[op.getValue()];
          for (auto [number, sum] : llvm::enumerate(add32.getRegionIterArgs())) {
            decompose(b, least(columnOf(number), index(*width - 1)), planned->width, symbols);
            Value element = load(values, position(values, planned->value, symbols));
            if (!planned->valueTerms.empty())
              element = arith::AddFOp::create(b, element, sumOf(planned->valueTerms, symbols));
            result.push_back(math::FmaOp::create(b, its, element, sum));
          }
          return result;
        };
        if (!planned->mask) {
          scf::YieldOp::create(b, addValues());
        } else { // what is masked counts nothing, whatever the values hold
          Value some = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, its, zero);
          auto branch = scf::IfOp::create(b, SmallVector<Type>(sums, b.getF32Type()), some, /*withElseRegion=*/true);
          {
            OpBuilder::InsertionGuard within(b);
            b.setInsertionPointToStart(branch.thenBlock());
            scf::YieldOp::create(b, addValues());
            b.setInsertionPointToStart(branch.elseBlock());
            scf::YieldOp::create(b, add32.getRegionIterArgs());
          }
          scf::YieldOp::create(b, branch.getResults());
        }
      }
      next.append(add32.getResults().begin(), add32.getResults().end());
      scf::YieldOp::create(b, next);
    }

    Value sum =
        overWarp(b, loop.getResult(1), [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); });
    Value largest = loop.getResult(0);
    auto when = [&](Value condition, llvm::function_ref<void()> body) {
      auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard within(b);
      b.setInsertionPointToStart(branch.thenBlock());
      body();
    };
    Value isFirst = less(add(firstColumn, lane), index(1));
    if (op.getLse())
      when(isFirst, [&] {
        Value unseen = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, none);
        Value reference = arith::SelectOp::create(b, unseen, zero, largest);
        const Storage &target = storage[op.getLse()];
        Value total = arith::AddFOp::create(b, reference, math::LogOp::create(b, sum));
        store(total, target, position(target, planned->lse, symbols));
      });
    Value unseen = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
    Value inverse = arith::DivFOp::create(b, real(1), arith::SelectOp::create(b, unseen, real(1), sum));
    const Storage &target = storage[op.getResult()];
    for (size_t number = 0; number < sums; ++number) {
      Value column = columnOf(number);
      auto put = [&] {
        decompose(b, column, planned->width, symbols);
        Value total = arith::MulFOp::create(b, loop.getResult(unsigned(number + 2)), inverse);
        store(total, target, position(target, planned->result, symbols));
      };
      // What is not asked takes no register.
      if (*width <= kMostColumns && int64_t(number + 1) * kWarp <= *width)
        put();
      else
        when(less(column, index(*width)), put);
    }
  });
  return true;
}
