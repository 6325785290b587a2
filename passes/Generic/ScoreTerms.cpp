// Plans and emits the score of an attention at one query and key, by its index expressions.
#include "passes/Generic/ScoreTerms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Emit/EmitThrough.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

std::optional<AttentionPlan> ScoreTerms::planOf(attn::AttentionOp op) {
  AttentionPlan result;
  auto view = attn::viewOf(op);
  result.space = view->space;
  const attn::ScoreSpace &space = result.space;
  if (!view->value || !view->value->spec.result)
    return fail(op, "the value spec does not resolve"), std::nullopt;
  const attn::ResolvedEinsum &value = *view->value;
  auto extents = tensors.extentsOf(op);
  if (!extents)
    return fail(op, "a run-time size of the score is no operand's dimension"), std::nullopt;
  auto axesOf = [&](std::initializer_list<const std::vector<std::string> *> groups) {
    std::vector<Axis> axes;
    for (const std::vector<std::string> *group : groups)
      for (const std::string &axis : *group)
        axes.push_back({axis, (*extents)[axis]});
    return axes;
  };
  result.outer = axesOf({&space.leading, &space.query});
  result.keys = axesOf({&space.key});
  result.width = axesOf({&space.value});
  code.addRuntimeSizes(*extents, result.symbols);
  result.mask = view->mask;
  result.value = value.subscripts[0];
  for (const subscript::Dimension &dimension : *value.spec.result)
    result.result.push_back(subscript::flatIndex(dimension, value.sizes));
  auto pairs = subscript::parseDimensions(std::string_view(op.getSpace()));
  for (const subscript::Dimension &dimension : *pairs)
    result.weights.push_back(subscript::flatIndex(dimension, space.sizes));
  result.lse = result.weights;
  result.lse.pop_back(); // without the keys
  for (const std::vector<attn::Term> *side : {&view->score, &view->values})
    for (const attn::Term &term : *side) {
      ScoreTerm described;
      described.term = {view, &term};
      attn::TermOp source = term.op;
      for (auto [place, operand, subscripts] : llvm::enumerate(source.getInputs(), term.einsum.subscripts)) {
        described.arguments.emplace_back().factors.push_back({&tensors.storage[operand], subscripts});
        if (!term.application || !term.application->takes(place))
          described.product.factors.push_back({&tensors.storage[operand], subscripts});
      }
      for (const std::string &axis : term.einsum.contracted) {
        if (term.sizeOf(axis) == subscript::kRuntime)
          return fail(source, "axis '" + axis + "' of run-time size is contracted"), std::nullopt;
        described.product.contracted.push_back({axis, {"", term.sizeOf(axis)}});
      }
      (term.isOfValues ? result.valueTerms : result.terms).push_back(std::move(described));
    }
  return result;
}

Value ScoreTerms::scoreOf(attn::AttentionOp op, const AttentionPlan &planned, Symbols &symbols) {
  SmallVector<Value> sums;
  for (int64_t sum = 0; sum < op.getSums(); ++sum)
    sums.push_back(sumOf(planned.terms, symbols, static_cast<uint64_t>(sum)));
  return emitThrough(b, op.getThrough(), sums);
}

Value ScoreTerms::sumOf(const std::vector<ScoreTerm> &terms, Symbols &symbols, uint64_t which) {
  auto number = [&](const Expr &position) -> Value {
    Value integer = arith::IndexCastOp::create(b, b.getI64Type(), code.value(position, symbols));
    return arith::SIToFPOp::create(b, b.getF32Type(), integer);
  };
  Value sum = code.real(0);
  for (const ScoreTerm &planned : terms) {
    const attn::Term &term = *planned.term;
    if (term.sum != which)
      continue;
    auto one = [&]() -> Value {
      Value product = planned.product.factors.empty() ? code.real(1) : contractions.dot(planned.product, symbols);
      if (term.factor)
        product = arith::MulFOp::create(b, product, number(*term.factor));
      if (term.application) {
        SmallVector<Value> arguments;
        for (const attn::Application::Argument &argument : term.application->arguments)
          arguments.push_back(argument.operand >= 0 ? contractions.dot(planned.arguments[argument.operand], symbols)
                                                    : number(argument.position));
        Value applied = term.application->function->emit(b, b.getLoc(), arguments);
        product = arith::MulFOp::create(b, product, applied);
      }
      return term.scale == 1 ? product : arith::MulFOp::create(b, product, code.real(term.scale)).getResult();
    };
    const std::optional<Expr> &guard = term.einsum.guard;
    Value here = guard ? code.guarded(code.predicate(*guard, symbols), code.real(0), one) : one();
    sum = arith::AddFOp::create(b, sum, here);
  }
  return sum;
}
