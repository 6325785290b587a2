// Builds the signature of a phase from the plan, and finds the plan's arguments in it.
#include "passes/Emit/PhaseFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Emit/EmitIndex.h"

using namespace mlir;
using namespace skewer;

PhaseFunction skewer::createPhase(ImplicitLocOpBuilder &builder, ModuleOp module, const KernelPlan &plan,
                                  StringRef title) {
  auto memory = [&](Type element) { return MemRefType::get({ShapedType::kDynamic}, element); };
  SmallVector<Type> types;
  for (const TensorArgument &input : plan.inputs)
    types.push_back(memory(typeOf(input.type, builder.getContext())));
  for (const TensorArgument &output : plan.outputs)
    types.push_back(memory(typeOf(output.type, builder.getContext())));
  types.append(plan.sizes.size(), builder.getIndexType());
  types.append(plan.preparedBytes ? 3 : 2, memory(builder.getI8Type()));
  types.append(2, builder.getIndexType());
  std::string base = plan.name + "_" + title.str(), name = base;
  for (int number = 2; module.lookupSymbol(name); ++number)
    name = base + "_" + std::to_string(number);
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, name, builder.getFunctionType(types, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  func::ReturnOp::create(builder);
  builder.setInsertionPointToStart(body);
  ValueRange all = body->getArguments();
  size_t inputs = plan.inputs.size(), outputs = plan.outputs.size(), next = inputs + outputs + plan.sizes.size();
  return {function,
          all.take_front(inputs),
          all.slice(inputs, outputs),
          all.slice(inputs + outputs, plan.sizes.size()),
          all[next],
          all[next + 1],
          plan.preparedBytes ? all[next + 2] : Value(),
          all[all.size() - 2],
          all.back()};
}

Value skewer::extentIn(const PhaseFunction &phase, ImplicitLocOpBuilder &builder, const KernelPlan &plan,
                       const Extent &extent) {
  for (auto [number, name] : llvm::enumerate(plan.sizes))
    if (name == extent.name)
      return phase.sizes[number];
  if (!extent.name.empty()) { // the extent is an expression over lengths
    std::map<std::string, Value> sizes;
    for (auto [number, name] : llvm::enumerate(plan.sizes))
      sizes[name] = phase.sizes[number];
    auto expression = subscript::parse(extent.name);
    return IndexEmitter(builder, builder.getLoc(), std::move(sizes)).emit(*expression);
  }
  return arith::ConstantIndexOp::create(builder, extent.fixed);
}
