// Gives the reference's interpreter a copy of the function that returns the wanted value.
#include "tools/skewer/PlotValues.h"
#include "dialect/IR/Term.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer::driver {
namespace {

/// Combines the mask with the term's guard: where the mask hides a pair, the term may read outside its operands.
Expr guardOf(const AttentionView &attention, const Term &term) {
  Expr guard = 1;
  for (const std::optional<Expr> &predicate : {attention.mask, term.einsum.guard})
    if (predicate)
      guard = logicalAnd(guard, *predicate);
  return guard;
}

/// Makes the einsum "… -> leading (iy ix) (jy jx)" of a term's operands. If a plugin's function takes some of them, the
/// einsum has the other operands and the function's values.
Value contractionOf(TermOp term, std::vector<std::string> &leading) {
  auto attention = term->getParentOfType<AttentionOp>();
  auto view = viewOf(attention);
  auto said = termOf(term);
  const ScoreSpace &space = view->space;
  const ResolvedEinsum &resolved = said->einsum;
  std::set<std::string> used;
  for (const std::vector<Expr> &operand : resolved.subscripts)
    for (const Expr &subscript : operand)
      used.merge(symbolsOf(subscript));
  const std::optional<Application> &application = said->application;
  Expr guard = guardOf(*view, *said);
  used.merge(symbolsOf(guard)); // a mask may depend on the batch row even if the term does not
  Einsum spec;
  for (size_t k = 0; k < term.getInputs().size(); ++k)
    if (!application || !application->takes(k))
      spec.operands.push_back(resolved.spec.operands[k]);
  if (application)
    for (const Application::Argument &argument : application->arguments)
      used.merge(symbolsOf(argument.position));
  spec.result.emplace();
  SmallVector<int64_t> shape;
  AxisSizes given;
  auto size = [&](const std::string &axis) {
    auto found = space.sizes.find(axis);
    return found == space.sizes.end() ? kRuntime : found->second;
  };
  auto add = [&](const std::vector<std::string> &axes) {
    Dimension dimension;
    dimension.axes = axes;
    int64_t extent = 1;
    for (const std::string &axis : axes)
      extent = size(axis) == kRuntime ? ShapedType::kDynamic : extent * size(axis);
    spec.result->push_back(std::move(dimension));
    shape.push_back(extent);
  };
  for (const std::string &axis : space.leading)
    if (used.count(axis)) {
      add({axis});
      leading.push_back(axis);
    }
  add(space.query);
  add(space.key);
  for (const auto &[axis, extent] : resolved.sizes)
    if (extent != kRuntime)
      given[axis] = extent;
  for (const std::vector<std::string> *side : {&space.query, &space.key})
    for (const std::string &axis : *side)
      given[axis] = size(axis);
  OpBuilder builder(attention);
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
  auto einsumOf = [&](const Einsum &of, ValueRange operands) -> Value {
    auto einsum = EinsumOp::create(builder, term.getLoc(), type, text(print(of)), sizesTo(builder.getContext(), given),
                                   guard.isConstant(1) ? StringAttr() : text(print(guard)), operands);
    bindIndices(einsum);
    return einsum.getResult();
  };
  SmallVector<Value> factors, arguments;
  for (auto [k, input] : llvm::enumerate(term.getInputs()))
    if (!application || !application->takes(k))
      factors.push_back(input);
  if (!application)
    return einsumOf(spec, factors);
  for (const Application::Argument &argument : application->arguments) {
    Einsum one;
    one.result = spec.result;
    if (argument.operand >= 0) {
      one.operands = {resolved.spec.operands[argument.operand]};
      arguments.push_back(einsumOf(one, term.getInputs()[argument.operand]));
      continue;
    }
    auto position = PositionOp::create(builder, term.getLoc(), type, text(print(*spec.result)),
                                       text(print(argument.position)), sizesTo(builder.getContext(), given));
    bindIndices(position);
    arguments.push_back(position);
  }
  factors.push_back(ApplyOp::create(builder, term.getLoc(), type, application->function->name(), arguments));
  spec.operands.push_back(*spec.result);
  return einsumOf(spec, factors);
}

} // namespace

TensorValues::TensorValues(func::FuncOp function, Value tensor, const Operands &operands) {
  holder = ModuleOp::create(function.getLoc());
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(function->clone(mapping));
  holder->push_back(copy);
  interpret(copy, mapping.lookupOrDefault(tensor), operands);
}

TensorValues::TensorValues(func::FuncOp function, TermOp term, const Operands &operands) {
  holder = ModuleOp::create(function.getLoc());
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(function->clone(mapping));
  holder->push_back(copy);
  auto mapped = dyn_cast_or_null<TermOp>(mapping.lookupOrNull(term.getOperation()));
  if (mapped)
    interpret(copy, contractionOf(mapped, leading), operands);
}

void TensorValues::interpret(func::FuncOp copy, Value result, const Operands &operands) {
  Block &body = copy.getBody().front();
  body.getTerminator()->setOperands(result);
  copy.setFunctionType(FunctionType::get(copy.getContext(), body.getArgumentTypes(), result.getType()));
  // The interpreter reads every operation, so those that the value does not need are removed.
  SmallVector<Operation *> all;
  for (Operation &op : body.without_terminator())
    all.push_back(&op);
  for (Operation *op : llvm::reverse(all))
    if (op->use_empty())
      op->erase();
  std::vector<reference::Tensor> inputs;
  for (const Array &input : operands.inputs)
    inputs.push_back({input.shape, input.values});
  interpreter = std::make_unique<reference::Interpreter>(copy, std::move(inputs));
  resultShape = interpreter->resultShape();
}

llvm::Expected<std::vector<double>> TensorValues::row(const std::vector<int64_t> &leading) {
  auto found = known.find(leading);
  if (found != known.end())
    return found->second;
  using Row = reference::OrError<std::vector<double>>;
  Row values = interpreter ? interpreter->row(leading) : Row(reference::Error{"it is not interpreted"});
  if (!values)
    return llvm::createStringError(std::errc::invalid_argument, "the reference cannot judge it: %s",
                                   values.reason.c_str());
  return known[leading] = std::move(*values);
}

} // namespace skewer::driver
