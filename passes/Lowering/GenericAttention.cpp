// An attention that cannot fuse: one row of scores at a time.
#include "dialect/IR/ElementFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Lowering/GenericKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

bool Kernel::emitRows(attn::AttentionOp op) {
  attn::ScoreSpace space = attn::scoreSpace(op);
  DictionaryAttr known = attn::sizesTo(op.getContext(), space.sizes);
  auto value = attn::resolve(op.getValueSpec(), op.getValue(), known, std::nullopt);
  if (!value || !value->spec.result)
    return fail(op, "the value spec does not resolve");
  auto extents = extentsOf(op);
  if (!extents)
    return fail(op, "a run-time size of the score is no operand's dimension");
  auto axesOf = [&](std::initializer_list<const std::vector<std::string> *> groups) {
    std::vector<Axis> axes;
    for (const std::vector<std::string> *group : groups)
      for (const std::string &axis : *group)
        axes.push_back({axis, (*extents)[axis]});
    return axes;
  };
  std::vector<Axis> keys = axesOf({&space.key});
  Expr key = 0; // its place in the row of scores
  for (const Axis &axis : keys)
    key = key * Expr(axis.extent.fixed) + Expr::symbol(axis.name);
  std::optional<Expr> mask;
  if (op.getMask()) {
    mask = subscript::parse(std::string_view(*op.getMask()));
    if (!mask)
      return fail(op, "the mask does not parse");
  }

  struct Term {
    Contraction product;
    std::optional<Expr> guard, value;
    std::optional<attn::Application> application;
    std::vector<Contraction> arguments; // of the function: single elements
    double scale;
  };
  std::vector<Term> terms, valueTerms;
  for (attn::TermOp term : attn::termsOf(op)) {
    attn::ResolvedEinsum resolved = resolve(term);
    Term described;
    if (resolved.subscripts.size() != term.getInputs().size())
      return fail(term, "the subscripts do not resolve");
    described.application = attn::applicationOf(term);
    for (auto [place, operand, subscripts] : llvm::enumerate(term.getInputs(), resolved.subscripts)) {
      described.arguments.push_back({{{&storage[operand], subscripts}}, {}});
      if (!described.application || !described.application->takes(place))
        described.product.factors.push_back({&storage[operand], subscripts});
    }
    for (const std::string &axis : resolved.contracted)
      if (resolved.sizes.at(axis) == subscript::kRuntime)
        return fail(term, "axis '" + axis + "' of run-time size is contracted");
    for (const std::string &axis : resolved.contracted)
      described.product.contracted.push_back({axis, {"", resolved.sizes.at(axis)}});
    described.guard = resolved.guard;
    if (term.getValue()) {
      described.value = subscript::parse(std::string_view(*term.getValue()));
      if (!described.value)
        return fail(term, "the value does not parse");
    }
    described.scale = term.getScale().convertToDouble();
    (term.isValueSide() ? valueTerms : terms).push_back(std::move(described));
  }

  Storage row;
  row.element = b.getF32Type();
  row.shape = {{"", space.keys()}};
  row.masked = mask.has_value();
  row.memory = memref::ViewOp::create(b, MemRefType::get({ShapedType::kDynamic}, row.element), phase.local, index(0),
                                      ValueRange{index(space.keys())});
  plan.localBytes = std::max<int64_t>(plan.localBytes, llvm::alignTo(space.keys() * 4, 64));
  Symbols symbols;
  addRuntimeSizes(*extents, symbols);
  std::vector<Axis> outer = axesOf({&space.leading, &space.query});
  items(outer, outer.size(), symbols, [&](ArrayRef<Axis> rest) {
    loops(rest, symbols, [&] {
      auto visible = [&](Value otherwise, const std::function<Value()> &body) {
        return mask ? guarded(predicate(*mask, symbols), otherwise, body) : body();
      };
      auto place = [&] { return position(row, key, symbols); };
      auto sumOf = [&](const std::vector<Term> &terms) {
        Value sum = real(0);
        for (const Term &term : terms) {
          auto one = [&]() -> Value {
            Value product = term.product.factors.empty() ? real(1) : dot(term.product, symbols);
            auto number = [&](const Expr &position) -> Value {
              Value integer = arith::IndexCastOp::create(b, b.getI64Type(), this->value(position, symbols));
              return arith::SIToFPOp::create(b, b.getF32Type(), integer);
            };
            if (term.value)
              product = arith::MulFOp::create(b, product, number(*term.value));
            if (term.application) {
              SmallVector<Value> arguments;
              for (const attn::Application::Argument &argument : term.application->arguments)
                arguments.push_back(argument.operand >= 0 ? dot(term.arguments[argument.operand], symbols)
                                                          : number(argument.position));
              Value applied = term.application->function->emit(b, b.getLoc(), arguments);
              product = arith::MulFOp::create(b, product, applied);
            }
            return term.scale == 1 ? product : arith::MulFOp::create(b, product, real(term.scale)).getResult();
          };
          Value here = term.guard ? guarded(predicate(*term.guard, symbols), real(0), one) : one();
          sum = arith::AddFOp::create(b, sum, here);
        }
        return sum;
      };
      // A NaN passes the maximum by and reaches the sum, and so the whole row.
      Value largest = carry(keys, symbols, real(-INFINITY), [&](ValueRange so) -> SmallVector<Value> {
        return {visible(so[0], [&]() -> Value {
          Value one = sumOf(terms);
          store(one, row, place());
          return arith::MaxNumFOp::create(b, so[0], one);
        })};
      })[0];
      if (op.getLse()) { // scores of -inf alone leave -inf, as a row without keys does
        Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, real(-INFINITY));
        largest = arith::SelectOp::create(b, none, real(0), largest);
      }
      Value sum = carry(keys, symbols, real(0), [&](ValueRange so) -> SmallVector<Value> {
        Value power = visible(real(0), [&]() -> Value {
          return math::ExpOp::create(b, arith::SubFOp::create(b, load(row, place()), largest));
        });
        store(power, row, place());
        return {arith::AddFOp::create(b, so[0], power)};
      })[0];
      if (op.getLse()) {
        const Storage &target = storage[op.getLse()];
        std::vector<Expr> subscripts;
        for (const subscript::Dimension &dimension :
             subscript::parseDimensions(std::string_view(op.getSpace())).value())
          subscripts.push_back(subscript::flatIndex(dimension, space.sizes));
        subscripts.pop_back();
        Value total = arith::AddFOp::create(b, largest, math::LogOp::create(b, sum));
        store(total, target, position(target, subscripts, symbols));
      }
      Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, real(0));
      Value inverse = arith::DivFOp::create(b, real(1), arith::SelectOp::create(b, empty, real(1), sum));
      if (!valueTerms.empty()) { // they differ from query to query, so that there is no product to make
        loops(axesOf({&space.value}), symbols, [&] {
          Value total = carry(keys, symbols, real(0), [&](ValueRange so) -> SmallVector<Value> {
            return {visible(so[0], [&]() -> Value {
              const Storage &values = storage[op.getValue()];
              Value element = load(values, position(values, value->subscripts[0], symbols));
              element = arith::AddFOp::create(b, element, sumOf(valueTerms));
              return arith::AddFOp::create(b, so[0], arith::MulFOp::create(b, load(row, place()), element));
            })};
          })[0];
          std::vector<Expr> subscripts;
          for (const subscript::Dimension &dimension : *value->spec.result)
            subscripts.push_back(subscript::flatIndex(dimension, value->sizes));
          const Storage &target = storage[op.getResult()];
          store(arith::MulFOp::create(b, total, inverse), target, position(target, subscripts, symbols));
        });
        return;
      }
      Contraction output;
      output.factors = {{&row, {key}}, {&storage[op.getValue()], value->subscripts[0]}};
      output.contracted = keys;
      output.parallel = axesOf({&space.value});
      output.target = &storage[op.getResult()];
      for (const subscript::Dimension &dimension : *value->spec.result)
        output.targetSubscripts.push_back(subscript::flatIndex(dimension, value->sizes));
      output.finish = [&](Value total) -> Value {
        return arith::MulFOp::create(b, total, isa<VectorType>(total.getType()) ? spread(inverse) : inverse);
      };
      contract(output, symbols);
    });
  });
  return true;
}
