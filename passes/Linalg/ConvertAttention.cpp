// Converts an attention to linalg: scores term by term, rows of exponentials, and their product with the values.
#include "dialect/IR/Term.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Emit/EmitThrough.h"
#include "passes/Linalg/ConvertOps.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;

namespace {
/// Returns a term's operands, and the subscripts at which they are read.
std::vector<Reading> readingsOf(const attn::Term &term) {
  std::vector<Reading> readings;
  for (auto [operand, subscripts] : llvm::zip(attn::TermOp(term.op).getInputs(), term.einsum.subscripts))
    readings.push_back({operand, subscripts});
  return readings;
}

/// Adds the run-time sizes of a term's operands to `extents`.
void addExtents(ImplicitLocOpBuilder &b, const attn::Term &term, std::map<std::string, Value> &extents) {
  for (auto [operand, dimensions] : llvm::zip(attn::TermOp(term.op).getInputs(), term.einsum.spec.operands))
    skewer::addExtents(b, dimensions, operand, extents);
}

/// Emits one contribution of a term inside a loop nest: scale × factor × function × Π elements; 0 where its guard is
/// false. `elements` are those of the term's operands. Null if an index expression is unknown.
struct Contribution {
  const attn::Term &term;
  const LoopNest &nest;
  Type type;

  Value number(ImplicitLocOpBuilder &b, IndexEmitter &index, const Expr &position) const {
    Value integer = index.emit(nest.over(position));
    if (!integer)
      return {};
    integer = arith::IndexCastOp::create(b, b.getI64Type(), integer);
    return arith::SIToFPOp::create(b, type, integer);
  }

  Value emit(ImplicitLocOpBuilder &b, IndexEmitter &index, ValueRange elements) const {
    Value product = realConstant(b, type, term.scale);
    for (auto [place, element] : llvm::enumerate(elements))
      if (!term.application || !term.application->takes(place))
        product = arith::MulFOp::create(b, product, castReal(b, element, type));
    if (term.factor) {
      Value factor = number(b, index, *term.factor);
      if (!factor)
        return {};
      product = arith::MulFOp::create(b, product, factor);
    }
    if (term.application) {
      SmallVector<Value> arguments; // of f32
      for (const attn::Application::Argument &argument : term.application->arguments) {
        Value one = argument.operand >= 0 ? elements[argument.operand] : number(b, index, argument.position);
        if (!one)
          return {};
        arguments.push_back(castReal(b, one, b.getF32Type()));
      }
      Value applied = term.application->function->emit(b, b.getLoc(), arguments);
      product = arith::MulFOp::create(b, product, castReal(b, applied, type));
    }
    if (!term.einsum.guard)
      return product;
    Value inside = index.emitPredicate(nest.over(*term.einsum.guard));
    return inside ? arith::SelectOp::create(b, inside, product, realConstant(b, type, 0)).getResult() : Value();
  }
};

/// Returns part / sum; 0 if the sum is 0, as in a row without a visible key.
Value meanOf(ImplicitLocOpBuilder &body, Value part, Value sum) {
  Value zero = realConstant(body, sum.getType(), 0);
  Value empty = arith::CmpFOp::create(body, arith::CmpFPredicate::OEQ, sum, zero);
  return arith::SelectOp::create(body, empty, zero, arith::DivFOp::create(body, part, sum));
}

/// An attention while it is converted.
struct Parts {
  attn::AttentionOp op;
  ImplicitLocOpBuilder &b;
  Structured &linalg;
  std::shared_ptr<const attn::AttentionView> view;
  ScoreRows rows;
  Type type; // element type of scores and sums

  bool prepare();
  Value sumOfTerms(uint64_t sum);
  void addScores();
  Value directWeights();
  Value totalOf(Value weights);
  Value addValues(Value weights);
  Value returned(Value weights, Value sum);
};

bool Parts::prepare() {
  view = attn::viewOf(op);
  auto dimensions = subscript::parseDimensions(std::string_view(op.getSpace()));
  if (!dimensions || !view->value || !view->value->spec.result)
    return linalg.failure = "the attention's axes do not resolve", false;
  rows.dimensions = *dimensions;
  rows.over = dimensions->size() - 1;
  rows.sizes = view->space.sizes;
  rows.sizes.insert(view->value->sizes.begin(), view->value->sizes.end());
  rows.mask = view->mask;
  skewer::addExtents(b, view->value->spec.operands[0], op.getValue(), rows.extents);
  for (const std::vector<attn::Term> *side : {&view->score, &view->values})
    for (const attn::Term &term : *side)
      addExtents(b, term, rows.extents);
  for (const auto &[axis, size] : rows.sizes)
    if (size == subscript::kRuntime && !rows.extents.count(axis))
      return linalg.failure = "axis '" + axis + "' has a run-time size that no operand says", false;
  type = sumType(getElementTypeOrSelf(op.getValue()));
  return true;
}

/// Adds up the terms that belong to sum `number`, over the score's dimensions.
Value Parts::sumOfTerms(uint64_t number) {
  Value sum;
  for (const attn::Term &term : view->score) {
    if (term.sum != number)
      continue;
    subscript::AxisSizes sizes = rows.sizes;
    sizes.insert(term.einsum.sizes.begin(), term.einsum.sizes.end());
    LoopNest nest(rows.dimensions, term.einsum.contracted, sizes, rows.extents);
    Contribution contribution{term, nest, type};
    // Terms are proven to read inside of their operands where the mask and their guard hold; elsewhere, their sums are
    // not used.
    bool mayLeave = rows.mask || term.einsum.guard;
    auto add = [&](ImplicitLocOpBuilder &body, ValueRange elements, Value before, IndexEmitter &index) -> Value {
      Value one = contribution.emit(body, index, elements);
      return one ? arith::AddFOp::create(body, before, one).getResult() : Value();
    };
    sum = sum ? linalg.addTo(sum, nest, readingsOf(term), mayLeave, add)
              : linalg.make(nest, type, 0.0, readingsOf(term), mayLeave, add);
  }
  if (sum)
    return sum;
  LoopNest nest(rows.dimensions, {}, rows.sizes, rows.extents); // without terms, all keys are alike
  return linalg.make(
      nest, type, std::nullopt, {}, false,
      [&](ImplicitLocOpBuilder &body, ValueRange, Value, IndexEmitter &) { return realConstant(body, type, 0); });
}

/// Computes the scores as the softmax takes them: after the attention's function.
void Parts::addScores() {
  std::vector<Expr> point = subscriptsOf(rows.dimensions, rows.sizes);
  std::vector<Reading> sums;
  for (int64_t sum = 0; sum < op.getSums(); ++sum)
    sums.push_back({sumOfTerms(static_cast<uint64_t>(sum)), point});
  if (op.getThrough().empty()) {
    rows.scores = sums.front().tensor;
    return;
  }
  LoopNest nest(rows.dimensions, {}, rows.sizes, rows.extents);
  rows.scores = linalg.make(nest, type, std::nullopt, sums, false,
                            [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &) {
                              return emitThrough(body, op.getThrough(), elements);
                            });
}

/// Returns the scores themselves as weights, 0 where the mask hides the key. Null if the mask cannot be emitted.
Value Parts::directWeights() {
  if (!rows.mask)
    return rows.scores;
  LoopNest nest(rows.dimensions, {}, rows.sizes, rows.extents);
  return linalg.make(nest, type, std::nullopt, {{rows.scores, subscriptsOf(rows.dimensions, rows.sizes)}}, false,
                     [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &index) -> Value {
                       Value visible = index.emitPredicate(nest.over(*rows.mask));
                       if (!visible)
                         return {};
                       return arith::SelectOp::create(body, visible, elements[0], realConstant(body, type, 0));
                     });
}

Value Parts::totalOf(Value weights) {
  LoopNest nest(rowDimensions(rows), rows.dimensions[rows.over].axes, rows.sizes, rows.extents);
  Value sum = linalg.make(nest, type, 0.0, {{weights, subscriptsOf(rows.dimensions, rows.sizes)}}, false,
                          [&](ImplicitLocOpBuilder &body, ValueRange elements, Value before, IndexEmitter &) -> Value {
                            return arith::AddFOp::create(body, before, elements[0]);
                          });
  LoopNest each(rowDimensions(rows), {}, rows.sizes, rows.extents);
  return linalg.make(each, b.getF32Type(), std::nullopt, {{sum, subscriptsOf(rowDimensions(rows), rows.sizes)}}, false,
                     [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &) -> Value {
                       return castReal(body, elements[0], body.getF32Type());
                     });
}

/// Returns Σ over the keys of weight × (value + terms), over the result's dimensions.
Value Parts::addValues(Value weights) {
  const std::vector<std::string> &keys = rows.dimensions.back().axes;
  Reading power{weights, subscriptsOf(rows.dimensions, rows.sizes)};
  // The value of a hidden key does not count, NaN or not.
  auto weigh = [&](ImplicitLocOpBuilder &body, const LoopNest &nest, IndexEmitter &index, Value before, Value weight,
                   Value element) -> Value {
    Value product = arith::MulFOp::create(body, weight, element);
    if (rows.mask) {
      Value visible = index.emitPredicate(nest.over(*rows.mask));
      if (!visible)
        return {};
      product = arith::SelectOp::create(body, visible, product, realConstant(body, type, 0));
    }
    return arith::AddFOp::create(body, before, product);
  };
  LoopNest nest(*view->value->spec.result, keys, rows.sizes, rows.extents);
  Value sum =
      linalg.make(nest, type, 0.0, {power, {op.getValue(), view->value->subscripts[0]}}, rows.mask.has_value(),
                  [&](ImplicitLocOpBuilder &body, ValueRange elements, Value before, IndexEmitter &index) -> Value {
                    return weigh(body, nest, index, before, elements[0], castReal(body, elements[1], type));
                  });
  for (const attn::Term &term : view->values) {
    subscript::AxisSizes sizes = rows.sizes;
    sizes.insert(term.einsum.sizes.begin(), term.einsum.sizes.end());
    std::vector<std::string> summed = keys;
    summed.insert(summed.end(), term.einsum.contracted.begin(), term.einsum.contracted.end());
    LoopNest own(*view->value->spec.result, summed, sizes, rows.extents);
    Contribution contribution{term, own, type};
    std::vector<Reading> readings{power};
    llvm::append_range(readings, readingsOf(term));
    sum =
        linalg.addTo(sum, own, readings, rows.mask || term.einsum.guard,
                     [&](ImplicitLocOpBuilder &body, ValueRange elements, Value before, IndexEmitter &index) -> Value {
                       Value one = contribution.emit(body, index, elements.drop_front());
                       return one ? weigh(body, own, index, before, elements[0], one) : Value();
                     });
  }
  return sum;
}

/// Returns the weights as a result, of f32. A softmax gives their `sum`, by which they are divided; the weights of
/// hidden keys, and of rows without a visible key, are 0.
Value Parts::returned(Value weights, Value sum) {
  LoopNest nest(rows.dimensions, {}, rows.sizes, rows.extents);
  std::vector<Reading> read{{weights, subscriptsOf(rows.dimensions, rows.sizes)}};
  if (sum)
    read.push_back({sum, subscriptsOf(rowDimensions(rows), rows.sizes)});
  return linalg.make(nest, b.getF32Type(), std::nullopt, read, false,
                     [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &index) -> Value {
                       Value weight = sum ? meanOf(body, elements[0], elements[1]) : elements[0];
                       weight = castReal(body, weight, body.getF32Type());
                       if (!rows.mask)
                         return weight;
                       // hidden keys get 0 even where the sum is NaN
                       Value seen = index.emitPredicate(nest.over(*rows.mask));
                       Value zero = realConstant(body, body.getF32Type(), 0);
                       return seen ? arith::SelectOp::create(body, seen, weight, zero).getResult() : Value();
                     });
}
} // namespace

Converted skewer::convertAttention(attn::AttentionOp op, ImplicitLocOpBuilder &b, Structured &linalg) {
  Parts parts{op, b, linalg, {}, {}, {}};
  if (!parts.prepare())
    return {};
  parts.addScores();
  const subscript::Dimensions &dimensions = *parts.view->value->spec.result;
  LoopNest nest(dimensions, {}, parts.rows.sizes, parts.rows.extents);
  std::vector<Expr> point = subscriptsOf(dimensions, parts.rows.sizes);
  if (op.getDirect()) {
    Value weights = parts.directWeights();
    Type stored = getElementTypeOrSelf(op.getResult());
    Converted results{linalg.make(
        nest, stored, std::nullopt, {{parts.addValues(weights), point}}, false,
        [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &) { return elements[0]; })};
    if (op.getTotal())
      results.push_back(parts.totalOf(weights));
    if (op.getWeights())
      results.push_back(parts.returned(weights, {}));
    return results;
  }
  Exponentials exponentials = exponentialsOf(parts.rows, b, linalg);
  Value sum = parts.addValues(exponentials.powers);
  std::vector<Expr> row = subscriptsOf(rowDimensions(parts.rows), parts.rows.sizes);
  Type element = getElementTypeOrSelf(op.getResult());
  Converted results{linalg.make(nest, element, std::nullopt, {{sum, point}, {exponentials.sum, row}}, false,
                                [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &) {
                                  return meanOf(body, elements[0], elements[1]);
                                })};
  if (op.getLse())
    results.push_back(logSumOf(parts.rows, exponentials, b, linalg));
  if (op.getWeights())
    results.push_back(parts.returned(exponentials.powers, exponentials.sum));
  return results;
}
