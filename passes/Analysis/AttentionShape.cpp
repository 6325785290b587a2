// Derives strides and classes from the subscripts of an attention. It knows index expressions, but no position schemes.
#include "dialect/IR/KernelPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Analysis/AttentionAnalyzer.h"
#include "passes/Analysis/ByteRows.h"
#include "passes/Analysis/LaneFit.h"
#include "passes/Analysis/Strides.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

Expr AttentionAnalyzer::flatten(ArrayRef<Expr> subscripts, Value operand) {
  return rowMajorIn(attn::extentsOf(operand), subscripts);
}

std::optional<SplitOffset> AttentionAnalyzer::split(const Expr &offset, const Domain &within) {
  Substitution leadingToZero, othersToZero;
  for (const std::string &name : symbolsOf(offset))
    (leading.count(name) ? leadingToZero : othersToZero)[name] = Expr(0);
  auto moving = asAffine(withoutUniformReads(substitute(offset, leadingToZero)), within);
  if (!moving)
    return std::nullopt;
  SplitOffset result;
  result.base = simplify(substitute(offset, othersToZero), within);
  result.axes = moving->coefficients;
  // Run-time reads and leading axes may only occur as summands: (4*g + i) floordiv 6 moves with i in some blocks g,
  // although it does not in the first block.
  Expr sum = result.base;
  for (const auto &[axis, coefficient] : result.axes)
    sum = sum + Expr(coefficient) * Expr::symbol(axis);
  return simplify(sum - offset, within).isConstant(0) ? std::optional<SplitOffset>(result) : std::nullopt;
}

std::optional<int64_t> AttentionAnalyzer::evenStride(const SplitOffset &offset, const std::vector<std::string> &axes) {
  return skewer::evenStride(offset.axes, axes, space.sizes);
}

std::optional<Walk> AttentionAnalyzer::walk(const SplitOffset &offset, unsigned argument,
                                            ArrayRef<std::string> depthAxes) {
  auto queryStride = evenStride(offset, space.query), keyStride = evenStride(offset, space.key);
  if (!queryStride || !keyStride || depthAxes.size() > 1)
    return std::nullopt;
  Walk result;
  result.argument = argument;
  result.base = offset.base;
  result.query = *queryStride;
  result.key = *keyStride;
  if (!depthAxes.empty()) {
    auto found = offset.axes.find(depthAxes.front());
    result.depth = found == offset.axes.end() ? 0 : found->second;
  }
  return result;
}

std::optional<Walk> AttentionAnalyzer::pickedWalk(const Expr &flat, unsigned argument, ArrayRef<std::string> depthAxes,
                                                  const Domain &within) {
  if (depthAxes.size() != 1)
    return std::nullopt;
  const std::string &axis = depthAxes.front();
  Expr row = simplify(substitute(flat, {{axis, Expr(0)}}), within);
  Expr step = simplify(substitute(flat, {{axis, Expr(1)}}) - row, within);
  if (!step.isConstant() || !simplify(flat - row - step * Expr::symbol(axis), within).isConstant(0))
    return std::nullopt;
  for (const std::string &symbol : symbolsOf(row))
    if (!leading.count(symbol) && !key.count(symbol))
      return std::nullopt;
  Walk result;
  result.argument = argument;
  result.depth = step.value();
  result.picked = row;
  // The places within a page are evenly spaced.
  const std::string &inner = space.key.back();
  Expr first = simplify(substitute(row, {{inner, Expr(0)}}), within);
  Expr apart = simplify(substitute(row, {{inner, Expr(1)}}) - first, within);
  if (apart.isConstant() && simplify(row - first - apart * Expr::symbol(inner), within).isConstant(0)) {
    result.run = space.sizes.at(inner);
    result.runStep = apart.value();
  }
  return result;
}

/// Returns the walk over rows of the result that the query places anywhere, each contiguous along the value axis.
std::optional<Walk> AttentionAnalyzer::placedWalk(const Expr &flat, const Domain &within) {
  const std::string &axis = space.value.front();
  Expr row = simplify(substitute(flat, {{axis, Expr(0)}}), within);
  if (!simplify(flat - row - Expr::symbol(axis), within).isConstant(0) || !readNodes(row).empty())
    return std::nullopt;
  for (const std::string &symbol : symbolsOf(row))
    if (!leading.count(symbol) && !query.count(symbol))
      return std::nullopt;
  Walk result;
  result.depth = 1;
  result.picked = row;
  return result;
}

std::vector<MapAxis> AttentionAnalyzer::mapAxes(const std::vector<std::string> &axes) {
  std::vector<MapAxis> result(axes.size());
  int64_t inner = 1;
  for (size_t k = axes.size(); k-- > 0;) {
    result[k].extent = space.sizes.at(axes[k]);
    result[k].inner = inner;
    inner *= result[k].extent;
  }
  return result;
}

/// Reads where the values and the result lie.
std::optional<Refusal> AttentionAnalyzer::readValues(AttentionShape &shape) {
  unsigned valueArgument = argumentOf(attention.getValue());
  const std::optional<ResolvedEinsum> &value = view->value;
  if (!value || view->sharesValues || !value->spec.result || space.value.size() != 1)
    return Refusal{"the values have more than one axis that is neither leading nor a key"};
  AxisSizes sizes = value->sizes;
  for (const auto &[axis, size] : space.sizes)
    sizes[axis] = size;
  Expr flat = flatten(value->subscripts[0], attention.getValue());
  auto parts = split(flat, domainOf(sizes));
  std::vector<Expr> resultSubscripts;
  for (const Dimension &dimension : *value->spec.result)
    resultSubscripts.push_back(flatIndex(dimension, sizes));
  auto resultParts = split(flatten(resultSubscripts, attention.getResult()), domainOf(sizes));
  auto valueWalk = parts ? walk(*parts, valueArgument, space.value) : std::nullopt;
  if (!valueWalk)
    valueWalk = pickedWalk(flat, valueArgument, space.value, domainOf(sizes));
  auto resultWalk = resultParts ? walk(*resultParts, 0, space.value) : std::nullopt;
  if (!resultWalk && picks)
    resultWalk = placedWalk(flatten(resultSubscripts, attention.getResult()), domainOf(sizes));
  shape.width = sizes.at(space.value.front());
  // An axis of one element has no stride in a simplified offset; any stride is right.
  if (resultWalk && shape.width == 1)
    resultWalk->depth = 1;
  if (!valueWalk || !resultWalk || valueWalk->query != 0 || resultWalk->key != 0 || resultWalk->depth != 1)
    return Refusal{"the values are not read through even strides"};
  if (!staysInside(attention.getValue(), value->subscripts[0], domainOf(sizes, space), std::nullopt))
    return Refusal{"values of masked keys are read outside their tensor"};
  shape.value = *valueWalk;
  shape.result = *resultWalk;
  shape.further.lse = static_cast<bool>(attention.getLse());
  shape.further.total = static_cast<bool>(attention.getTotal());
  shape.further.weights = static_cast<bool>(attention.getWeights());
  if (shape.further.weights)
    shape.further.seen = mask;
  shape.direct = attention.getDirect();
  shape.through = attention.getThrough().empty() ? nullptr : &attention.getThrough();
  shape.sums = attention.getSums();
  return std::nullopt;
}

/// Sets `length` to the number of positions along a dimension of the score, if known only at run time; else to nothing.
/// Returns false if an axis other than the outermost has a run-time length.
static bool readLength(const std::vector<std::string> &axes, const AxisSizes &sizes, const Substitution &extents,
                       std::optional<Expr> &length) {
  Expr count = 1;
  for (auto [number, axis] : llvm::enumerate(axes)) {
    auto extent = extents.find(axis);
    if (extent == extents.end()) {
      count = count * Expr(sizes.at(axis));
      continue;
    }
    if (number > 0)
      return false;
    count = extent->second;
    length = Expr(0);
  }
  if (length)
    length = count;
  return true;
}

std::optional<Refusal> AttentionAnalyzer::readLengths(AttentionShape &shape) {
  lengths = axisExtentsOf(attention);
  if (!readLength(space.query, space.sizes, lengths, shape.bounds.queryLength) ||
      !readLength(space.key, space.sizes, lengths, shape.bounds.keyLength))
    return Refusal{"an inner axis of the queries or the keys has a run-time length"};
  shape.bounds.high = shape.bounds.keyLength;
  return std::nullopt;
}

/// Returns whether a conjunct only states the length of an axis.
bool AttentionAnalyzer::isLength(const Expr &conjunct) const {
  return llvm::any_of(lengths, [&](const auto &length) {
    return simplify(less(Expr::symbol(length.first), length.second), domain) == conjunct;
  });
}

/// Sorts the conjuncts of the mask: an interval of key - query, a prefix next to it, and others.
void AttentionAnalyzer::readMask(AttentionShape &shape) {
  if (!mask)
    return;
  std::vector<MaskPart> parts;
  for (const Expr &conjunct : conjunctsOf(simplify(*mask, domain))) {
    if (isLength(conjunct))
      continue;
    std::optional<subscript::Range> interval;
    Expr shift = shape.visibleShift;
    if (space.query.size() == 1 && space.key.size() == 1)
      if (auto shifted = asShiftedInterval(conjunct, space.query[0], space.key[0], domain)) {
        // Intervals with different shifts cannot be intersected.
        bool first = !shape.visible;
        if (first || simplify(shifted->shift - shift).isConstant(0))
          interval = shifted->range, shift = shifted->shift;
      }
    bool everything = interval && interval->low == INT64_MIN && interval->high == INT64_MAX;
    if (everything || (conjunct.isConstant() && conjunct.value() != 0))
      continue;
    if (!interval) {
      BiasKind kind = biasKindOf({conjunct}, space);
      // A table of scores, and lines over a map, need known sizes.
      bool ofSizes = kind == BiasKind::Table || (kind == BiasKind::Difference && space.key.size() > 1);
      if (shape.hasLength() && ofSizes)
        kind = BiasKind::Element;
      if (kind == BiasKind::Element && fitsLanes(conjunct, domain))
        kind = BiasKind::Lanes;
      parts.push_back({conjunct, kind});
    } else if (!shape.visible) {
      shape.visible = interval;
      shape.visibleShift = shift;
    } else {
      shape.visible =
          subscript::Range{std::max(shape.visible->low, interval->low), std::min(shape.visible->high, interval->high)};
    }
  }
  for (const MaskPart &part : parts)
    if (!takePrefix(part, shape) && !takeBounds(part, shape))
      shape.masks.push_back(part);
  boundByMap(shape);
  if (picks)
    takeTiles(shape);
}

Value skewer::asRead(Value result) {
  while (result.hasOneUse())
    if (auto move = dyn_cast<RearrangeOp>(*result.user_begin()))
      result = move.getResult();
    else
      break;
  return result;
}

/// Returns the type in which the result is stored: that to which it is rounded, if nothing else reads it.
static ElementType storedElementOf(AttentionOp attention) {
  Value result = asRead(attention.getResult());
  auto rounding = result.hasOneUse() ? dyn_cast<mlir::arith::TruncFOp>(*result.user_begin()) : mlir::arith::TruncFOp();
  return elementTypeOf((rounding ? rounding.getResult() : result).getType());
}

OrRefusal<AttentionShape> AttentionAnalyzer::run() {
  AttentionShape shape;
  if (space.leading.empty() && space.query.empty())
    return Refusal{"the score's space cannot be read"};
  shape.space = space;
  shape.queries = space.queries();
  shape.keys = space.keys();
  shape.queryAxes = mapAxes(space.query);
  shape.keyAxes = mapAxes(space.key);

  if (auto refusal = readLengths(shape))
    return *refusal;
  if (auto refusal = readValues(shape))
    return *refusal;
  for (const Term &term : view->values) {
    auto inputs = TermOp(term.op).getInputs();
    auto found = valueTermOf(term, inputs.empty() ? 0 : argumentOf(inputs.front()));
    if (!found)
      return found.refusal();
    shape.valueTerms.push_back(std::move(*found));
  }
  for (const Term &term : view->score)
    addTerm(term, shape);
  readMask(shape);
  if (picks)
    findLengthMap(shape);
  SmallVector<Value> operands = operandsOf(attention);
  auto elementOf = [&](unsigned argument) { return elementTypeOf(operands[argument].getType()); };
  for (ContentTerm &term : shape.content) {
    for (Walk *walk : {&term.query, &term.key})
      walk->element = elementOf(walk->argument);
    term.areBytes = llvm::all_of(llvm::ArrayRef<const Walk *>{&term.query, &term.key}, [&](const Walk *walk) {
      Value operand = operands[walk->argument];
      return !walk->picked && hasByteRows(attention, operand) && readsWholeRows(*walk, term.depth, operand, space);
    });
  }
  for (RowTerm &term : shape.rows)
    if (elementOf(term.table) == elementOf(term.vector.argument))
      term.element = elementOf(term.table);
  shape.value.element = elementTypeOf(attention.getValue().getType());
  shape.result.element = storedElementOf(attention);
  return shape;
}

SmallVector<Value> skewer::operandsOf(AttentionOp attention) {
  SmallVector<Value> operands = {attention.getValue()};
  for (TermOp term : termsOf(attention))
    for (Value input : term.getInputs())
      if (!llvm::is_contained(operands, input))
        operands.push_back(input);
  return operands;
}

std::optional<Refusal> skewer::refuseInnerRuntimeSizes(AttentionOp attention) {
  SmallVector<Value> tensors = operandsOf(attention);
  tensors.push_back(attention.getResult());
  for (Value tensor : tensors)
    for (auto [dimension, size] : llvm::enumerate(cast<RankedTensorType>(tensor.getType()).getShape()))
      if (dimension > 0 && ShapedType::isDynamic(size))
        return Refusal{"a tensor has a run-time size that is not its first"};
  return std::nullopt;
}

OrRefusal<AttentionShape> skewer::shapeOfAttention(AttentionOp attention, bool picks) {
  return AttentionAnalyzer(attention, picks).run();
}
