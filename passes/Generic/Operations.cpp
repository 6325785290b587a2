// Emits einsums, softmaxes, concatenations and arithmetic as loops over buffers. Part of the class Kernel.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Emit/LogSum.h"
#include "passes/Generic/Kernel.h"
#include "passes/Stages/PrefixSum.h"

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

Contraction Kernel::contractionOf(const attn::ResolvedEinsum &resolved, const std::map<std::string, Extent> &extents) {
  Contraction contraction;
  contraction.parallel = axesOf(*resolved.spec.result, extents);
  for (const std::string &axis : resolved.contracted)
    contraction.contracted.push_back({axis, extents.at(axis)});
  contraction.targetSubscripts = flatIndices(*resolved.spec.result, resolved.sizes);
  return contraction;
}

bool Kernel::emitEinsum(attn::EinsumOp op) {
  attn::ResolvedEinsum resolved = resolve(op);
  auto extents = tensors.extentsOf(op, resolved);
  if (!resolved.spec.result || !extents)
    return fail(op, "a run-time size is no operand's dimension");
  Contraction contraction = contractionOf(resolved, *extents);
  elements.setDomain(*extents);
  for (auto [operand, subscripts] : llvm::zip(op.getInputs(), resolved.subscripts))
    contraction.factors.push_back(
        {&tensors.storage[operand], subscripts, tensors.isStored(operand) ? Value() : operand});
  contraction.guard = resolved.guard;
  contraction.target = &tensors.storage[op.getResult()];
  Symbols symbols;
  code.addRuntimeSizes(*extents, symbols);
  code.addRuntimeSymbols(symbols);
  if (auto sum = prefixSumOf(op)) {
    contractions.prefixSums(std::move(contraction), *sum, symbols);
    return true;
  }
  contractions.turnToOperands(contraction);
  std::vector<Axis> axes = std::move(contraction.parallel);
  // The innermost axis is not divided into items, since vectors run along it.
  code.items(axes, axes.size() > 1 ? axes.size() - 1 : axes.size(), symbols, [&](ArrayRef<Axis> rest) {
    contraction.parallel = rest;
    contractions.contract(contraction, symbols);
  });
  return true;
}

bool Kernel::emitConcat(const Stage &stage, attn::ConcatOp op) {
  size_t along = op.getDimension();
  const std::string begin = "begin of the part"; // no parsed name has a space
  std::vector<Extent> before;
  for (Value operand : op.getInputs()) {
    beginPhase(stage, "concatenate"); // each part has its own items
    const Storage &input = tensors.storage[operand], &result = tensors.storage[op.getResult()];
    std::vector<Axis> axes;
    std::vector<Expr> from, to;
    for (size_t d = 0; d < input.shape.size(); ++d) {
      axes.push_back({"d" + std::to_string(d), input.shape[d]});
      from.push_back(Expr::symbol(axes.back().name));
      to.push_back(d == along ? from.back() + Expr::symbol(begin) : from.back());
    }
    Symbols symbols;
    Value done = code.index(0);
    for (const Extent &one : before)
      done = b.createOrFold<arith::AddIOp>(done, code.extent(one));
    symbols[begin] = done;
    code.items(axes, axes.size() - 1, symbols, [&](ArrayRef<Axis> rest) {
      code.loops(rest, symbols, [&] {
        Value element = code.load(input, code.position(input, from, symbols));
        if (result.mayBeAbsent && !input.mayBeAbsent)
          element = code.present(element);
        code.store(element, result, code.position(result, to, symbols));
      });
    });
    before.push_back(input.shape[along]);
  }
  return true;
}

/// The rows of a softmax or a logsumexp: the outer axes, the axes along a row, and the subscripts of an element.
struct Kernel::Rows {
  std::vector<Axis> outer, inner;
  std::vector<Expr> subscripts, row; // of the input; of results with one number for each row
  std::optional<Expr> mask;
  Symbols symbols;
};

std::optional<Kernel::Rows> Kernel::rowsOf(Operation *op) {
  attn::RowReduction described = *attn::rowReductionOf(op);
  auto dimensions = subscript::parseDimensions(std::string_view(described.axes));
  auto over = subscript::parseDimensions(std::string_view(described.over));
  Rows rows;
  if (described.mask)
    rows.mask = subscript::parse(std::string_view(*described.mask));
  if (!dimensions || !over || (described.mask && !rows.mask))
    return fail(op, "the text does not parse"), std::nullopt;
  attn::ResolvedEinsum resolved;
  resolved.spec.operands = {*dimensions};
  auto sizes =
      subscript::resolveSizes(resolved.spec, {attn::shapeOf(described.input)}, attn::sizesFrom(described.sizes));
  if (!sizes)
    return fail(op, "the sizes do not resolve"), std::nullopt;
  resolved.sizes = *sizes;
  auto extents = tensors.extentsOf(op, resolved);
  if (!extents)
    return fail(op, "a run-time size is no dimension of its own"), std::nullopt;
  rows.inner = axesOf(*over, *extents);
  auto isInner = [&](const std::string &name) {
    return llvm::any_of(rows.inner, [&](const Axis &other) { return other.name == name; });
  };
  for (const Axis &axis : axesOf(*dimensions, *extents))
    if (!isInner(axis.name))
      rows.outer.push_back(axis);
  rows.subscripts = flatIndices(*dimensions, *sizes);
  for (auto [dimension, index] : llvm::zip(*dimensions, rows.subscripts))
    if (dimension.axes.empty() || !isInner(dimension.axes.front()))
      rows.row.push_back(index);
  code.addRuntimeSizes(*extents, rows.symbols);
  return rows;
}

bool Kernel::emitLogSumExp(attn::LogSumExpOp op) {
  const Storage &input = tensors.storage[op.getInput()], &result = tensors.storage[op.getResult()];
  auto rows = rowsOf(op);
  if (!rows)
    return false;
  Symbols &symbols = rows->symbols;
  code.items(rows->outer, rows->outer.size(), symbols, [&](ArrayRef<Axis> rest) {
    code.loops(rest, symbols, [&] {
      auto visible = [&](Value otherwise, const std::function<Value()> &body) {
        return rows->mask ? code.guarded(code.predicate(*rows->mask, symbols), otherwise, body) : body();
      };
      auto read = [&] { return code.load(input, code.position(input, rows->subscripts, symbols)); };
      // The maximum ignores a NaN, but the sum does not.
      Value largest = code.carry(rows->inner, symbols, code.real(-INFINITY), [&](ValueRange so) -> SmallVector<Value> {
        return {visible(so[0], [&]() -> Value { return arith::MaxNumFOp::create(b, so[0], read()); })};
      })[0];
      Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, code.real(-INFINITY));
      Value reference = arith::SelectOp::create(b, none, code.real(0), largest);
      Value sum = code.sums(rows->inner, symbols, code.real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
        Value one = visible(code.real(0), [&]() -> Value {
          return math::ExpOp::create(b, arith::SubFOp::create(b, read(), reference));
        });
        return {arith::AddFOp::create(b, so[0], one)};
      })[0];
      Value total = arith::AddFOp::create(b, reference, math::LogOp::create(b, sum));
      code.store(logSumExp(b, largest, total), result, code.position(result, rows->row, symbols));
    });
  });
  return true;
}

bool Kernel::emitSoftmax(attn::SoftmaxOp op) {
  const Storage &input = tensors.storage[op.getInput()], &result = tensors.storage[op.getResult()];
  auto rows = rowsOf(op);
  if (!rows)
    return false;
  const std::vector<Axis> &inner = rows->inner;
  const std::vector<Expr> &subscripts = rows->subscripts;
  const std::optional<Expr> &mask = rows->mask;
  Symbols &symbols = rows->symbols;
  code.items(rows->outer, rows->outer.size(), symbols, [&](ArrayRef<Axis> rest) {
    code.loops(rest, symbols, [&] {
      if (emitSoftmaxRow({input, result, inner, subscripts, mask, symbols}))
        return;
      auto visible = [&](Value otherwise, const std::function<Value()> &body) {
        return mask ? code.guarded(code.predicate(*mask, symbols), otherwise, body) : body();
      };
      auto read = [&] { return code.load(input, code.position(input, subscripts, symbols)); };
      // The maximum ignores a NaN, but the sum does not, so the whole row becomes NaN.
      Value largest = code.carry(inner, symbols, code.real(-INFINITY), [&](ValueRange so) -> SmallVector<Value> {
        return {visible(so[0], [&]() -> Value { return arith::MaxNumFOp::create(b, so[0], read()); })};
      })[0];
      Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, code.real(-INFINITY));
      largest = arith::SelectOp::create(b, none, code.real(0), largest);
      auto power = [&] {
        return visible(code.real(0),
                       [&]() -> Value { return math::ExpOp::create(b, arith::SubFOp::create(b, read(), largest)); });
      };
      bool keep = result.element.isF32(); // in a narrow result, the sum or the division would use the rounded power
      Value sum = code.sums(inner, symbols, code.real(0), 1, [&](ValueRange so) -> SmallVector<Value> {
        Value one = power();
        if (keep)
          code.store(one, result, code.position(result, subscripts, symbols));
        return {arith::AddFOp::create(b, so[0], one)};
      })[0];
      // The power of the largest element is 1. So only a row without visible elements, or with only -inf, has the sum
      // 0.
      Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, code.real(0));
      Value divisor = arith::SelectOp::create(b, empty, code.real(1), sum);
      code.loops(inner, symbols, [&] {
        Value place = code.position(result, subscripts, symbols);
        Value one = keep ? code.load(result, place) : power();
        // A hidden key has no weight even if the row is NaN.
        Value weight = arith::DivFOp::create(b, one, divisor);
        if (mask)
          weight = arith::SelectOp::create(b, code.predicate(*mask, symbols), weight,
                                           result.mayBeAbsent ? code.absent() : code.real(0));
        code.store(weight, result, place);
      });
    });
  });
  return true;
}

bool Kernel::emitElementwise(const Stage &stage) {
  Operation *op = stage.result.getDefiningOp();
  bool onlyMoves = isMap(op) && llvm::all_of(stage.folded, isMap);
  beginPhase(stage, onlyMoves ? "move" : "elementwise");
  Storage target = tensors.storage[stage.result];
  std::vector<Axis> axes;
  Point point;
  Symbols symbols;
  elements.domain.clear();
  for (size_t d = 0; d < target.shape.size(); ++d) {
    axes.push_back({"d" + std::to_string(d), target.shape[d]});
    point.push_back(Expr::symbol(axes.back().name));
    if (auto most = plan.boundOf(target.shape[d]))
      elements.domain[axes.back().name] = {0, *most - 1};
  }
  code.addRuntimeSymbols(symbols);
  bool good = true;
  auto put = [&](const std::string &vectorAxis) {
    elements.computed.clear();
    Value value = elements.produce(op, point, symbols, vectorAxis);
    good &= static_cast<bool>(value);
    if (value)
      code.store(value, target, code.position(target, point, symbols));
  };
  code.items(axes, axes.empty() ? 0 : axes.size() - 1, symbols, [&](ArrayRef<Axis> rest) {
    if (rest.empty())
      return put("");
    const Axis &inner = rest.back();
    bool vector =
        inner.extent.name.empty() && inner.extent.fixed >= kLanes && elements.vectorises(op, point, inner.name);
    code.loops(rest.drop_back(), symbols, [&] {
      auto run = [&](Value low, Value high, int64_t by) {
        code.loop(low, high, by, [&](Value at) {
          symbols[inner.name] = at;
          put(by == 1 ? "" : inner.name);
        });
      };
      int64_t whole = vector ? inner.extent.fixed / kLanes * kLanes : 0;
      if (whole)
        run(code.index(0), code.index(whole), kLanes);
      if (!vector || whole < inner.extent.fixed)
        run(code.index(whole), code.extent(inner.extent), 1);
    });
  });
  return good;
}
