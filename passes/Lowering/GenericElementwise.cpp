// Arithmetic and index maps, element by element: one loop for all that a stage computes, no buffer in between.
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Lowering/GenericKernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

static bool isConversion(Operation *op) { return isa<arith::ExtFOp, arith::TruncFOp>(op); }
static bool isArithmetic(Operation *op) {
  return isConversion(op) ||
         (op->hasTrait<OpTrait::Elementwise>() && op->hasTrait<OpTrait::SameOperandsAndResultType>() &&
          isa<arith::ArithDialect, math::MathDialect>(op->getDialect()));
}

/// The symbol of a run-time size inside subscripts that were composed of several maps'.
static std::string symbolOf(const Extent &extent) { return "extent of " + extent.name; }

std::optional<std::pair<Kernel::Point, Expr>> Kernel::mapped(attn::IndexMapOpInterface op, const Point &point) {
  attn::IndexMap map = op.getIndexMap();
  if (map.subscripts.size() != storage[op.getMappedOperand()].shape.size())
    return std::nullopt;
  subscript::Substitution substitution;
  for (size_t d = 0; d < point.size(); ++d)
    substitution["d" + std::to_string(d)] = point[d];
  if (auto rearrange = dyn_cast<attn::RearrangeOp>(op.getOperation()))
    if (auto resolved = attn::resolve(rearrange.getSpec(), rearrange->getOperands(), rearrange.getSizesAttr(), {}))
      if (auto extents = extentsOf(*resolved, rearrange->getOperands()))
        for (const auto &[axis, size] : *extents)
          if (!size.name.empty())
            substitution["size_" + axis] = Expr::symbol(symbolOf(size));
  Point from;
  for (const Expr &subscript : map.subscripts)
    from.push_back(subscript::simplify(subscript::substitute(subscript, substitution), domain));
  return std::make_pair(std::move(from), subscript::simplify(subscript::substitute(map.inside, substitution), domain));
}

std::optional<Expr> Kernel::positionAt(attn::PositionOp op, const Point &point) {
  auto dimensions = subscript::parseDimensions(std::string_view(op.getAxes()));
  auto expression = subscript::parse(std::string_view(op.getExpression()));
  if (!dimensions || !expression)
    return std::nullopt;
  subscript::Einsum spec;
  spec.operands = {*dimensions};
  auto sizes = subscript::resolveSizes(spec, {attn::shapeOf(op.getResult())}, attn::sizesFrom(op.getSizesAttr()));
  if (!sizes)
    return std::nullopt;
  subscript::Substitution substitution;
  for (size_t d = 0; d < dimensions->size() && d < point.size(); ++d) {
    Expr rest = point[d];
    const std::vector<std::string> &axes = (*dimensions)[d].axes;
    for (size_t k = axes.size(); k-- > 0;) {
      int64_t size = sizes->at(axes[k]);
      if (size == subscript::kRuntime && axes.size() > 1)
        return std::nullopt;
      substitution[axes[k]] = k == 0 ? rest : subscript::mod(rest, Expr(size));
      if (k > 0)
        rest = subscript::floorDiv(rest, Expr(size));
    }
  }
  return subscript::simplify(subscript::substitute(*expression, substitution), domain);
}

static bool moves(const Expr &expression, const std::string &axis) {
  return subscript::symbolsOf(expression).count(axis) != 0;
}

bool Kernel::vectorises(Value tensor, const Point &point, const std::string &axis) {
  if (!isStored(tensor))
    return vectorises(tensor.getDefiningOp(), point, axis);
  return step(storage[tensor], point, axis).has_value();
}

bool Kernel::vectorises(Operation *op, const Point &point, const std::string &axis) {
  if (auto map = dyn_cast<attn::IndexMapOpInterface>(op)) {
    auto from = mapped(map, point);
    return from && !moves(from->second, axis) && vectorises(map.getMappedOperand(), from->first, axis);
  }
  if (auto position = dyn_cast<attn::PositionOp>(op)) {
    auto expression = positionAt(position, point);
    return expression && !moves(*expression, axis);
  }
  return isArithmetic(op) && op->hasTrait<OpTrait::Vectorizable>() &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return vectorises(operand, point, axis); });
}

Value Kernel::element(Value tensor, const Point &point, const Symbols &symbols, const std::string &vectorAxis) {
  const Storage &described = storage[tensor];
  bool vector = !vectorAxis.empty();
  if (described.number)
    return real(*described.number, vector);
  for (const auto &[known, where, value] : computed)
    if (known == tensor && where == point)
      return value;
  Value value;
  if (isStored(tensor)) {
    bool wide = vector && step(described, point, vectorAxis) == 1;
    value = load(described, position(described, point, symbols), wide);
    if (vector && !wide)
      value = spread(value);
  } else {
    value = produce(tensor.getDefiningOp(), point, symbols, vectorAxis);
  }
  if (value)
    computed.push_back({tensor, point, value});
  return value;
}

Value Kernel::produce(Operation *op, const Point &point, const Symbols &symbols, const std::string &vectorAxis) {
  bool vector = !vectorAxis.empty();
  if (auto map = dyn_cast<attn::IndexMapOpInterface>(op)) {
    auto from = mapped(map, point);
    if (!from)
      return fail(op, "the operation has no index map"), Value();
    auto read = [&] { return element(map.getMappedOperand(), from->first, symbols, vectorAxis); };
    if (from->second.isConstant(1))
      return read();
    bool good = true;
    Value padding = real(map.getIndexMap().padding, vector);
    Value result = guarded(predicate(from->second, symbols), padding, [&] {
      size_t before = computed.size(); // what is computed in a branch is not at hand behind it
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
    Value integer = arith::IndexCastOp::create(b, b.getI64Type(), value(*expression, symbols));
    Value number = arith::SIToFPOp::create(b, b.getF32Type(), integer);
    return vector ? spread(number) : number;
  }
  if (!isArithmetic(op))
    return fail(op, "the generic path does not know this operation"), Value();
  return arithmetic(op, point, symbols, vectorAxis);
}

Value Kernel::arithmetic(Operation *op, const Point &point, const Symbols &symbols, const std::string &vectorAxis) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = element(operand, point, symbols, vectorAxis);
    if (!value)
      return {};
    operands.push_back(value);
  }
  if (isConversion(op)) // what goes to memory is rounded there
    return isStored(op->getResult(0)) ? operands[0] : widen(narrow(operands[0], storage[op->getResult(0)].element));
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(operands[0].getType());
  state.addAttributes(op->getAttrs());
  Value result = b.create(state)->getResult(0);
  // A weight that a mask took away stays 0, whatever it is scaled by.
  if (isa<arith::MulFOp, arith::DivFOp>(op))
    for (auto [operand, value] : llvm::zip(op->getOperands(), operands))
      if (storage[operand].masked && (isa<arith::MulFOp>(op) || operand == op->getOperand(0))) {
        Value zero = real(0, !vectorAxis.empty());
        Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, value, zero);
        result = arith::SelectOp::create(b, none, zero, result);
      }
  return result;
}

bool Kernel::emitElementwise(const Stage &stage) {
  Operation *op = stage.result.getDefiningOp();
  // Else an argument or a number is copied.
  bool computes = op && !isa<attn::ReshapeOp, arith::ConstantOp, tensor::SplatOp>(op);
  auto isMap = [](Operation *folded) { return isa<attn::IndexMapOpInterface>(folded); };
  bool onlyMoves = !computes || (isMap(op) && llvm::all_of(stage.folded, isMap));
  beginPhase(stage, onlyMoves ? "move" : "elementwise");
  Storage target = storage[stage.result];
  if (!computes) {
    target.memory = phase.output;
    target.shape = plan.output.shape;
  }
  std::vector<Axis> axes;
  Point point;
  Symbols symbols;
  domain.clear();
  for (size_t d = 0; d < target.shape.size(); ++d) {
    axes.push_back({"d" + std::to_string(d), target.shape[d]});
    point.push_back(Expr::symbol(axes.back().name));
    if (target.shape[d].name.empty())
      domain[axes.back().name] = {0, target.shape[d].fixed - 1};
  }
  for (const auto &[name, size] : sizes)
    symbols[symbolOf({name, 1})] = size;
  bool good = true;
  auto put = [&](const std::string &vectorAxis) {
    computed.clear();
    Value value =
        computes ? produce(op, point, symbols, vectorAxis) : element(stage.result, point, symbols, vectorAxis);
    good &= static_cast<bool>(value);
    if (value)
      store(value, target, position(target, point, symbols));
  };
  items(axes, axes.empty() ? 0 : axes.size() - 1, symbols, [&](ArrayRef<Axis> rest) {
    if (rest.empty())
      return put("");
    const Axis &inner = rest.back();
    bool vector = inner.extent.name.empty() && inner.extent.fixed >= kLanes &&
                  (computes ? vectorises(op, point, inner.name) : vectorises(stage.result, point, inner.name));
    loops(rest.drop_back(), symbols, [&] {
      auto run = [&](Value low, Value high, int64_t by) {
        loop(low, high, by, [&](Value at) {
          symbols[inner.name] = at;
          put(by == 1 ? "" : inner.name);
        });
      };
      int64_t whole = vector ? inner.extent.fixed / kLanes * kLanes : 0;
      if (whole)
        run(index(0), index(whole), kLanes);
      if (!vector || whole < inner.extent.fixed)
        run(index(whole), extent(inner.extent), 1);
    });
  });
  return good;
}
