// Computes one element of a term at a time, at any pair of positions: for prepared values, and for terms that no better
// strategy fits.
#include "passes/Cpu/ElementTerms.h"

using namespace mlir;
using namespace skewer;

Value skewer::elementOf(KernelContext &context, const OtherTerm &term, Positions::Values at) {
  VectorBuilder &b = context.b;
  const SmallVector<Value> &arguments = context.memory.arguments;
  Positions &positions = context.positions;
  // In f64, which the caller rounds: a sum of many products may be large.
  auto number = [&](double x) {
    return arith::ConstantOp::create(b.builder, b.builder.getF64FloatAttr(x)).getResult();
  };
  std::function<Value(size_t, Value)> contract = [&](size_t level, Value sum) -> Value {
    if (level < term.contracted.size()) {
      const auto &[axis, size] = term.contracted[level];
      return b.loop(b.index(0), b.index(size), 1, ValueRange{sum}, [&, &axis = axis](Value d, ValueRange carried) {
        at[axis] = d;
        return SmallVector<Value>{contract(level + 1, carried[0])};
      })[0];
    }
    Value product = number(1);
    for (unsigned place = 0; place < term.arguments.size(); ++place)
      if (!term.isGate(place) && !term.isArgument(place))
        product = b.mulf(
            product, b.widen(b.scalar(arguments[term.arguments[place]], positions.indexOf(term.offsets[place], at))));
    return b.addf(sum, product);
  };
  Value sum = contract(0, number(0));
  if (term.factor)
    sum = b.mulf(sum, b.widen(b.number(positions.indexOf(*term.factor, at))));
  if (term.application) {
    SmallVector<Value> numbers;
    for (const attn::Application::Argument &argument : term.application->arguments)
      numbers.push_back(argument.operand >= 0 ? b.scalar(arguments[term.arguments[argument.operand]],
                                                         positions.indexOf(term.offsets[argument.operand], at))
                                              : b.number(positions.indexOf(argument.position, at)));
    sum = b.mulf(sum, b.widen(term.application->function->emit(b.builder, b.builder.getLoc(), numbers)));
  }
  return b.mulf(sum, number(term.scale));
}

Value skewer::timesGates(KernelContext &context, const OtherTerm &term, const Positions::Values &at, Value factor) {
  VectorBuilder &b = context.b;
  for (unsigned gate : term.gates)
    factor = b.mulf(factor, b.scalar(context.memory.arguments[term.arguments[gate]],
                                     context.positions.indexOf(term.offsets[gate], at)));
  return factor;
}

void skewer::storeOrNothing(KernelContext &context, const OtherTerm &term, const Positions::Values &at, Value memory,
                            Value where) {
  VectorBuilder &b = context.b;
  b.storeScalar(b.constantScalar(-0.0f), memory, where);
  b.when(context.positions.predicate(*term.guard, at), [&] {
    // The sum of 0 and -0 is 0.
    b.storeScalar(b.addf(b.narrow(elementOf(context, term, at)), b.constantScalar(0)), memory, where);
  });
}

Value skewer::addGated(VectorBuilder &b, const OtherTerm &term, Value gate, Value prepared, Value sum) {
  Value more = b.fma(gate, prepared, sum);
  if (!saysNothing(term))
    return more;
  auto bitsOf = [&](Value x) {
    Type integers = cast<VectorType>(x.getType()).clone(b.builder.getI32Type());
    return arith::BitcastOp::create(b.builder, integers, x).getResult();
  };
  Value isNothing =
      arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, bitsOf(prepared), bitsOf(b.constant(-0.0f)));
  return b.select(isNothing, sum, more);
}
