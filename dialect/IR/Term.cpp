// Parses and resolves an attention once for each state of the operation.
#include "dialect/IR/Term.h"
#include "dialect/IR/TermViews.h"
#include "dialect/Subscript/Checks.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

bool skewer::attn::staysInside(Value operand, ArrayRef<Expr> subscripts, const Domain &within,
                               const std::optional<Expr> &guard) {
  for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand)))
    if (extent != kRuntime && proveWithin(subscript, {0, extent - 1}, within, guard).outcome != Proof::Proven)
      return false;
  return true;
}

bool Term::staysInside(const std::optional<Expr> &guard) const {
  for (auto [operand, subscripts] : llvm::zip(TermOp(op).getInputs(), einsum.subscripts))
    if (!attn::staysInside(operand, subscripts, domain, guard))
      return false;
  return true;
}

Domain skewer::attn::domainOf(const AxisSizes &sizes, const ScoreSpace &space) {
  Domain domain = subscript::domainOf(sizes);
  domain.insert(space.elements.begin(), space.elements.end());
  return domain;
}
Domain skewer::attn::domainOf(const ScoreSpace &space) { return domainOf(space.sizes, space); }

bool Term::repeats(const std::optional<Expr> &mask) const {
  if (!einsum.guard || !mask)
    return false;
  Domain positions = domainOf(*space);
  return simplify(*mask, positions) == simplify(*einsum.guard, positions);
}

static Term read(TermOp op, const ScoreSpace &space) {
  Term term;
  term.op = op;
  term.space = &space;
  term.einsum = resolve(op, space);
  if (op.getValue())
    term.factor = parse(std::string_view(*op.getValue()));
  term.application = applicationOf(op);
  term.scale = op.getTermScale();
  term.sum = op.getSum();
  term.isOfValues = op.isValueSide();
  for (Value input : op.getInputs())
    term.shapes.push_back(shapeOf(input));
  term.domain = domainOf(term.einsum.sizes, space);
  return term;
}

static std::shared_ptr<const AttentionView> read(AttentionOp op) {
  auto view = std::make_shared<AttentionView>();
  view->space = scoreSpace(op);
  view->domain = domainOf(view->space);
  if (op.getMask())
    view->mask = parse(std::string_view(*op.getMask()));
  auto valueWith = [&](const AxisSizes &sizes) {
    return resolve(op.getValueSpec(), op.getValue(), sizesTo(op.getContext(), sizes), std::nullopt,
                   kernelIndices(op));
  };
  AxisSizes known;
  for (const auto &[axis, size] : view->space.sizes)
    if (size != kRuntime)
      known[axis] = size;
  view->value = valueWith(known);
  view->sharesValues = !view->value;
  if (!view->value)
    view->value = valueWith(view->space.sizes);
  for (TermOp term : termsOf(op)) // terms hold the address of the space, which is complete and stays
    (term.isValueSide() ? view->values : view->score).push_back(read(term, view->space));
  return view;
}

std::vector<std::string> AttentionView::namesTaken() const {
  std::vector<std::string> names = space.leading;
  for (const std::vector<Term> *side : {&score, &values})
    for (const Term &term : *side)
      llvm::append_range(names, term.einsum.spec.axes());
  llvm::append_range(names, space.value);
  return names;
}

bool AttentionView::hasFunctions() const {
  auto applies = [](const Term &term) { return bool(TermOp(term.op).getFunction()); };
  return llvm::any_of(score, applies) || llvm::any_of(values, applies);
}

//===- The views of a context ---===//

/// Returns everything that a view is made from. Attributes and types are unique in their context, so their addresses
/// identify them. A value's address together with its type identifies the value that is read.
static TermViews::State stateOf(AttentionOp op) {
  TermViews::State state;
  auto add = [&](const auto &unique) { state.push_back(reinterpret_cast<uintptr_t>(unique.getAsOpaquePointer())); };
  auto addValue = [&](Value value) {
    add(value);
    add(value.getType());
  };
  for (Attribute text :
       {Attribute(op.getSpaceAttr()), Attribute(op.getValueSpecAttr()), Attribute(op.getSizesAttr()),
        Attribute(op.getMaskAttr())})
    add(text);
  addValue(op.getValue());
  add(op.getResult().getType());
  for (TermOp term : termsOf(op)) {
    state.push_back(reinterpret_cast<uintptr_t>(term.getOperation()));
    state.push_back(term.isValueSide());
    add(term->getAttrDictionary());
    for (Value input : term.getInputs())
      addValue(input);
  }
  for (const auto &[name, operand] : kernelIndices(op)) {
    add(StringAttr::get(op.getContext(), name));
    addValue(operand);
    if (auto range = rangeOf(operand)) {
      state.push_back(static_cast<uintptr_t>(range->low));
      state.push_back(static_cast<uintptr_t>(range->high));
    }
  }
  return state;
}

std::shared_ptr<const AttentionView> TermViews::of(AttentionOp op) {
  State state = stateOf(op);
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto known = entries.find(op);
    if (known != entries.end() && known->second.state == state)
      return known->second.view;
  }
  std::shared_ptr<const AttentionView> view = read(op); // may take long: other threads may ask meanwhile
  std::lock_guard<std::mutex> lock(mutex);
  if (entries.size() >= kMostViews)
    entries.clear();
  entries[op] = {std::move(state), view};
  return view;
}

std::shared_ptr<const AttentionView> skewer::attn::viewOf(AttentionOp op) {
  auto *dialect = op.getContext()->getLoadedDialect<AttnDialect>();
  return dialect->getRegisteredInterface<TermViews>()->of(op);
}

std::shared_ptr<const Term> skewer::attn::termOf(TermOp op) {
  auto view = viewOf(cast<AttentionOp>(op->getParentOp()));
  const std::vector<Term> &side = op.isValueSide() ? view->values : view->score;
  auto found = llvm::find_if(side, [&](const Term &term) { return term.op == op; });
  return {view, &*found};
}
