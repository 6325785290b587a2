// Builds attn.attention from a candidate: its terms, the rearrangement of its result, and its lse. Last step of
// AttentionCandidate::form.
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/AttentionCandidate.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Factorise.h"
#include "passes/Fusion/ScaleVectors.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Returns the term's operands with contracted axes named in order of appearance.
Einsum AttentionCandidate::nameContracted(const Summand &term, AxisSizes &all, Substitution &names) const {
  all = sizes;
  auto visit = [&](const Expr &e) {
    if (e.isSymbol() && term.contracted.count(e.name()) && !names.count(e.name()) && !sizes.count(e.name())) {
      std::string name = numbered(kDepthAxis, names.size());
      names[e.name()] = Expr::symbol(name);
      all[name] = term.contracted.at(e.name());
    }
  };
  Einsum spec;
  for (const Factor &factor : term.factors)
    for (const Expr &subscript : factor.subscripts)
      visit(subscript);
  // Contracted axes that no operand has alone: "b n (h d)" in queries and keys.
  for (const Factor &factor : term.factors)
    for (const Expr &subscript : factor.subscripts)
      for (const std::string &symbol : symbolsOf(subscript))
        visit(Expr::symbol(symbol));
  for (const Factor &factor : term.factors) {
    Dimensions dimensions;
    std::vector<int64_t> extents = shapeOf(factor.operand);
    for (auto [subscript, extent] : llvm::zip(factor.subscripts, extents))
      dimensions.push_back(dimensionFor(substitute(subscript, names), all, extent));
    spec.operands.push_back(std::move(dimensions));
  }
  return spec;
}

TermOp AttentionCandidate::buildTerm(OpBuilder &builder, const Summand &term) const {
  AxisSizes axes;
  Substitution names;
  Einsum spec = nameContracted(term, axes, names);
  SmallVector<Value> operands;
  for (const Factor &factor : term.factors)
    operands.push_back(factor.operand);
  std::optional<Expr> factor = term.value;
  if (factor && factor->isConstant(1) && !operands.empty())
    factor.reset();
  if (!factor && operands.empty() && !term.application)
    factor = Expr(1);
  Expr guard = canonicalGuard(term.guard, query, key, domainOf(sizes));
  auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
  AxisSizes given;
  for (const auto &entry : names) {
    const std::string &axis = entry.first;
    if (llvm::none_of(term.factors, [&](const Factor &f) { return sizesAxis(f, axis, term.contracted); }))
      given[entry.second.name()] = term.contracted.at(axis);
  }
  auto op = TermOp::create(
      builder, term.location, text(print(spec)), guard.isConstant(1) ? StringAttr() : text(print(guard)),
      factor ? text(print(*factor)) : StringAttr(), builder.getF64FloatAttr(term.scale), operands, term.sum);
  if (!given.empty())
    op.setSizesAttr(sizesTo(builder.getContext(), given));
  if (term.application) {
    SmallVector<Attribute> arguments;
    for (const Application::Argument &argument : term.application->arguments)
      arguments.push_back(text(printArgument(argument)));
    op.setFunctionAttr(text(term.application->function->name().str()));
    op.setArgumentsAttr(builder.getArrayAttr(arguments));
  }
  bindIndices(op);
  return op;
}

/// Returns whether the verifier accepts the attention. Its messages are hidden: they would be about the IR that this
/// pass writes, not about the program.
static bool verifies(AttentionOp attention) {
  uint64_t thread = llvm::get_threadid(); // other functions may run on other threads and emit diagnostics
  ScopedDiagnosticHandler quiet(attention.getContext(),
                                [&](Diagnostic &) { return success(llvm::get_threadid() == thread); });
  return succeeded(verify(attention));
}

/// The fused form over the named axes.
struct AttentionCandidate::FusedForm {
  Dimensions space, rows, result;    // of the scores, of one number per row, of the result
  SmallVector<int64_t> shape;        // of the result
  Einsum values;                     // how the values are read
  // Rearrange the results to the program's order and grouping of axes; `same…`: the order and grouping are equal.
  Einsum reorder, reorderRows, reorderWeights;
  bool same = true, sameRows = true, sameWeights = true;
  std::vector<int64_t> rowShape;
};

/// Returns whether the attention also gives one number per row: the logarithm of a softmax's sum, or the sum of direct
/// weights.
bool AttentionCandidate::hasRows() const { return !logSumExps.empty() || !source.totals.empty(); }

/// Returns the fused form; nothing if the program's result is not a reordering or regrouping of the axes.
std::optional<AttentionCandidate::FusedForm> AttentionCandidate::fusedForm() {
  FusedForm form;
  auto add = [&](const std::vector<std::string> &axes) { addProduct(axes, sizes, form.result, form.shape); };
  for (const std::string &name : leading)
    add({name});
  add(query);
  form.space = form.rows = form.result;
  form.space.push_back({key, {}});
  for (const std::string &name : valueAxes)
    add({name});

  AxisSizes all;
  Substitution none;
  form.values = nameContracted(value, all, none);
  // A single key, and a value axis of one element, are read at the constant 0.
  std::vector<std::string> single;
  for (const std::vector<std::string> &names : {key, valueAxes})
    llvm::copy_if(names, std::back_inserter(single), [&](const std::string &name) { return sizes[name] == 1; });
  restoreSingles(form.values.operands[0], shapeOf(value.factors[0].operand), single);
  form.values.result = form.result;

  auto reorder = arrangementOf(form.result, resultIndices, shapeOf(product.getResult()), form.same);
  std::optional<Einsum> reorderRows = Einsum();
  form.rowShape = shapeOf(source.weights);
  form.rowShape.erase(form.rowShape.begin() + static_cast<ptrdiff_t>(keyDimension));
  if (hasRows()) {
    std::vector<Expr> rowIndices = at;
    rowIndices.erase(rowIndices.begin() + keyDimension);
    reorderRows = arrangementOf(form.rows, rowIndices, form.rowShape, form.sameRows);
  }
  std::optional<Einsum> reorderWeights = Einsum();
  if (!source.stored.empty())
    reorderWeights = arrangementOf(form.space, at, shapeOf(source.weights), form.sameWeights);
  if (!reorder || !reorderRows || !reorderWeights)
    return std::nullopt;
  form.reorder = *reorder, form.reorderRows = *reorderRows, form.reorderWeights = *reorderWeights;
  return form;
}

/// Returns the sizes of queries and keys that no operand dimension tells.
AxisSizes AttentionCandidate::untoldSizes(const FusedForm &form) {
  AxisSizes given;
  for (const std::vector<std::string> *side : {&query, &key})
    for (const std::string &name : *side)
      if (side->size() > 1)
        given[name] = sizes[name];
  // If the operand has more keys than the attention, or reads them at a stride or in overlapping blocks, no dimension
  // tells their number.
  std::set<std::string> told;
  for (const Dimension &dimension : form.values.operands[0])
    told.insert(dimension.axes.begin(), dimension.axes.end());
  for (const std::string &name : key)
    if (!told.count(name))
      given[name] = sizes[name];
  return given;
}

/// Creates the operation with its terms. It may not verify.
AttentionOp AttentionCandidate::create(OpBuilder &builder, const FusedForm &form) {
  auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
  auto type = RankedTensorType::get(form.shape, getElementTypeOrSelf(product));
  Type rowType;
  if (hasRows())
    rowType = RankedTensorType::get(ArrayRef<int64_t>(form.shape).take_front(form.rows.size()), builder.getF32Type());
  Type weightType;
  if (!source.stored.empty()) {
    auto shape = llvm::to_vector(ArrayRef<int64_t>(form.shape).take_front(form.rows.size()));
    Dimensions keys;
    addProduct(key, sizes, keys, shape);
    weightType = RankedTensorType::get(shape, builder.getF32Type());
  }
  AxisSizes given = untoldSizes(form);
  auto attention = AttentionOp::create(
      builder, product.getLoc(), type, text(print(form.space)), sizesTo(builder.getContext(), given),
      mask ? text(print(*mask)) : StringAttr(), text(print(form.values)), value.factors[0].operand, ScheduleInterface(),
      source.direct ? Type() : rowType, source.direct ? rowType : Type(), source.direct, weightType);
  bindIndices(attention);
  Block *body = builder.createBlock(&attention.getScore());
  builder.setInsertionPointToStart(body);
  for (const Summand &term : terms)
    buildTerm(builder, term);
  if (function && !function->isIdentity())
    function->emit(builder, attention.getThrough());
  if (!valueTerms.empty())
    builder.createBlock(&attention.getValues());
  for (const Summand &term : valueTerms)
    buildTerm(builder, term);
  return attention;
}

/// Replaces the program's uses of the weights by the results of the attention.
void AttentionCandidate::replaceProgram(OpBuilder &builder, AttentionOp attention, const FusedForm &form) {
  builder.setInsertionPoint(uses.root.getDefiningOp());
  AxisSizes positionSizes;
  auto rearranged = [&](Value tensor, Type type, const Einsum &spec) -> Value {
    auto sizesAttr = sizesTo(builder.getContext(), positionSizes);
    return RearrangeOp::create(builder, tensor.getLoc(), type, builder.getStringAttr(print(spec)), sizesAttr, tensor);
  };
  auto addSizes = [&](const std::vector<std::string> &axes) {
    for (const std::string &name : axes)
      if (axes.size() > 1)
        positionSizes[name] = sizes[name];
  };
  addSizes(query);
  Value output = attention.getResult();
  if (!form.same)
    output = rearranged(output, product.getType(), form.reorder);
  bool rows = hasRows();
  if (rows) {
    Value numbers = source.direct ? attention.getTotal() : withQueryOnly(builder, attention.getLse());
    if (!form.sameRows)
      numbers = rearranged(numbers, tensorType(form.rowShape, builder.getF32Type()), form.reorderRows);
    for (LogSumExpOp op : logSumExps)
      op.getResult().replaceAllUsesWith(numbers);
    replaceTotals(builder, numbers);
  }
  Block *block = attention->getBlock();
  if (!source.stored.empty()) {
    addSizes(key);
    Value weights = attention.getWeights();
    if (!form.sameWeights)
      weights = rearranged(weights, source.weights.getType(), form.reorderWeights);
    for (OpOperand *use : source.stored)
      use->set(weights);
  }
  replaceSum(builder, uses, output, valueScale == 1 ? Value() : valueFactor);
  for (LogSumExpOp op : logSumExps)
    op.erase();
  for (EinsumOp op : source.totals)
    op.erase();
  if (rows || !source.stored.empty()) // they may have been read before the product with the values
    sortTopologically(block);
}

std::optional<Refusal> AttentionCandidate::build() {
  auto form = fusedForm();
  if (!form)
    return Refusal{"the result is arranged in a way that is no product of its axes"};
  OpBuilder builder(uses.root.getDefiningOp());
  AttentionOp attention = create(builder, *form);
  if (!verifies(attention)) {
    attention.erase();
    return Refusal{"the fused form has no words for how an operand is read"};
  }
  replaceProgram(builder, attention, *form);
  return std::nullopt;
}

/// Replaces sums of weights over keys by views of the row sums, if they have another order of dimensions or repeat
/// along an axis.
void AttentionCandidate::replaceTotals(OpBuilder &builder, Value total) const {
  for (EinsumOp op : source.totals) {
    ResolvedEinsum resolved = resolve(op);
    Dimensions rows = resolved.spec.operands[0];
    rows.erase(rows.begin() + static_cast<ptrdiff_t>(keyDimension));
    AxisSizes given = sizesFrom(op.getSizesAttr());
    for (const Dimension &dimension : rows)
      for (const std::string &axis : dimension.axes)
        if (dimension.axes.size() > 1)
          given[axis] = resolved.sizes.at(axis);
    Value view = total;
    if (print(rows) != print(*resolved.spec.result)) {
      Einsum spec;
      spec.operands = {rows};
      spec.result = resolved.spec.result;
      view = EinsumOp::create(builder, op.getLoc(), op.getType(), builder.getStringAttr(print(spec)),
                              sizesTo(builder.getContext(), given), StringAttr(), total);
    }
    op.getResult().replaceAllUsesWith(view);
  }
}

/// Returns the rearrangement from a tensor of dimensions `has` to one of shape `shape` whose indices are `wanted`.
/// Returns nothing if that is not a reordering or regrouping of its axes.
std::optional<Einsum> AttentionCandidate::arrangementOf(const Dimensions &has, ArrayRef<Expr> wanted,
                                                        ArrayRef<int64_t> shape, bool &same) const {
  Einsum spec;
  spec.operands = {has};
  spec.result.emplace();
  for (const Expr &index : wanted)
    spec.result->push_back(dimensionFor(simplify(index, domainOf(sizes)), sizes));
  std::vector<std::string> single;
  for (const Dimension &dimension : has)
    llvm::copy_if(dimension.axes, std::back_inserter(single),
                  [&](const std::string &name) { return sizes.at(name) == 1; });
  restoreSingles(*spec.result, shape, single);
  same = print(*spec.result) == print(has);
  for (const Dimension &dimension : *spec.result)
    if (!dimension.isProduct() && !dimension.index.isConstant(0))
      return std::nullopt;
  return spec;
}

/// Returns a term that depends on the query alone, without its scale, as one number per row; null if it is not an
/// einsum over the rows.
Value AttentionCandidate::rowsOf(OpBuilder &builder, const Summand &term) {
  if (term.value || term.factors.empty() || term.application)
    return {};
  // A mask may have kept an index inside, and a mask may leave some rows no key.
  Domain domain = domainOf(sizes);
  for (const auto &[axis, size] : term.contracted)
    domain[axis] = {0, size - 1};
  for (const Factor &factor : term.factors)
    for (auto [subscript, extent] : llvm::zip(factor.subscripts, shapeOf(factor.operand)))
      if (extent != kRuntime && proveWithin(subscript, {0, extent - 1}, domain, term.guard).outcome != Proof::Proven)
        return {};
  std::vector<std::string> names = leading;
  names.push_back(kQueryAxis);
  Summand product = term;
  product.scale = 1;
  auto shape = llvm::map_to_vector(names, [&](const std::string &name) { return sizes[name]; });
  return buildEinsum(builder, product, names, tensorType(shape, builder.getF32Type()));
}

/// Returns whether a term that depends on the query alone is an einsum over the rows. If so, it is added to the lse;
/// otherwise it stays a term.
bool AttentionCandidate::isAddedAfterwards(const Summand &term) {
  OpBuilder builder(uses.root.getDefiningOp());
  Value sum = rowsOf(builder, term);
  if (sum)
    queryOnly.push_back({sum, term.scale});
  return static_cast<bool>(sum);
}

Value AttentionCandidate::withQueryOnly(OpBuilder &builder, Value lse) const {
  for (auto [sum, factor] : queryOnly) {
    Location location = sum.getLoc();
    Value scaled = arith::MulFOp::create(builder, location, sum, numberLike(builder, location, lse, factor));
    lse = arith::AddFOp::create(builder, location, lse, scaled);
  }
  return lse;
}

/// Returns whether an operand of the attention depends on an operation for which `isSought` holds.
bool AttentionCandidate::readsWhatFollows(llvm::function_ref<bool(Operation *)> isSought) const {
  llvm::DenseSet<Operation *> seen;
  std::function<bool(Value)> reaches = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && seen.insert(op).second && (isSought(op) || llvm::any_of(op->getOperands(), reaches));
  };
  auto reads = [&](const Summand &summand) {
    return llvm::any_of(summand.factors, [&](const Factor &factor) { return reaches(factor.operand); });
  };
  return reads(value) || llvm::any_of(terms, reads) || llvm::any_of(valueTerms, reads);
}

/// Returns whether an operand of the attention depends on its own lse: one operation cannot compute both.
bool AttentionCandidate::dependsOnLse() const {
  return readsWhatFollows([&](Operation *op) {
    auto own = dyn_cast<LogSumExpOp>(op);
    return own && llvm::is_contained(logSumExps, own);
  });
}

/// Refuses an attention whose operands depend on the weights that it would store.
std::optional<Refusal> AttentionCandidate::refuseOwnWeights() {
  if (source.stored.empty() || !readsWhatFollows([&](Operation *op) { return op == source.operation; }))
    return std::nullopt;
  return Refusal{"what the weights meet is made of them"};
}
