// Converts softmax and logsumexp, and makes the rows of exponentials that they share with attentions.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Emit/LogSum.h"
#include "passes/Linalg/ConvertOps.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;

subscript::Dimensions skewer::rowDimensions(const ScoreRows &rows) {
  subscript::Dimensions result = rows.dimensions;
  result.erase(result.begin() + static_cast<ptrdiff_t>(rows.over));
  return result;
}

/// Returns `seen`, or `otherwise` where the mask hides the point. Null if the mask cannot be emitted.
static Value whereSeen(ImplicitLocOpBuilder &b, const ScoreRows &rows, const LoopNest &nest, IndexEmitter &index,
                       Value seen, double otherwise) {
  if (!rows.mask)
    return seen;
  Value visible = index.emitPredicate(nest.over(*rows.mask));
  if (!visible)
    return {};
  return arith::SelectOp::create(b, visible, seen, realConstant(b, seen.getType(), otherwise));
}

Exponentials skewer::exponentialsOf(const ScoreRows &rows, ImplicitLocOpBuilder &, Structured &linalg) {
  Type element = getElementTypeOrSelf(rows.scores);
  subscript::Dimensions outer = rowDimensions(rows);
  std::vector<Expr> point = subscriptsOf(rows.dimensions, rows.sizes), row = subscriptsOf(outer, rows.sizes);
  const std::vector<std::string> &keys = rows.dimensions[rows.over].axes;
  LoopNest reduced(outer, keys, rows.sizes, rows.extents), whole(rows.dimensions, {}, rows.sizes, rows.extents);
  Exponentials result;
  // A NaN does not reach the maximum, but it reaches the sum, and so the whole row.
  result.largest =
      linalg.make(reduced, element, -INFINITY, {{rows.scores, point}}, false,
                  [&](ImplicitLocOpBuilder &b, ValueRange elements, Value before, IndexEmitter &index) -> Value {
                    Value seen = whereSeen(b, rows, reduced, index, elements[0], -INFINITY);
                    return seen ? arith::MaxNumFOp::create(b, before, seen).getResult() : Value();
                  });
  // A row whose scores are all -inf is a row without keys; its largest score becomes 0.
  LoopNest each(outer, {}, rows.sizes, rows.extents);
  result.largest = linalg.make(each, element, std::nullopt, {{result.largest, row}}, false,
                               [&](ImplicitLocOpBuilder &b, ValueRange elements, Value, IndexEmitter &) -> Value {
                                 Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, elements[0],
                                                                    realConstant(b, element, -INFINITY));
                                 return arith::SelectOp::create(b, none, realConstant(b, element, 0), elements[0]);
                               });
  result.powers = linalg.make(whole, element, std::nullopt, {{rows.scores, point}, {result.largest, row}}, false,
                              [&](ImplicitLocOpBuilder &b, ValueRange elements, Value, IndexEmitter &index) -> Value {
                                Value power =
                                    math::ExpOp::create(b, arith::SubFOp::create(b, elements[0], elements[1]));
                                return whereSeen(b, rows, whole, index, power, 0);
                              });
  result.sum = linalg.make(reduced, element, 0.0, {{result.powers, point}}, false,
                           [&](ImplicitLocOpBuilder &b, ValueRange elements, Value before, IndexEmitter &) -> Value {
                             return arith::AddFOp::create(b, before, elements[0]);
                           });
  return result;
}

Value skewer::logSumOf(const ScoreRows &rows, const Exponentials &parts, ImplicitLocOpBuilder &b, Structured &linalg) {
  subscript::Dimensions outer = rowDimensions(rows);
  std::vector<Expr> row = subscriptsOf(outer, rows.sizes);
  LoopNest each(outer, {}, rows.sizes, rows.extents);
  return linalg.make(each, b.getF32Type(), std::nullopt, {{parts.largest, row}, {parts.sum, row}}, false,
                     [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &) -> Value {
                       Value sum = arith::AddFOp::create(body, elements[0], math::LogOp::create(body, elements[1]));
                       return logSumExp(body, elements[0], sum);
                     });
}

/// Returns the rows of a softmax or logsumexp; nothing if the axes or sizes do not resolve.
static std::optional<ScoreRows> rowsOf(Operation *op, ImplicitLocOpBuilder &b, Structured &linalg) {
  auto reduction = attn::rowReductionOf(op);
  auto axes = subscript::parseDimensions(std::string_view(reduction->axes));
  auto over = subscript::parseDimensions(std::string_view(reduction->over));
  if (!axes || !over)
    return std::nullopt;
  ScoreRows rows;
  rows.dimensions = *axes;
  std::vector<std::string> names; // "jy jx" and "(jy jx)" mean the same
  for (const subscript::Dimension &dimension : *over)
    names.insert(names.end(), dimension.axes.begin(), dimension.axes.end());
  while (rows.over < axes->size() && (*axes)[rows.over].axes != names)
    ++rows.over;
  subscript::Einsum spec;
  spec.operands = {*axes};
  auto sizes = subscript::resolveSizes(spec, {attn::shapeOf(reduction->input)}, attn::sizesFrom(reduction->sizes));
  if (!sizes || rows.over == axes->size())
    return std::nullopt;
  rows.sizes = *sizes;
  addExtents(b, *axes, reduction->input, rows.extents);
  if (reduction->mask && !(rows.mask = subscript::parse(std::string_view(*reduction->mask))))
    return std::nullopt;
  rows.scores = linalg.convert(reduction->input, sumType(getElementTypeOrSelf(reduction->input)));
  return rows;
}

Converted skewer::convertRows(Operation *op, ImplicitLocOpBuilder &b, Structured &linalg) {
  auto rows = rowsOf(op, b, linalg);
  if (!rows)
    return linalg.failure = "the rows' axes do not resolve", Converted();
  Exponentials parts = exponentialsOf(*rows, b, linalg);
  if (isa<attn::LogSumExpOp>(op))
    return {logSumOf(*rows, parts, b, linalg)};
  std::vector<Expr> point = subscriptsOf(rows->dimensions, rows->sizes);
  std::vector<Expr> row = subscriptsOf(rowDimensions(*rows), rows->sizes);
  LoopNest whole(rows->dimensions, {}, rows->sizes, rows->extents);
  Type element = getElementTypeOrSelf(op->getResult(0));
  return {linalg.make(whole, element, std::nullopt, {{parts.powers, point}, {parts.sum, row}}, false,
                      [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &) -> Value {
                        Value zero = realConstant(body, elements[1].getType(), 0);
                        Value empty = arith::CmpFOp::create(body, arith::CmpFPredicate::OEQ, elements[1], zero);
                        Value weight = arith::DivFOp::create(body, elements[0], elements[1]);
                        return arith::SelectOp::create(body, empty, zero, weight);
                      })};
}
