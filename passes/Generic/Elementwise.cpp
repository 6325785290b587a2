// Emits arithmetic and index maps element by element: one loop for all operations of a stage, without buffers between
// them.
#include "dialect/IR/ElementFunction.h"
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Generic/Elements.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <functional>

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

static bool isConversion(Operation *op) { return isWidening(op) || isa<arith::TruncFOp>(op); }

bool generic::keepsAbsence(Operation *op) {
  return isConversion(op) ||
         isa<arith::DivFOp, arith::NegFOp, arith::SIToFPOp, math::SqrtOp, math::AbsFOp, math::TanhOp, math::SinOp,
             math::ErfOp, math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp>(op);
}

std::optional<subscript::Substitution> Elements::axesAt(const subscript::Dimensions &dimensions,
                                                        const subscript::AxisSizes &sizes, const Point &point) {
  subscript::Substitution axesOfPoint;
  for (size_t d = 0; d < dimensions.size() && d < point.size(); ++d) {
    Expr rest = point[d];
    const std::vector<std::string> &axes = dimensions[d].axes;
    for (size_t k = axes.size(); k-- > 0;) {
      int64_t size = sizes.at(axes[k]);
      if (size == subscript::kRuntime && axes.size() > 1)
        return std::nullopt;
      axesOfPoint[axes[k]] = k == 0 ? rest : subscript::mod(rest, Expr(size));
      if (k > 0)
        rest = subscript::floorDiv(rest, Expr(size));
    }
  }
  return axesOfPoint;
}

std::optional<Elements::Moved> Elements::moved(Operation *op, const Point &point) {
  Moved result;
  std::vector<std::pair<Value, std::vector<Expr>>> reads;
  subscript::Substitution substitution;
  auto addSizes = [&](const attn::ResolvedEinsum &resolved) {
    if (auto extents = tensors.extentsOf(op, resolved))
      for (const auto &[axis, size] : *extents)
        if (!size.name.empty())
          substitution["size_" + axis] = Expr::symbol(symbolOf(size));
  };
  if (auto map = dyn_cast<attn::IndexMapOpInterface>(op)) {
    attn::IndexMap said = map.getIndexMap();
    result.inside = said.inside;
    result.padding = said.padding;
    reads = {{map.getMappedOperand(), said.subscripts}};
    for (size_t d = 0; d < point.size(); ++d)
      substitution["d" + std::to_string(d)] = point[d];
    if (auto rearrange = dyn_cast<attn::RearrangeOp>(op))
      if (auto resolved = attn::resolve(rearrange.getSpec(), rearrange->getOperands(), rearrange.getSizesAttr(), {}))
        addSizes(*resolved);
  } else if (isProduct(op)) {
    auto product = cast<attn::EinsumOp>(op);
    attn::ResolvedEinsum resolved = resolve(product);
    auto axes = resolved.spec.result ? axesAt(*resolved.spec.result, resolved.sizes, point) : std::nullopt;
    if (!axes)
      return std::nullopt;
    for (auto [operand, subscripts] : llvm::zip(product.getInputs(), resolved.subscripts))
      reads.push_back({operand, subscripts});
    result.inside = resolved.guard.value_or(Expr(1));
    substitution = std::move(*axes);
    addSizes(resolved);
  }
  if (reads.empty())
    return std::nullopt;
  for (const auto &[operand, subscripts] : reads) {
    if (subscripts.size() != tensors.storage[operand].shape.size())
      return std::nullopt;
    Point from;
    for (const Expr &subscript : subscripts)
      from.push_back(subscript::simplify(subscript::substitute(subscript, substitution), domain));
    result.reads.push_back({operand, std::move(from)});
  }
  result.inside = subscript::simplify(subscript::substitute(result.inside, substitution), domain);
  return result;
}

std::optional<Expr> Elements::positionAt(attn::PositionOp op, const Point &point) {
  auto dimensions = subscript::parseDimensions(std::string_view(op.getAxes()));
  auto expression = subscript::parse(std::string_view(op.getExpression()));
  if (!dimensions || !expression)
    return std::nullopt;
  subscript::Einsum spec;
  spec.operands = {*dimensions};
  auto sizes = subscript::resolveSizes(spec, {attn::shapeOf(op.getResult())}, attn::sizesFrom(op.getSizesAttr()));
  auto axes = sizes ? axesAt(*dimensions, *sizes, point) : std::nullopt;
  if (!axes)
    return std::nullopt;
  return subscript::simplify(subscript::substitute(*expression, *axes), domain);
}

static bool moves(const Expr &expression, const std::string &axis) {
  return subscript::symbolsOf(expression).count(axis) != 0;
}

bool Elements::isFirstVisit(Visited &visited, Value tensor, const Point &point) {
  if (llvm::is_contained(visited, std::pair(tensor, point)))
    return false;
  visited.push_back({tensor, point});
  return true;
}

bool Elements::vectorises(Value tensor, const Point &point, const std::string &axis) {
  Visited visited;
  return vectorises(tensor, point, axis, visited);
}

bool Elements::vectorises(Operation *op, const Point &point, const std::string &axis) {
  Visited visited;
  return vectorises(op, point, axis, visited);
}

bool Elements::vectorises(Value tensor, const Point &point, const std::string &axis, Visited &visited) {
  if (!tensors.isStored(tensor)) // the first "no" ends the walk, so an element that was met before said yes
    return !isFirstVisit(visited, tensor, point) || vectorises(tensor.getDefiningOp(), point, axis, visited);
  return pinned ? lanePattern(tensors.storage[tensor], point, axis).has_value()
                : step(tensors.storage[tensor], point, axis).has_value();
}

bool Elements::vectorises(Operation *op, const Point &point, const std::string &axis, Visited &visited) {
  if (isMap(op)) {
    auto move = moved(op, point);
    return move && !moves(move->inside, axis) && llvm::all_of(move->reads, [&](const auto &read) {
             return vectorises(read.first, read.second, axis, visited);
           });
  }
  if (auto position = dyn_cast<attn::PositionOp>(op)) {
    auto expression = positionAt(position, point);
    return expression && !moves(*expression, axis);
  }
  return isArithmetic(op) && op->hasTrait<OpTrait::Vectorizable>() &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return vectorises(operand, point, axis, visited); });
}

Value Elements::element(Value tensor, const Point &point, const Symbols &symbols, const std::string &vectorAxis) {
  const Storage &described = tensors.storage[tensor];
  bool vector = !vectorAxis.empty();
  if (described.number)
    return code.real(*described.number, vector);
  for (const auto &[known, where, value] : computed)
    if (known == tensor && where == point)
      return value;
  Value value;
  if (tensors.isStored(tensor) && vector && pinned) {
    value =
        loadPattern(described, code.position(described, point, symbols), *lanePattern(described, point, vectorAxis));
  } else if (tensors.isStored(tensor)) {
    bool wide = vector && step(described, point, vectorAxis) == 1;
    value = code.load(described, code.position(described, point, symbols), wide);
    if (vector && !wide)
      value = code.spread(value);
  } else {
    value = produce(tensor.getDefiningOp(), point, symbols, vectorAxis);
  }
  if (value)
    computed.push_back({tensor, point, value});
  return value;
}

Value Elements::produce(Operation *op, const Point &point, const Symbols &symbols, const std::string &vectorAxis) {
  bool vector = !vectorAxis.empty();
  if (isMap(op)) {
    auto move = moved(op, point);
    if (!move)
      return fail(op, "the operation has no index map"), Value();
    bool marks = tensors.storage[op->getResult(0)].mayBeAbsent;
    auto read = [&] {
      Value result, absence;
      for (const auto &[operand, from] : move->reads) {
        if (tensors.storage[operand].number == 1.0 && move->reads.size() > 1)
          continue;
        Value factor = element(operand, from, symbols, vectorAxis);
        if (!factor)
          return Value();
        if (move->reads.size() > 1 && tensors.storage[operand].mayBeAbsent) {
          Value none = code.isAbsent(factor);
          absence = absence ? arith::OrIOp::create(b, absence, none).getResult() : none;
        }
        result = result ? arith::MulFOp::create(b, result, factor).getResult() : factor;
      }
      if (!result)
        return code.real(1, vector);
      if (marks && !(move->reads.size() == 1 && tensors.storage[move->reads[0].first].mayBeAbsent))
        result = code.present(result);
      if (!absence)
        return result;
      Value instead = marks ? code.absent(vector) : code.real(0, vector);
      return arith::SelectOp::create(b, absence, instead, result).getResult();
    };
    if (move->inside.isConstant(1))
      return read();
    bool good = true;
    bool isPadded = isa<attn::IndexMapOpInterface>(op);
    Value padding = marks && !isPadded ? code.absent(vector) : code.real(move->padding + 0.0, vector);
    Value result = code.guarded(code.predicate(move->inside, symbols), padding, [&] {
      size_t before = computed.size(); // elements that are computed in a branch cannot be used behind it
      Value inside = read();
      computed.resize(before);
      good = static_cast<bool>(inside);
      return good ? inside : padding;
    });
    return good ? result : Value();
  }
  if (auto position = dyn_cast<attn::PositionOp>(op)) {
    auto expression = positionAt(position, point);
    if (!expression)
      return fail(op, "a product of axes with a run-time size has no position"), Value();
    Value integer = arith::IndexCastOp::create(b, b.getI64Type(), code.value(*expression, symbols));
    Value number = arith::SIToFPOp::create(b, b.getF32Type(), integer);
    return vector ? code.spread(number) : number;
  }
  if (!isArithmetic(op))
    return fail(op, "the generic path does not know this operation"), Value();
  return arithmetic(op, point, symbols, vectorAxis);
}

bool Elements::dependsOnPosition(Value tensor) {
  llvm::SmallPtrSet<Operation *, 16> visited;
  std::function<bool(Value)> depends = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || tensors.isStored(value) || !visited.insert(op).second)
      return false;
    return isa<attn::PositionOp>(op) || ((isMap(op) || isArithmetic(op)) && llvm::any_of(op->getOperands(), depends));
  };
  return depends(tensor);
}

Value Elements::precise(Value tensor, const Point &point, const Symbols &symbols, const std::string &vectorAxis) {
  Computed known;
  return precise(tensor, point, symbols, vectorAxis, known);
}

Value Elements::precise(Value tensor, const Point &point, const Symbols &symbols, const std::string &vectorAxis,
                        Computed &known) {
  for (const auto &[other, where, value] : known)
    if (other == tensor && where == point)
      return value;
  auto keep = [&](Value value) {
    known.push_back({tensor, point, value});
    return value;
  };
  Operation *op = tensor.getDefiningOp();
  auto widened = [&]() -> Value {
    Value value = element(tensor, point, symbols, vectorAxis);
    if (!value)
      return {};
    Type type = b.getF64Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = VectorType::get(vector.getShape(), type);
    return arith::ExtFOp::create(b, type, value);
  };
  if (!op || tensors.isStored(tensor))
    return widened();
  if (isMap(op)) {
    auto move = moved(op, point);
    if (!move || !move->inside.isConstant(1))
      return widened();
    Value product;
    for (const auto &[operand, from] : move->reads) {
      if (tensors.storage[operand].number == 1.0 && move->reads.size() > 1)
        continue;
      Value factor = precise(operand, from, symbols, vectorAxis, known);
      if (!factor)
        return {};
      product = product ? arith::MulFOp::create(b, product, factor).getResult() : factor;
    }
    return keep(product ? product : widened());
  }
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp>(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(precise(operand, point, symbols, vectorAxis, known));
      if (!operands.back())
        return {};
    }
    OperationState state(b.getLoc(), op->getName());
    state.addOperands(operands);
    state.addTypes(operands[0].getType());
    return keep(b.create(state)->getResult(0));
  }
  return widened();
}

Value Elements::arithmetic(Operation *op, const Point &point, const Symbols &symbols, const std::string &vectorAxis) {
  // A multiple of a position can be an angle of many turns, of which a rounding to f32 would leave only the rounding
  // error.
  if (isa<math::SinOp, math::CosOp>(op) && dependsOnPosition(op->getOperand(0))) {
    Value angle = precise(op->getOperand(0), point, symbols, vectorAxis);
    if (!angle)
      return {};
    OperationState state(b.getLoc(), op->getName());
    state.addOperands(angle);
    state.addTypes(angle.getType());
    Type type = vectorAxis.empty() ? Type(b.getF32Type()) : code.real(0, true).getType();
    Value result = arith::TruncFOp::create(b, type, b.create(state)->getResult(0));
    if (!tensors.storage[op->getResult(0)].mayBeAbsent)
      return result;
    Value operand = element(op->getOperand(0), point, symbols, vectorAxis);
    return operand ? marked(op, operand, result) : Value();
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = element(operand, point, symbols, vectorAxis);
    if (!value)
      return {};
    operands.push_back(value);
  }
  bool marks = tensors.storage[op->getResult(0)].mayBeAbsent;
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (tensors.storage[operand].mayBeAbsent && (!marks || (number > 0 && isa<arith::DivFOp>(op))))
      operands[number] = code.present(operands[number]);
  if (isConversion(op)) { // a stored result is rounded by the store
    Type element = tensors.storage[op->getResult(0)].element;
    return tensors.isStored(op->getResult(0)) ? operands[0]
                                              : marked(op, operands, code.widen(code.narrow(operands[0], element)));
  }
  if (auto apply = dyn_cast<attn::ApplyOp>(op))
    return attn::findElementFunction(op->getContext(), apply.getFunction())->emit(b, op->getLoc(), operands);
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(operands[0].getType());
  state.addAttributes(op->getAttrs());
  return marked(op, operands, b.create(state)->getResult(0));
}

Value Elements::marked(Operation *op, ValueRange operands, Value result) {
  if (!tensors.storage[op->getResult(0)].mayBeAbsent || isa<arith::AddFOp>(op)) // two marks add to the mark
    return result;
  Value absence;
  for (auto [operand, value] : llvm::zip(op->getOperands(), operands)) {
    if (!tensors.storage[operand].mayBeAbsent)
      continue;
    Value none = code.isAbsent(value);
    if (isa<arith::SubFOp>(op))
      absence = absence ? arith::AndIOp::create(b, absence, none).getResult() : none;
    else
      absence = absence ? arith::OrIOp::create(b, absence, none).getResult() : none;
    if (keepsAbsence(op)) // the first operand alone decides
      break;
  }
  Value mark = code.absent(isa<VectorType>(result.getType()));
  return arith::SelectOp::create(b, absence, mark, code.present(result));
}

Value Elements::finished(const Stage &stage, const Point &point, const Symbols &symbols, const std::string &vectorAxis,
                         Value made) {
  computed.clear();
  computed.push_back({stage.finishes->getResult(0), point, made});
  Value value = produce(stage.result.getDefiningOp(), point, symbols, vectorAxis);
  if (!value && code.failure.empty())
    code.failure = "what follows a matrix product or an attention cannot be computed";
  return value;
}

void Elements::setDomain(const std::map<std::string, Extent> &extents) {
  domain.clear();
  for (const auto &[axis, size] : extents)
    if (auto most = plan.boundOf(size))
      domain[axis] = {0, *most - 1};
}
