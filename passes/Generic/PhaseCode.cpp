// Emits loops, loads, stores, guards and work items of the generic path.
#include "passes/Generic/PhaseCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Analysis/Summation.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/NarrowFloats.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

std::string generic::symbolOf(const Extent &extent) { return "extent of " + extent.name; }

Value PhaseCode::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value PhaseCode::real(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(value)));
}
Value PhaseCode::real(double value, bool vector) { return vector ? spread(real(value)) : real(value); }
Value PhaseCode::extent(const Extent &extent) {
  if (extent.name.empty())
    return index(extent.fixed);
  auto known = sizes.find(extent.name);
  return known != sizes.end() ? known->second : extentIn(phase, b, plan, extent);
}

Value PhaseCode::count(ArrayRef<Extent> shape) {
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

void PhaseCode::loop(Value low, Value high, int64_t step, const std::function<void(Value)> &body) {
  auto loop = scf::ForOp::create(b, low, high, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void PhaseCode::loops(ArrayRef<Axis> axes, Symbols &symbols, const std::function<void()> &body) {
  if (axes.empty())
    return body();
  loop(index(0), extent(axes.front().extent), 1, [&](Value at) {
    symbols[axes.front().name] = at;
    loops(axes.drop_front(), symbols, body);
  });
}

void PhaseCode::alongVectors(const Axis &axis, const std::function<void(Value first, int64_t count)> &vectors,
                             const std::function<void(Value)> &single) {
  int64_t done = 0, size = axis.extent.fixed;
  for (int64_t count : {4, 1}) {
    int64_t width = count * kLanes, end = done + (size - done) / width * width;
    if (end > done)
      loop(index(done), index(end), width, [&](Value first) { vectors(first, count); });
    done = end;
  }
  if (done < size)
    loop(index(done), index(size), 1, single);
}

SmallVector<Value> PhaseCode::carry(ArrayRef<Axis> axes, Symbols &symbols, ValueRange start,
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

// The number of chain sums that are added in one group. Sums of many similar numbers are similar too, and a chain of
// them rounds in the same direction each time. The mean of 655360 numbers near -10000 has an error of 3.5e-7 with
// groups of 256 sums, and of less than 1e-7 with groups of this size.
static constexpr int64_t kGroup = 16;

SmallVector<Value> PhaseCode::sumsOfChains(Value high, int64_t step, int64_t steps, int64_t chain, ValueRange zeros,
                                           const std::function<SmallVector<Value>(Value, ValueRange)> &body) {
  auto run = [&](Value from, Value to, int64_t by, ValueRange carried,
                 const std::function<SmallVector<Value>(Value, ValueRange)> &inside) {
    auto loop = scf::ForOp::create(b, from, to, index(by), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, inside(loop.getInductionVar(), loop.getRegionIterArgs()));
    return SmallVector<Value>(loop.getResults());
  };
  // Sums [from, to) in parts of `group` steps: a chain, or a group of groups.
  std::function<SmallVector<Value>(Value, Value, int64_t)> sum = [&](Value from, Value to, int64_t group) {
    if (group == 1)
      return run(from, to, step, zeros, body);
    return run(from, to, group * step, zeros, [&](Value first, ValueRange before) {
      Value end = b.createOrFold<arith::AddIOp>(first, index(group * step));
      SmallVector<Value> more =
          sum(first, b.createOrFold<arith::MinSIOp>(end, to), group == chain ? 1 : group / kGroup);
      for (auto [one, old] : llvm::zip(more, before))
        one = arith::AddFOp::create(b, old, one);
      return more;
    });
  };
  int64_t group = steps > chain ? chain : 1;
  while (group > 1 && group * kGroup < steps)
    group *= kGroup;
  return sum(index(0), high, group);
}

// An upper bound for the positions of an axis whose size is known only at run time.
static constexpr int64_t kMostPositions = int64_t(1) << 24;

SmallVector<Value> PhaseCode::sums(ArrayRef<Axis> axes, Symbols &symbols, ValueRange zeros, int64_t terms,
                                   const std::function<SmallVector<Value>(ValueRange)> &body) {
  size_t split = axes.size(); // the axes from here on are one chain
  for (; split > 0; --split) {
    const Extent &extent = axes[split - 1].extent;
    if (!extent.name.empty() || extent.fixed * terms > kChain)
      break;
    terms *= std::max<int64_t>(extent.fixed, 1);
  }
  std::function<SmallVector<Value>(size_t)> sumFrom = [&](size_t number) {
    if (number >= split)
      return carry(axes.drop_front(number), symbols, zeros, body);
    const Axis &axis = axes[number];
    int64_t steps = axis.extent.name.empty() ? axis.extent.fixed : kMostPositions;
    bool ofChains = number + 1 == split && terms <= kChain;
    return sumsOfChains(extent(axis.extent), 1, steps, ofChains ? kChain / terms : kGroup, zeros,
                        [&](Value at, ValueRange before) {
                          symbols[axis.name] = at;
                          if (ofChains)
                            return carry(axes.drop_front(split), symbols, before, body);
                          SmallVector<Value> more = sumFrom(number + 1);
                          for (auto [one, old] : llvm::zip(more, before))
                            one = arith::AddFOp::create(b, old, one);
                          return more;
                        });
  };
  return sumFrom(0);
}

Value PhaseCode::flat(const Storage &tensor, ArrayRef<Value> indices) {
  Value sum = indices.empty() ? index(0) : indices[0];
  for (size_t d = 1; d < indices.size(); ++d) {
    Value scaled = b.createOrFold<arith::MulIOp>(sum, extent(tensor.shape[d]));
    sum = b.createOrFold<arith::AddIOp>(scaled, indices[d]);
  }
  return sum;
}

FindIndices PhaseCode::indexOperands() {
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

IndexEmitter::Read PhaseCode::reads() { return loadsFrom(b, b.getLoc(), indexOperands()); }

Value PhaseCode::value(const Expr &expression, const Symbols &symbols) {
  IndexEmitter emitter(b, b.getLoc(), symbols, reads());
  if (Value emitted = emitter.emit(expression))
    return emitted;
  if (failure.empty())
    failure = emitter.failure();
  return index(0);
}
Value PhaseCode::predicate(const Expr &expression, const Symbols &symbols) {
  IndexEmitter emitter(b, b.getLoc(), symbols, reads());
  if (Value emitted = emitter.emitPredicate(expression))
    return emitted;
  if (failure.empty())
    failure = emitter.failure();
  return arith::ConstantIntOp::create(b, 0, 1);
}

Value PhaseCode::position(const Storage &tensor, ArrayRef<Expr> subscripts, const Symbols &symbols) {
  SmallVector<Value> indices;
  for (const Expr &subscript : subscripts)
    indices.push_back(value(subscript, symbols));
  return flat(tensor, indices);
}

Value PhaseCode::spread(Value scalar) {
  return vector::BroadcastOp::create(b, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value PhaseCode::widen(Value value) { return widened(b, value); }

Value PhaseCode::narrow(Value value, Type element) { return narrowed(b, value, element, roundsToBf16); }

Value PhaseCode::load(const Storage &tensor, Value position, bool vector) {
  if (tensor.number) {
    Value scalar = real(*tensor.number);
    return vector ? spread(scalar) : scalar;
  }
  if (!vector)
    return widen(memref::LoadOp::create(b, tensor.memory, position));
  return widen(vector::LoadOp::create(b, VectorType::get({lanes}, tensor.element), tensor.memory, position));
}

Value PhaseCode::isAbsent(Value number) {
  Type type = b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(number.getType()))
    type = VectorType::get(vector.getShape(), type);
  Value mark = arith::ConstantOp::create(b, b.getIntegerAttr(b.getI32Type(), APInt::getSignMask(32)));
  if (isa<VectorType>(type))
    mark = vector::BroadcastOp::create(b, type, mark);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, arith::BitcastOp::create(b, type, number), mark);
}

Value PhaseCode::present(Value number) {
  return arith::AddFOp::create(b, number, real(0, isa<VectorType>(number.getType())));
}

void PhaseCode::store(Value value, const Storage &tensor, Value position) {
  // A small negative number becomes -0.0 when it is rounded to fewer bits. It is not absent.
  if (tensor.mayBeAbsent && !tensor.element.isF32())
    value = arith::SelectOp::create(b, isAbsent(value), value, present(widen(narrow(value, tensor.element))));
  Value narrowed = narrow(value, tensor.element);
  if (isa<VectorType>(narrowed.getType()))
    vector::StoreOp::create(b, narrowed, tensor.memory, position);
  else
    memref::StoreOp::create(b, narrowed, tensor.memory, position);
}

Value PhaseCode::guarded(Value predicate, Value otherwise, const std::function<Value()> &body) {
  auto branch = scf::IfOp::create(b, otherwise.getType(), predicate, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, body());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise);
  return branch.getResult(0);
}

void PhaseCode::addRuntimeSizes(const std::map<std::string, Extent> &extents, Symbols &symbols) {
  for (const auto &[axis, size] : extents)
    if (!size.name.empty())
      symbols["size_" + axis] = extent(size);
}

void PhaseCode::addRuntimeSymbols(Symbols &symbols) {
  for (const auto &[name, size] : sizes)
    symbols[symbolOf({name, 1})] = size;
}

Value PhaseCode::address(const Place &place) {
  if (!place.scaled)
    return index(place.offset);
  Value factor = index(place.offset);
  for (const std::string &name : plan.sharedBytes.factors)
    factor = b.createOrFold<arith::MulIOp>(factor, sizes.at(name));
  return b.createOrFold<arith::AddIOp>(index(plan.sharedBytes.fixed), factor);
}

/// The number of work items of a phase, if the leading axes give that many: enough to keep every worker busy.
static constexpr int64_t kItems = 64;

void PhaseCode::items(ArrayRef<Axis> axes, size_t most, Symbols &symbols,
                      const std::function<void(ArrayRef<Axis>)> &body) {
  SizeExpression count;
  int64_t fixed = 1;
  size_t taken = 0;
  if (elementItems)
    most = axes.size();
  for (; taken < std::min(most, axes.size()) && (elementItems || fixed < kItems); ++taken) {
    const Extent &extent = axes[taken].extent;
    if (extent.name.empty())
      fixed *= extent.fixed;
    else
      count.factors.push_back(extent.name);
  }
  (count.factors.empty() ? count.fixed : count.scaled) = fixed;
  plan.phases.back().items = count;
  loop(phase.begin, phase.end, 1, [&](Value item) {
    Value rest = item;
    for (size_t k = taken; k-- > 0;) {
      Value size = extent(axes[k].extent);
      symbols[axes[k].name] = k == 0 ? rest : b.createOrFold<arith::RemUIOp>(rest, size);
      if (k > 0)
        rest = b.createOrFold<arith::DivUIOp>(rest, size);
    }
    body(axes.drop_front(taken));
  });
}

SizeExpression generic::itemsOf(ArrayRef<Axis> outer, int64_t each) {
  SizeExpression count{0, 0, {}};
  for (const Axis &axis : outer)
    if (axis.extent.name.empty())
      each *= axis.extent.fixed;
    else
      count.factors.push_back(axis.extent.name);
  (count.factors.empty() ? count.fixed : count.scaled) = each;
  return count;
}
