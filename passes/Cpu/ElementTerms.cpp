// One element of a term at a time, at any pair of positions: what is prepared, and what nothing better is known for.
#include "passes/Cpu/CpuKernel.h"
#include "passes/Emit/EmitIndex.h"

using namespace mlir;
using namespace skewer;

Value CpuKernel::indexOf(const subscript::Expr &expression, const std::map<std::string, Value> &at) {
  return IndexEmitter(b.builder, b.builder.getLoc(), at, reads).emit(expression);
}

Value CpuKernel::predicate(const subscript::Expr &expression, const std::map<std::string, Value> &at) {
  return IndexEmitter(b.builder, b.builder.getLoc(), at, reads).emitPredicate(expression);
}

Value CpuKernel::baseOf(const subscript::Expr &expression) { return indexOf(expression, axes); }

Value CpuKernel::firstColumn(unsigned number) {
  const OffsetTerm &term = shape.offsets[number];
  Value shift = term.shift.isConstant(0) ? b.index(0) : baseOf(term.shift);
  // Tables that count query - key are packed in reverse.
  return term.sign > 0 ? b.add(shift, tables[number].constant) : b.sub(b.index(tables[number].constant), shift);
}

Value CpuKernel::lowestVisible() {
  Value low = b.index(shape.visible->low);
  return shape.visibleShift.isConstant(0) ? low : b.sub(low, baseOf(shape.visibleShift));
}

Value CpuKernel::highestVisible() {
  Value high = b.index(shape.visible->high);
  return shape.visibleShift.isConstant(0) ? high : b.sub(high, baseOf(shape.visibleShift));
}

Value CpuKernel::axisOf(const MapAxis &axis, Value position) {
  return b.remainder(b.divide(position, axis.inner), axis.extent);
}

std::map<std::string, Value> CpuKernel::axesAt(Value query, Value key) {
  std::map<std::string, Value> at = axes;
  if (query)
    for (auto [axis, name] : llvm::zip(shape.queryAxes, shape.space.query))
      at[name] = axisOf(axis, query);
  if (key)
    for (auto [axis, name] : llvm::zip(shape.keyAxes, shape.space.key))
      at[name] = axisOf(axis, key);
  return at;
}

Value CpuKernel::element(const OtherTerm &term, std::map<std::string, Value> at) {
  // In f64, rounded by who keeps it: a sum of many products may be large.
  auto number = [&](double x) {
    return arith::ConstantOp::create(b.builder, b.builder.getF64FloatAttr(x)).getResult();
  };
  std::function<Value(size_t, Value)> contract = [&](size_t level, Value sum) -> Value {
    if (level < term.einsum.contracted.size()) {
      const std::string &axis = term.einsum.contracted[level];
      return b.loop(b.index(0), b.index(term.einsum.sizes.at(axis)), 1, ValueRange{sum},
                    [&](Value d, ValueRange carried) {
                      at[axis] = d;
                      return SmallVector<Value>{contract(level + 1, carried[0])};
                    })[0];
    }
    Value product = number(1);
    for (unsigned place = 0; place < term.arguments.size(); ++place)
      if (!term.isGate(place) && !term.isArgument(place))
        product =
            b.mulf(product, b.widen(b.scalar(arguments[term.arguments[place]], indexOf(term.offsets[place], at))));
    return b.addf(sum, product);
  };
  Value sum = contract(0, number(0));
  if (term.value)
    sum = b.mulf(sum, b.widen(b.number(indexOf(*term.value, at))));
  if (term.application) {
    SmallVector<Value> numbers;
    for (const attn::Application::Argument &argument : term.application->arguments)
      numbers.push_back(argument.operand >= 0 ? b.scalar(this->arguments[term.arguments[argument.operand]],
                                                         indexOf(term.offsets[argument.operand], at))
                                              : b.number(indexOf(argument.position, at)));
    sum = b.mulf(sum, b.widen(term.application->function->emit(b.builder, b.builder.getLoc(), numbers)));
  }
  return b.mulf(sum, number(term.scale * kLog2e));
}
