// Operations of the attn dialect as loops over buffers.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lowering/GenericKernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

static std::vector<Axis> axesOf(const subscript::Dimensions &dimensions, const std::map<std::string, Extent> &extents) {
  std::vector<Axis> axes;
  for (const subscript::Dimension &dimension : dimensions)
    for (const std::string &axis : dimension.axes)
      axes.push_back({axis, extents.at(axis)});
  return axes;
}

static std::vector<Expr> flatIndices(const subscript::Dimensions &dimensions, const subscript::AxisSizes &sizes) {
  std::vector<Expr> indices;
  for (const subscript::Dimension &dimension : dimensions)
    indices.push_back(subscript::flatIndex(dimension, sizes));
  return indices;
}

bool Kernel::emitEinsum(attn::EinsumOp op) {
  attn::ResolvedEinsum resolved = resolve(op);
  auto extents = extentsOf(resolved, op.getInputs());
  if (!resolved.spec.result || !extents)
    return fail(op, "a run-time size is no operand's dimension");
  Contraction contraction;
  for (auto [operand, subscripts] : llvm::zip(op.getInputs(), resolved.subscripts))
    contraction.factors.push_back({&storage[operand], subscripts});
  contraction.parallel = axesOf(*resolved.spec.result, *extents);
  for (const std::string &axis : resolved.contracted)
    contraction.contracted.push_back({axis, extents->at(axis)});
  contraction.guard = resolved.guard;
  contraction.target = &storage[op.getResult()];
  contraction.targetSubscripts = flatIndices(*resolved.spec.result, resolved.sizes);
  Symbols symbols;
  addRuntimeSizes(*extents, symbols);
  contract(contraction, symbols);
  return true;
}

bool Kernel::emitIndexMap(attn::IndexMapOpInterface op) {
  const Storage &input = storage[op.getMappedOperand()], &result = storage[op->getResult(0)];
  attn::IndexMap map = op.getIndexMap();
  if (map.subscripts.size() != input.shape.size())
    return fail(op, "the operation has no index map");
  Contraction move;
  move.factors = {{&input, map.subscripts}};
  move.target = &result;
  for (size_t d = 0; d < result.shape.size(); ++d) {
    std::string name = "d" + std::to_string(d);
    move.parallel.push_back({name, result.shape[d]});
    move.targetSubscripts.push_back(Expr::symbol(name));
  }
  Symbols symbols;
  if (auto rearrange = dyn_cast<attn::RearrangeOp>(op.getOperation()))
    if (auto resolved = attn::resolve(rearrange.getSpec(), rearrange->getOperands(), rearrange.getSizesAttr(), {}))
      if (auto extents = extentsOf(*resolved, rearrange->getOperands()))
        addRuntimeSizes(*extents, symbols);
  loops(move.parallel, symbols, [&] {
    auto read = [&]() -> Value { return load(input, position(input, map.subscripts, symbols)); };
    Value element =
        map.inside.isConstant(1) ? read() : guarded(predicate(map.inside, symbols), real(map.padding), read);
    store(element, result, position(result, move.targetSubscripts, symbols));
  });
  return true;
}

bool Kernel::emitPosition(attn::PositionOp op) {
  const Storage &result = storage[op.getResult()];
  auto dimensions = subscript::parseDimensions(std::string_view(op.getAxes()));
  auto expression = subscript::parse(std::string_view(op.getExpression()));
  if (!dimensions || !expression)
    return fail(op, "the text does not parse");
  subscript::Einsum spec;
  spec.operands = {*dimensions};
  auto sizes = subscript::resolveSizes(spec, {attn::shapeOf(op.getResult())}, attn::sizesFrom(op.getSizesAttr()));
  if (!sizes)
    return fail(op, "the sizes do not resolve");
  std::map<std::string, Extent> extents;
  for (const auto &[axis, size] : *sizes)
    if (size != subscript::kRuntime)
      extents[axis] = {"", size};
  for (const std::string &axis : spec.axes())
    if (!extents.count(axis))
      return fail(op, "a position along a run-time size is not lowered");
  Symbols symbols;
  std::vector<Expr> target = flatIndices(*dimensions, *sizes);
  loops(axesOf(*dimensions, extents), symbols, [&] {
    Value integer = arith::IndexCastOp::create(b, b.getI64Type(), value(*expression, symbols));
    Value number = arith::SIToFPOp::create(b, b.getF32Type(), integer);
    store(number, result, position(result, target, symbols));
  });
  return true;
}

bool Kernel::emitSoftmax(attn::SoftmaxOp op) {
  const Storage &input = storage[op.getInput()], &result = storage[op.getResult()];
  auto dimensions = subscript::parseDimensions(std::string_view(op.getAxes()));
  auto over = subscript::parseDimensions(std::string_view(op.getOver()));
  subscript::ParseError why;
  std::optional<Expr> mask;
  if (op.getMask())
    mask = subscript::parse(std::string_view(*op.getMask()), &why);
  if (!dimensions || !over || (op.getMask() && !mask))
    return fail(op, "the text does not parse");
  attn::ResolvedEinsum resolved;
  resolved.spec.operands = {*dimensions};
  auto sizes =
      subscript::resolveSizes(resolved.spec, {attn::shapeOf(op.getInput())}, attn::sizesFrom(op.getSizesAttr()));
  if (!sizes)
    return fail(op, "the sizes do not resolve");
  resolved.sizes = *sizes;
  auto extents = extentsOf(resolved, op->getOperands());
  if (!extents)
    return fail(op, "a run-time size is no dimension of its own");
  std::vector<Axis> outer, inner = axesOf(*over, *extents);
  for (const Axis &axis : axesOf(*dimensions, *extents))
    if (llvm::none_of(inner, [&](const Axis &other) { return other.name == axis.name; }))
      outer.push_back(axis);
  std::vector<Expr> subscripts = flatIndices(*dimensions, *sizes);
  Symbols symbols;
  addRuntimeSizes(*extents, symbols);
  loops(outer, symbols, [&] {
    auto visible = [&](Value otherwise, const std::function<Value()> &body) {
      return mask ? guarded(predicate(*mask, symbols), otherwise, body) : body();
    };
    auto read = [&] { return load(input, position(input, subscripts, symbols)); };
    // A NaN passes the maximum by and reaches the sum, and so the whole row.
    Value largest = carry(inner, symbols, real(-INFINITY), [&](ValueRange so) -> SmallVector<Value> {
      return {visible(so[0], [&]() -> Value { return arith::MaxNumFOp::create(b, so[0], read()); })};
    })[0];
    auto power = [&] {
      return visible(real(0),
                     [&]() -> Value { return math::ExpOp::create(b, arith::SubFOp::create(b, read(), largest)); });
    };
    bool keep = result.element.isF32(); // else the rounded power would be summed, or read back
    Value sum = carry(inner, symbols, real(0), [&](ValueRange so) -> SmallVector<Value> {
      Value one = power();
      if (keep)
        store(one, result, position(result, subscripts, symbols));
      return {arith::AddFOp::create(b, so[0], one)};
    })[0];
    // Only a row without a visible element sums to 0, as the largest one has power 1.
    Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, real(0));
    Value divisor = arith::SelectOp::create(b, empty, real(1), sum);
    loops(inner, symbols, [&] {
      Value place = position(result, subscripts, symbols);
      Value one = keep ? load(result, place) : power();
      // A masked weight is 0 also where the row is NaN.
      Value weight = arith::DivFOp::create(b, one, divisor);
      if (mask)
        weight = arith::SelectOp::create(b, predicate(*mask, symbols), weight, real(0));
      store(weight, result, place);
    });
  });
  return true;
}
