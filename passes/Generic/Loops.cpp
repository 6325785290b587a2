// What the generic path's code is made of: loops, loads, stores and guards.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Analysis/Summation.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/NarrowFloats.h"
#include "passes/Generic/Kernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

Value Kernel::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value Kernel::real(double value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(value))); }
Value Kernel::real(double value, bool vector) { return vector ? spread(real(value)) : real(value); }
Value Kernel::extent(const Extent &extent) {
  if (extent.name.empty())
    return index(extent.fixed);
  auto known = sizes.find(extent.name);
  return known != sizes.end() ? known->second : extentIn(phase, b, plan, extent);
}

Value Kernel::elements(ArrayRef<Extent> shape) {
  int64_t fixed = 1;
  Value product;
  for (const Extent &extent : shape) {
    if (extent.name.empty())
      fixed *= extent.fixed;
    else
      product = product ? arith::MulIOp::create(b, product, this->extent(extent)).getResult() : this->extent(extent);
  }
  return product ? b.createOrFold<arith::MulIOp>(product, index(fixed)) : index(fixed);
}

void Kernel::loop(Value low, Value high, int64_t step, const std::function<void(Value)> &body) {
  auto loop = scf::ForOp::create(b, low, high, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void Kernel::loops(ArrayRef<Axis> axes, Symbols &symbols, const std::function<void()> &body) {
  if (axes.empty())
    return body();
  loop(index(0), extent(axes.front().extent), 1, [&](Value at) {
    symbols[axes.front().name] = at;
    loops(axes.drop_front(), symbols, body);
  });
}

SmallVector<Value> Kernel::carry(ArrayRef<Axis> axes, Symbols &symbols, ValueRange start,
                                 const std::function<SmallVector<Value>(ValueRange)> &body) {
  if (axes.empty())
    return body(start);
  auto loop = scf::ForOp::create(b, index(0), extent(axes.front().extent), index(1), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  symbols[axes.front().name] = loop.getInductionVar();
  scf::YieldOp::create(b, carry(axes.drop_front(), symbols, loop.getRegionIterArgs(), body));
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> Kernel::sumsOfChains(Value low, Value high, int64_t step, int64_t chain, ValueRange start,
                                        ValueRange zeros,
                                        const std::function<SmallVector<Value>(Value, ValueRange)> &body) {
  auto run = [&](Value from, Value to, int64_t by, ValueRange carried,
                 const std::function<SmallVector<Value>(Value, ValueRange)> &inside) {
    auto loop = scf::ForOp::create(b, from, to, index(by), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, inside(loop.getInductionVar(), loop.getRegionIterArgs()));
    return SmallVector<Value>(loop.getResults());
  };
  return run(low, high, chain * step, start, [&](Value first, ValueRange before) {
    Value end = b.createOrFold<arith::AddIOp>(first, index(chain * step));
    SmallVector<Value> more = run(first, b.createOrFold<arith::MinSIOp>(end, high), step, zeros, body);
    for (auto [sum, old] : llvm::zip(more, before))
      sum = arith::AddFOp::create(b, old, sum);
    return more;
  });
}

SmallVector<Value> Kernel::sums(ArrayRef<Axis> axes, Symbols &symbols, ValueRange zeros, int64_t terms,
                                const std::function<SmallVector<Value>(ValueRange)> &body) {
  size_t split = axes.size(); // the axis within which chains end; the inner ones are in one
  auto isShort = [&](const Extent &extent) { return extent.name.empty() && extent.fixed * terms <= kChain; };
  for (; split > 0 && isShort(axes[split - 1].extent); --split)
    terms *= std::max<int64_t>(axes[split - 1].extent.fixed, 1);
  if (split == 0)
    return carry(axes, symbols, zeros, body);
  const Axis &axis = axes[split - 1];
  return carry(axes.take_front(split - 1), symbols, zeros, [&](ValueRange before) {
    return sumsOfChains(index(0), extent(axis.extent), 1, std::max<int64_t>(kChain / terms, 1), before, zeros,
                        [&](Value at, ValueRange carried) {
                          symbols[axis.name] = at;
                          return carry(axes.drop_front(split), symbols, carried, body);
                        });
  });
}

Value Kernel::flat(const Storage &tensor, ArrayRef<Value> indices) {
  Value sum = indices.empty() ? index(0) : indices[0];
  for (size_t d = 1; d < indices.size(); ++d) {
    Value scaled = b.createOrFold<arith::MulIOp>(sum, extent(tensor.shape[d]));
    sum = b.createOrFold<arith::AddIOp>(scaled, indices[d]);
  }
  return sum;
}

FindIndices Kernel::indexOperands() {
  return [&](const std::string &name) -> std::optional<IndexMemory> {
    for (auto [number, input] : llvm::enumerate(plan.inputs))
      if (input.name == name && input.type == ElementType::I32) {
        IndexMemory operand;
        operand.memory = phase.inputs[number];
        for (const Extent &size : input.shape)
          operand.extents.push_back(extentIn(phase, b, plan, size));
        return operand;
      }
    return std::nullopt;
  };
}

IndexEmitter::Read Kernel::reads() { return loadsFrom(b, b.getLoc(), indexOperands()); }

Value Kernel::value(const Expr &expression, const Symbols &symbols) {
  IndexEmitter emitter(b, b.getLoc(), symbols, reads());
  if (Value emitted = emitter.emit(expression))
    return emitted;
  if (emissionFailure.empty())
    emissionFailure = emitter.failure();
  return index(0);
}
Value Kernel::predicate(const Expr &expression, const Symbols &symbols) {
  IndexEmitter emitter(b, b.getLoc(), symbols, reads());
  if (Value emitted = emitter.emitPredicate(expression))
    return emitted;
  if (emissionFailure.empty())
    emissionFailure = emitter.failure();
  return arith::ConstantIntOp::create(b, 0, 1);
}

Value Kernel::position(const Storage &tensor, ArrayRef<Expr> subscripts, const Symbols &symbols) {
  SmallVector<Value> indices;
  for (const Expr &subscript : subscripts)
    indices.push_back(value(subscript, symbols));
  return flat(tensor, indices);
}

Value Kernel::spread(Value scalar) {
  return vector::BroadcastOp::create(b, VectorType::get({vectorLanes}, scalar.getType()), scalar);
}

Value Kernel::widen(Value value) { return widened(b, value); }

Value Kernel::narrow(Value value, Type element) { return narrowed(b, value, element); }

Value Kernel::load(const Storage &tensor, Value position, bool vector) {
  if (tensor.number) {
    Value scalar = real(*tensor.number);
    return vector ? spread(scalar) : scalar;
  }
  if (!vector)
    return widen(memref::LoadOp::create(b, tensor.memory, position));
  return widen(vector::LoadOp::create(b, VectorType::get({vectorLanes}, tensor.element), tensor.memory, position));
}

void Kernel::store(Value value, const Storage &tensor, Value position) {
  Value narrowed = narrow(value, tensor.element);
  if (isa<VectorType>(narrowed.getType()))
    vector::StoreOp::create(b, narrowed, tensor.memory, position);
  else
    memref::StoreOp::create(b, narrowed, tensor.memory, position);
}

Value Kernel::guarded(Value predicate, Value otherwise, const std::function<Value()> &body) {
  auto branch = scf::IfOp::create(b, otherwise.getType(), predicate, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, body());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise);
  return branch.getResult(0);
}

void Kernel::addRuntimeSizes(const std::map<std::string, Extent> &extents, Symbols &symbols) {
  for (const auto &[axis, size] : extents)
    if (!size.name.empty())
      symbols["size_" + axis] = extent(size);
}
