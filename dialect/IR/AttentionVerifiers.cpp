// Verifiers of the fused form: attention and its terms.
#include "dialect/IR/Verification.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
std::set<std::string> axesOf(const Dimensions &dimensions, size_t begin, size_t end) {
  std::set<std::string> axes;
  for (size_t d = begin; d < end; ++d)
    axes.insert(dimensions[d].axes.begin(), dimensions[d].axes.end());
  return axes;
}

/// The axes of the score by role, from a parsed space.
struct Roles {
  explicit Roles(const Dimensions &space)
      : leading(axesOf(space, 0, space.size() - 2)), query(axesOf(space, space.size() - 2, space.size() - 1)),
        key(axesOf(space, space.size() - 1, space.size())), all(axesOf(space, 0, space.size())) {}
  std::set<std::string> leading, query, key, all;
};

/// Checks which axes the values may be read by, and which axes the result has: "b h j e -> b h i e".
LogicalResult verifyValueAxes(AttentionOp op, const Einsum &spec, const Roles &roles) {
  std::set<std::string> read = axesOf(spec.operands[0]), kept = axesOf(*spec.result);
  for (const Dimension &dimension : spec.operands[0])
    if (!dimension.isProduct())
      read.merge(symbolsOf(dimension.index));
  for (const std::string &axis : roles.key) {
    if (!read.count(axis))
      return op.emitOpError() << "values are not read by the key axis '" << axis << "' (attention_c5)";
    if (kept.count(axis))
      return op.emitOpError() << "value_spec keeps the key axis '" << axis << "', which is summed over (attention_c5)";
  }
  for (const std::string &axis : roles.query) {
    if (read.count(axis))
      return op.emitOpError() << "values are read by the query axis '" << axis << "' (attention_c5)";
    if (!kept.count(axis))
      return op.emitOpError() << "result lacks the query axis '" << axis << "' (attention_c5)";
  }
  for (const std::string &axis : roles.leading)
    if (!kept.count(axis))
      return op.emitOpError() << "result lacks the leading axis '" << axis << "' (attention_c5)";
  for (const std::string &axis : read)
    if (!roles.all.count(axis) && !kept.count(axis))
      return op.emitOpError() << "value_spec sums over '" << axis << "', which is no key axis (attention_c5)";
  for (const std::string &axis : kept)
    if (!roles.all.count(axis) && !read.count(axis))
      return op.emitOpError() << "value_spec gives the result the axis '" << axis
                              << "', which nothing has (attention_c5)";
  return success();
}

/// Returns where both conditions hold: the mask and a term's own guard. A term's reads are checked only there.
std::optional<Expr> conjunction(const std::optional<Expr> &a, const std::optional<Expr> &b) {
  if (a && b)
    return logicalAnd(*a, *b);
  return a ? a : b;
}

/// Returns whether the operation may be part of a function of single numbers: pure, elementwise, without a region.
bool isOfNumbers(Operation &op) {
  if (op.getNumRegions() || op.getNumResults() != 1 || !isMemoryEffectFree(&op))
    return false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constant.getType().isF32();
  auto isNumber = [](Type type) { return type.isF32() || type.isInteger(1); };
  return isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) && op.hasTrait<OpTrait::Elementwise>() &&
         llvm::all_of(op.getOperandTypes(), isNumber) && isNumber(op.getResult(0).getType());
}

LogicalResult verifyThrough(AttentionOp op) {
  Region &through = op.getThrough();
  if (through.empty())
    return success();
  Block &block = through.front();
  if (!through.hasOneBlock() || block.getNumArguments() == 0 ||
      !llvm::all_of(block.getArgumentTypes(), [](Type type) { return type.isF32(); }))
    return op.emitOpError() << "expected 'through' to be one block that takes one or more f32 (attention_c12)";
  if (block.empty() || !isa<YieldOp>(block.back()))
    return op.emitOpError() << "expected 'through' to end in 'attn.yield' (attention_c12)";
  for (Operation &nested : block) {
    if (&nested != &block.back() && !isOfNumbers(nested))
      return op.emitOpError() << "'through' holds '" << nested.getName()
                              << "', expected arithmetic on single numbers of f32 (attention_c12)";
    for (Value operand : nested.getOperands()) // constants may stand outside: canonicalization moves them
      if (operand.getParentBlock() != &block && !operand.getDefiningOp<arith::ConstantOp>())
        return op.emitOpError() << "'through' reads a value from outside (attention_c12)";
  }
  std::vector<bool> given(block.getNumArguments());
  for (TermOp term : op.getScore().getOps<TermOp>())
    if (term.getSum() < given.size())
      given[term.getSum()] = true;
  for (auto [number, has] : llvm::enumerate(given))
    if (!has)
      return op.emitOpError() << "sum " << number << " of 'through' has no term (attention_c13)";
  return success();
}
} // namespace

/// Checks that every axis of the score has a size, and that the numbers of queries and keys can be computed.
static LogicalResult verifyAxes(AttentionOp op, const Roles &roles, const AxisSizes &sizes) {
  for (const std::string &axis : roles.all)
    if (!sizes.count(axis))
      return op.emitOpError() << "axis '" << axis
                              << "' has no size; value_spec does not name it, so give it in 'sizes' (attention_c2)";
  for (const auto *group : {&roles.query, &roles.key})
    for (const std::string &axis : *group)
      if (sizes.at(axis) == kRuntime)
        return op.emitOpError() << "axis '" << axis
                                << "' has run-time size; query and key axes need a compile-time size (attention_c2)";
  auto tooLarge = [&](const std::set<std::string> &axes) {
    int64_t product = 1;
    for (const std::string &axis : axes)
      if (__builtin_mul_overflow(product, sizes.at(axis), &product))
        return true;
    return product > INT32_MAX;
  };
  if (tooLarge(roles.query) || tooLarge(roles.key))
    return op.emitOpError() << "has more than 2^31 - 1 queries or keys (attention_c2)";
  return success();
}

/// Checks the terms, the function that they go through, and that there are as many strategies as terms.
static LogicalResult verifyTermsOf(AttentionOp op) {
  int64_t terms = 0;
  for (Operation &nested : op.getScore().front()) {
    if (!isa<TermInterface>(nested))
      return op.emitOpError() << "score holds '" << nested.getName() << "', expected terms only (attention_c7)";
    ++terms;
  }
  if (terms == 0)
    return op.emitOpError() << "score has no term (attention_c7)";
  if (failed(verifyThrough(op)))
    return failure();
  for (Operation &nested : op.getValues().getOps()) {
    if (!isa<TermInterface>(nested))
      return op.emitOpError() << "values hold '" << nested.getName() << "', expected terms only (attention_c9)";
    ++terms;
  }
  ScheduleInterface schedule = op.getScheduleAttr();
  if (!schedule)
    return success();
  if (int64_t strategies = int64_t(schedule.getStrategies().size()); strategies != terms)
    return op.emitOpError() << "schedule has " << strategies << " strategies for " << terms << " terms (attention_c8)";
  ScoreSpace score = scoreSpace(op);
  return schedule.verifyFor(op, score.queries(), score.keys());
}

LogicalResult AttentionOp::verify() {
  static const SubscriptConstraints constraints = {"attention_c3", "attention_c3", "attention_c2", "attention_c6"};
  if (failed(verifyShapes(*this)) || failed(verifySizes(*this, getSizesAttr())) ||
      failed(verifyIndices(*this, getIndexNamesAttr(), getIndices())))
    return failure();
  auto space = verifyDimensions(*this, "space", getSpace(), "attention_c1");
  if (!space)
    return failure();
  if (space->size() < 2)
    return emitOpError() << "space \"" << getSpace() << "\" has " << space->size()
                         << " dimensions, expected a query and a key dimension at its end (attention_c1)";
  Roles roles(*space);
  if (roles.query.empty() || roles.key.empty())
    return emitOpError() << "space \"" << getSpace()
                         << "\" has a query or a key dimension without an axis (attention_c1)";

  auto spec = verifySpec(*this, "value_spec", getValueSpec(), constraints.parses);
  if (!spec)
    return failure();
  if (!spec->result || spec->operands.size() != 1)
    return emitOpError() << "value_spec \"" << getValueSpec()
                         << "\" is not of the form \"values -> result\" (attention_c3)";
  // The result's type gives the sizes of the query axes.
  Einsum both;
  both.operands = {spec->operands[0], *spec->result};
  std::vector<int64_t> valueShape = shapeOf(getValue()), resultShape = shapeOf(getResult());
  if (spec->result->size() != resultShape.size())
    return emitOpError() << "result has " << resultShape.size() << " dimensions, but value_spec gives it "
                         << spec->result->size() << " (attention_c4)";
  if (spec->operands[0].size() != valueShape.size())
    return emitOpError() << "values have " << valueShape.size() << " dimensions, but value_spec gives them "
                         << spec->operands[0].size() << " (attention_c3)";
  auto sizes = resolveSizes(both, {valueShape, resultShape}, sizesFrom(getSizesAttr()));
  if (!sizes)
    return emitOpError() << sizes.error().message << " (attention_c2)";
  if (failed(verifyAxes(*this, roles, *sizes)) || failed(verifyValueAxes(*this, *spec, roles)))
    return failure();
  Einsum valueRead;
  valueRead.operands = {spec->operands[0]};
  if (!verifyOperands(*this, valueRead, {valueShape}, *sizes, constraints) ||
      failed(verifyResult(*this, *spec->result, *sizes, getResult().getType(), "attention_c4")))
    return failure();

  if (getDirect() && getLse())
    return emitOpError() << "has direct weights and an 'lse', which is of a softmax; ask for 'total' (attention_c14)";
  if (!getDirect() && getTotal())
    return emitOpError() << "has a 'total', but its weights are not 'direct': a softmax's sum is 1 (attention_c14)";
  Dimensions rows(space->begin(), space->end() - 1);
  for (auto [result, constraint] : {std::pair(getLse(), "attention_c10"), std::pair(getTotal(), "attention_c14")})
    if (result && failed(verifyResult(*this, rows, *sizes, result.getType(), constraint)))
      return failure();
  if (getWeights() && failed(verifyResult(*this, *space, *sizes, getWeights().getType(), "attention_c16")))
    return failure();

  std::optional<Expr> mask;
  if (getMask()) {
    AxisSizes spaceSizes;
    for (const std::string &axis : roles.all)
      spaceSizes[axis] = sizes->at(axis);
    mask = verifyExpression(*this, "mask", *getMask(), roles.all, spaceSizes);
    if (!mask)
      return failure();
  }
  // Values are read where the mask holds: elsewhere the weight is 0 and the element does not matter.
  if (failed(verifyReads(*this, valueRead, {valueShape}, *sizes, mask, constraints)))
    return failure();
  return verifyTermsOf(*this);
}

LogicalResult TermOp::verify() {
  static const SubscriptConstraints constraints = {"term_c1", "term_c2", "term_c3", "term_c4"};
  auto attention = dyn_cast_or_null<AttentionOp>((*this)->getParentOp());
  auto space = attention ? parseDimensions(std::string_view(attention.getSpace())) : std::nullopt;
  if (!space || space->size() < 2)
    return emitOpError() << "expects to stand in the score or the values of an attention (term_c1)";
  if (failed(verifyShapes(*this)) || failed(verifySizes(*this, getSizesAttr())) ||
      failed(verifyIndices(*this, getIndexNamesAttr(), getIndices())))
    return failure();
  auto spec = verifySpec(*this, "subscripts", getSubscripts(), constraints.parses);
  if (!spec)
    return failure();
  if (spec->result)
    return emitOpError() << "subscripts \"" << getSubscripts() << "\" have an '->'; a term's result is always the "
                         << (isValueSide() ? "values'" : "score") << " (term_c1)";

  int64_t sums = isValueSide() ? 1 : attention.getSums();
  if (getSum() >= static_cast<uint64_t>(sums))
    return emitOpError() << "is in sum " << static_cast<int64_t>(getSum()) << ", but "
                         << (isValueSide() ? "terms of the values are in none"
                                           : "the attention's 'through' takes " + std::to_string(sums))
                         << " (term_c7)";

  Roles roles(*space);
  ScoreSpace score = scoreSpace(attention);
  AxisSizes scoreSizes, known = sizesFrom(getSizesAttr());
  for (const auto &[axis, size] : known)
    if (roles.all.count(axis) || llvm::is_contained(score.value, axis))
      return emitOpError() << "gives the axis '" << axis << "' a size, which the attention says (term_c3)";
  for (const std::string &axis : roles.all) {
    auto size = score.sizes.find(axis);
    known[axis] = scoreSizes[axis] = size == score.sizes.end() ? kRuntime : size->second;
  }
  // Terms of the values may also use the values' own axes.
  std::set<std::string> own = roles.all;
  if (isValueSide())
    for (const std::string &axis : score.value) {
      own.insert(axis);
      known[axis] = scoreSizes[axis] = score.sizes.at(axis);
    }
  auto shapes = shapesOf(getInputs());
  auto sizes = verifyOperands(*this, *spec, shapes, known, constraints);
  if (!sizes)
    return failure();
  for (const auto &[axis, size] : *sizes) {
    bool runtime = size == kRuntime;
    if (own.count(axis) && runtime != (scoreSizes[axis] == kRuntime))
      return emitOpError() << "axis '" << axis << "' has " << (runtime ? "run-time" : "compile-time")
                           << " size here, but not in the score (term_c3)";
    if (!own.count(axis) && runtime)
      return emitOpError() << "contracts the axis '" << axis << "' of run-time size (term_c3)";
  }
  for (const auto &[axis, size] : scoreSizes)
    sizes->emplace(axis, size);

  if (!std::isfinite(getScale().convertToDouble()))
    return emitOpError() << "scale is not finite (term_c5)";
  if (!getValue() && !getFunction() && getInputs().empty())
    return emitOpError() << "has neither an operand nor a factor; give it 'times' an expression (term_c5)";
  std::optional<Expr> guard, mask;
  if (attention.getMask())
    mask = skewer::subscript::parse(std::string_view(*attention.getMask()));
  if (getGuard()) {
    guard = verifyExpression(*this, "guard", *getGuard(), roles.all, *sizes, mask);
    if (!guard)
      return failure();
  }
  std::optional<Expr> present = conjunction(mask, guard);
  if (failed(verifyApplication(*this, *spec, roles.all, *sizes, present)))
    return failure();
  if (getValue() && !verifyExpression(*this, "factor", *getValue(), roles.all, *sizes, present))
    return failure();
  return verifyReads(*this, *spec, shapes, *sizes, present, constraints);
}
