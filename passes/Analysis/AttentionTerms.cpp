// Terms of the score, each by what its index expressions let a kernel do.
#include "passes/Analysis/AttentionAnalyzer.h"
#include "passes/Analysis/LaneFit.h"
#include "passes/Analysis/TermStrategy.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer {
/// Whether that holds for every operand of a term.
static bool staysInside(const ResolvedEinsum &einsum, const std::optional<Expr> &guard, TermOp op,
                        const Domain &within) {
  for (auto [operand, subscripts] : llvm::zip(op.getInputs(), einsum.subscripts))
    if (!staysInside(operand, subscripts, within, guard))
      return false;
  return true;
}

static bool usesAny(const SplitOffset &offset, const std::vector<std::string> &axes) {
  return llvm::any_of(axes, [&](const std::string &axis) { return offset.axes.count(axis) != 0; });
}
} // namespace skewer

bool AttentionAnalyzer::addOffsetTerm(const ResolvedEinsum &einsum, ArrayRef<SplitOffset> offsets,
                                      ArrayRef<unsigned> arguments, TermOp term, AttentionShape &shape) {
  Domain ranged = domainOf(einsum.sizes);
  ranged.insert(space.elements.begin(), space.elements.end());
  for (unsigned table : {1u, 0u}) {
    const SplitOffset &q = offsets[1 - table], &t = offsets[table];
    if (usesAny(q, space.key) || !usesAny(t, space.key) || !usesAny(t, space.query) ||
        !staysInside(term.getInputs()[1 - table], einsum.subscripts[1 - table], ranged, std::nullopt))
      continue;
    // Which dimension of the table holds the row, and which axes pick it.
    const auto &subscripts = einsum.subscripts[table];
    auto shapeOfTable = cast<RankedTensorType>(term.getInputs()[table].getType()).getShape();
    Domain within = domainOf(einsum.sizes);
    within.insert(space.elements.begin(), space.elements.end());
    for (size_t dimension = 0; dimension < subscripts.size(); ++dimension) {
      auto offset = asOffset(subscripts[dimension], query, key, within);
      if (!offset)
        continue;
      OffsetTerm result;
      auto queryWalk = walk(q, arguments[1 - table], einsum.contracted);
      if (!queryWalk)
        return false;
      result.query = *queryWalk;
      result.table = arguments[table];
      result.rowStride = 1;
      for (size_t later = dimension + 1; later < shapeOfTable.size(); ++later)
        result.rowStride *= shapeOfTable[later];
      // What remains without the row: a base over the leading axes and the contracted axis.
      std::vector<Expr> rest = subscripts;
      rest[dimension] = 0;
      auto remaining = split(flatten(rest, term.getInputs()[table]), within);
      if (!remaining || usesAny(*remaining, space.key) || usesAny(*remaining, space.query))
        return false;
      result.tableBase = remaining->base;
      result.tableAxes = leadingAxesIn({remaining->base}, space);
      // Tables are packed before anything of run-time size is known.
      if (countOf(result.tableAxes, space) == kRuntime)
        return false;
      if (!einsum.contracted.empty()) {
        auto found = remaining->axes.find(einsum.contracted.front());
        result.depthStride = found == remaining->axes.end() ? 0 : found->second;
        result.depth = einsum.sizes.at(einsum.contracted.front());
      }
      result.rows = shapeOfTable[dimension];
      if (Expr extent = extentsOf(term.getInputs()[table])[dimension]; !extent.isConstant())
        result.rowLength = extent;
      result.sign = offset->sign;
      result.constant = offset->constant;
      result.shift = offset->shift;
      result.scale = term.getTermScale();
      result.sum = term.getSum();
      auto find = [](const std::vector<std::string> &axes, const std::vector<MapAxis> &maps, const std::string &name) {
        for (size_t k = 0; k < axes.size(); ++k)
          if (axes[k] == name)
            return maps[k];
        return MapAxis();
      };
      result.queryAxis = find(space.query, shape.queryAxes, offset->query);
      result.keyAxis = find(space.key, shape.keyAxes, offset->key);
      // A line over the keys is read skewed by whole positions; a window over an axis belongs to a map of keys.
      bool whole = result.queryAxis.isWhole(shape.queries) && result.keyAxis.isWhole(shape.keys);
      if (!whole && shape.keyAxes.size() == 1)
        continue;
      shape.offsets.push_back(std::move(result));
      shape.roles.push_back(TermRole::Offset);
      return true;
    }
  }
  return false;
}

bool AttentionAnalyzer::addRowTerm(const ResolvedEinsum &einsum, ArrayRef<unsigned> arguments,
                                   const std::optional<Expr> &guard, TermOp term, AttentionShape &shape) {
  if (term.getValue() || term.getFunction() || einsum.subscripts.size() != 2 || einsum.contracted.size() != 1)
    return false;
  Domain within = domainOf(einsum.sizes);
  within.insert(space.elements.begin(), space.elements.end());
  const std::string &depth = einsum.contracted.front();
  for (unsigned table : {1u, 0u}) {
    auto parts = split(flatten(einsum.subscripts[1 - table], term.getInputs()[1 - table]), within);
    if (!parts || (usesAny(*parts, space.query) && usesAny(*parts, space.key)) ||
        !staysInside(term.getInputs()[1 - table], einsum.subscripts[1 - table], within, std::nullopt))
      continue;
    auto vector = walk(*parts, arguments[1 - table], einsum.contracted);
    // The dimensions that positions pick stand side by side: together they are the row.
    const auto &subscripts = einsum.subscripts[table];
    SmallVector<size_t> picked;
    for (auto [dimension, subscript] : llvm::enumerate(subscripts))
      if (llvm::any_of(symbolsOf(subscript), [&](const std::string &s) { return query.count(s) || key.count(s); }))
        picked.push_back(dimension);
    if (!vector || picked.empty() || picked.back() - picked.front() + 1 != picked.size())
      continue;
    auto shapeOfTable = shapeOf(term.getInputs()[table]);
    // Rows lie evenly where what is within them is of known size; of several dimensions that are picked, all but the
    // first are.
    std::vector<Expr> extents = extentsOf(term.getInputs()[table]);
    auto isKnown = [](const Expr &e) { return e.isConstant(); };
    if (!llvm::all_of(ArrayRef<Expr>(extents).drop_front(picked.front() + 1), isKnown))
      continue;
    RowTerm result;
    result.keySide = usesAny(*parts, space.key);
    result.vector = *vector;
    result.table = arguments[table];
    result.rows = result.rowStride = 1;
    result.row = 0;
    std::vector<Expr> rest = subscripts;
    for (size_t dimension : picked) {
      result.row = result.row * Expr(shapeOfTable[dimension]) + subscripts[dimension];
      result.rows *= shapeOfTable[dimension];
      rest[dimension] = 0;
    }
    if (const Expr &length = extents[picked.front()]; !length.isConstant()) {
      result.rowLength = length;
      for (size_t dimension : ArrayRef<size_t>(picked).drop_front())
        result.rowLength = *result.rowLength * Expr(shapeOfTable[dimension]);
    }
    result.row = simplify(result.row, within, guard);
    for (size_t later = picked.back() + 1; later < shapeOfTable.size(); ++later)
      result.rowStride *= shapeOfTable[later];
    auto remaining = split(flatten(rest, term.getInputs()[table]), within);
    if (!remaining || symbolsOf(result.row).count(depth))
      continue;
    result.tableBase = remaining->base;
    result.tableAxes = leadingAxesIn({remaining->base}, space);
    // Tables are packed before anything of run-time size is known.
    if (countOf(result.tableAxes, space) == kRuntime)
      continue;
    auto found = remaining->axes.find(depth);
    result.depthStride = found == remaining->axes.end() ? 0 : found->second;
    result.depth = einsum.sizes.at(depth);
    result.guard = guard;
    result.scale = term.getTermScale();
    result.sum = term.getSum();
    if (!findRowKind(result, space))
      continue;
    shape.rows.push_back(std::move(result));
    shape.roles.push_back(TermRole::Row);
    return true;
  }
  return false;
}

void AttentionAnalyzer::findKind(OtherTerm &term, ArrayRef<SplitOffset> parts, bool affine) {
  auto without = [&](ArrayRef<unsigned> gates) {
    std::vector<Expr> expressions;
    for (auto [place, offset] : llvm::enumerate(term.offsets))
      if (!llvm::is_contained(gates, place))
        expressions.push_back(offset);
    if (term.value)
      expressions.push_back(*term.value);
    if (term.application)
      for (const Application::Argument &argument : term.application->arguments)
        expressions.push_back(argument.position);
    if (term.guard)
      expressions.push_back(*term.guard);
    return expressions;
  };
  std::vector<unsigned> gates;
  for (auto [place, offset] : llvm::enumerate(term.offsets)) {
    auto symbols = symbolsOf(offset);
    bool ofQuery = llvm::any_of(symbols, [&](const std::string &s) { return query.count(s) != 0; });
    bool ofElse = llvm::any_of(
        symbols, [&](const std::string &s) { return key.count(s) || llvm::is_contained(term.einsum.contracted, s); });
    if (ofQuery && !ofElse && !term.isArgument(place))
      gates.push_back(place);
  }
  // A table of scores is made once a call, before anybody knows how many there are.
  auto kindOf = [&](const std::vector<Expr> &expressions) {
    BiasKind kind = biasKindOf(expressions, space);
    return kind == BiasKind::Table && !lengths.empty() ? BiasKind::Element : kind;
  };
  term.bias = kindOf(without({}));
  if (term.bias == BiasKind::Difference || term.bias == BiasKind::Key)
    return;
  // An operand's own rows are loaded rather than copied to a table.
  if (term.offsets.size() == gates.size() + 1 && !term.value && !term.application && !term.guard && affine &&
      term.einsum.contracted.empty()) {
    unsigned place = 0;
    while (llvm::is_contained(gates, place))
      ++place;
    auto row = walk(parts[place], term.arguments[place], {});
    if (row && row->key == 1) {
      term.bias = BiasKind::Row;
      term.row = *row;
      term.gates = gates;
      return;
    }
  }
  if (gates.empty())
    return;
  BiasKind inner = kindOf(without(gates));
  if (inner != BiasKind::Element) {
    term.bias = inner;
    term.gates = gates;
  }
}

/// What a mask hides may be read from any row: where rows are kept inside, the mask need not be asked, and the term may
/// be prepared although the mask is no function of what it depends on.
void AttentionAnalyzer::readAnyWhereHidden(OtherTerm &term, TermOp op, const std::optional<Expr> &guard,
                                           const Domain &within) {
  OtherTerm inside = term;
  inside.guard = guard;
  for (auto [place, operand] : llvm::enumerate(op.getInputs())) {
    std::vector<Expr> subscripts = term.einsum.subscripts[place];
    for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand)))
      if (extent != kRuntime && proveWithin(subscript, {0, extent - 1}, within, guard).outcome != Proof::Proven)
        subscript = min(max(subscript, Expr(0)), Expr(extent - 1));
    inside.offsets[place] = simplify(flatten(subscripts, operand), within);
  }
  findKind(inside, {}, false);
  if (inside.bias != BiasKind::Element)
    term = std::move(inside);
}

void AttentionAnalyzer::keepInside(OtherTerm &term, TermOp op, const std::optional<Expr> &guard, const Domain &within) {
  term.insideGuard = guard;
  for (auto [place, operand] : llvm::enumerate(op.getInputs())) {
    std::vector<Expr> subscripts = term.einsum.subscripts[place];
    for (auto [subscript, extent] : llvm::zip(subscripts, extentsOf(operand)))
      if (!extent.isConstant() ||
          (extent.value() != kRuntime &&
           proveWithin(subscript, {0, extent.value() - 1}, within, guard).outcome != Proof::Proven))
        subscript = min(max(subscript, Expr(0)), extent - 1);
    term.insideOffsets.push_back(flatten(subscripts, operand));
  }
}

bool AttentionAnalyzer::findRowsOfCall(OtherTerm &term, TermOp op, const Domain &within) {
  if (term.value || term.application || term.guard || !term.einsum.contracted.empty() || space.query.size() != 1 ||
      space.key.size() != 1)
    return false;
  const std::string &i = space.query[0], &j = space.key[0];
  std::vector<unsigned> gates;
  std::optional<size_t> rows;
  for (auto [place, offset] : llvm::enumerate(term.offsets)) {
    if (!symbolsOf(offset).count(j))
      gates.push_back(place);
    else if (!std::exchange(rows, place))
      continue;
    else
      return false;
  }
  if (!rows)
    return false;
  auto at = [&](const Expr &e, const std::string &axis, int64_t value) {
    return simplify(substitute(e, {{axis, Expr(value)}}), within);
  };
  const Expr &offset = term.offsets[*rows];
  Expr ofQuery = at(offset, j, 0), base = at(ofQuery, i, 0), stride = simplify(at(ofQuery, i, 1) - base, within);
  if (!simplify(offset - ofQuery - Expr::symbol(j), within).isConstant(0) || !symbolsOf(stride).empty() ||
      !simplify(ofQuery - base - stride * Expr::symbol(i), within).isConstant(0))
    return false;
  // All pairs that there are are read, hidden ones too.
  Expr inLayer = 1;
  for (const auto &[axis, length] : lengths)
    inLayer = logicalAnd(inLayer, less(Expr::symbol(axis), length));
  for (auto [subscript, extent] : llvm::zip(term.einsum.subscripts[*rows], extentsOf(op.getInputs()[*rows])))
    if (!extent.isConstant())
      for (const Expr &room : {subscript, extent - 1 - subscript})
        if (proveWithin(room, {0, INT64_MAX}, within, inLayer).outcome != Proof::Proven)
          return false;
  term.bias = BiasKind::Row;
  term.gates = gates;
  term.row = Walk();
  term.row.argument = term.arguments[*rows];
  term.row.base = base;
  term.row.key = 1;
  term.rowStride = stride;
  return true;
}

/// A term as one that has no class: what of it can be prepared.
OtherTerm AttentionAnalyzer::otherTerm(TermOp op, const ResolvedEinsum &einsum, OtherTerm term,
                                       ArrayRef<SplitOffset> parts, bool affine, const std::optional<Expr> &guard) {
  term.guard = guard;
  if (op.getValue())
    term.value = parse(std::string_view(*op.getValue()));
  term.application = applicationOf(op);
  term.scale = op.getTermScale();
  term.sum = op.getSum();
  term.einsum = einsum;
  Domain within = domainOf(einsum.sizes);
  within.insert(space.elements.begin(), space.elements.end());
  // What is prepared is prepared for masked pairs too, where an operand may be read outside.
  bool leaves = mask && !staysInside(term.einsum, term.guard, op, within);
  if (leaves)
    term.guard = guard ? logicalAnd(*guard, *mask) : *mask;
  findKind(term, parts, affine);
  if (leaves && picks && term.bias == BiasKind::Element)
    readAnyWhereHidden(term, op, guard, within);
  if (leaves && picks && !lengths.empty() && term.bias == BiasKind::Element)
    keepInside(term, op, guard, within);
  if (picks && !lengths.empty() && term.bias == BiasKind::Element && findRowsOfCall(term, op, within))
    return term;
  if (term.bias == BiasKind::Element && fitsLanes(term, space))
    term.bias = BiasKind::Lanes;
  return term;
}

/// Queries that are walked evenly with keys whose rows are picked.
bool AttentionAnalyzer::addPickedContent(const ResolvedEinsum &einsum, const OtherTerm &operands, TermOp term,
                                         const Domain &within, bool ofMany, AttentionShape &shape) {
  if (term.getInputs().size() != 2 || einsum.contracted.size() != 1 ||
      (mask && !staysInside(einsum, std::nullopt, term, within)))
    return false;
  for (unsigned first : {0u, 1u}) {
    auto query = split(operands.offsets[first], within);
    if (!query || usesAny(*query, space.key))
      continue;
    auto queryWalk = walk(*query, operands.arguments[first], einsum.contracted);
    auto keyWalk = pickedWalk(operands.offsets[1 - first], operands.arguments[1 - first], einsum.contracted, within);
    if (!queryWalk || !keyWalk || keyWalk->depth != 1)
      continue;
    int64_t rows = 1; // that keys may pick
    for (auto [subscript, size] : llvm::zip(einsum.subscripts[1 - first], shapeOf(term.getInputs()[1 - first])))
      if (llvm::any_of(symbolsOf(subscript), [&](const std::string &symbol) { return key.count(symbol) > 0; }))
        rows *= size;
    if (ofMany && rows < space.keys())
      continue;
    shape.content.push_back(
        {*queryWalk, *keyWalk, einsum.sizes.at(einsum.contracted.front()), term.getTermScale(), term.getSum()});
    shape.roles.push_back(TermRole::Content);
    return true;
  }
  return false;
}

bool AttentionAnalyzer::addTerm(TermOp term, AttentionShape &shape) {
  ResolvedEinsum einsum = resolve(term);
  OtherTerm other;
  std::vector<SplitOffset> offsets;
  bool affine = true;
  Domain within = domainOf(einsum.sizes);
  within.insert(space.elements.begin(), space.elements.end());
  for (auto [number, operand] : llvm::enumerate(term.getInputs())) {
    other.arguments.push_back(argumentOf(operand));
    Expr flat = flatten(einsum.subscripts[number], operand);
    other.offsets.push_back(simplify(flat, within));
    auto parts = split(flat, within);
    if (parts)
      offsets.push_back(*parts);
    else
      affine = false;
  }
  std::optional<Expr> guard = einsum.guard;
  // A guard that repeats the mask says nothing more.
  if (guard && mask && simplify(*mask, domain) == simplify(*guard, domain))
    guard = std::nullopt;
  auto addOther = [&](OtherTerm form) {
    shape.others.push_back(std::move(form));
    shape.roles.push_back(TermRole::Other);
    return true;
  };
  // A strategy may take the term before any class does.
  if (const TermStrategies &strategies = termStrategiesOf(attention.getContext()); strategies.hasEarly()) {
    OtherTerm form = otherTerm(term, einsum, other, offsets, affine, guard);
    form.own = strategies.findEarly(form, shape);
    if (form.own)
      return addOther(std::move(form));
  }
  bool plain = !guard && !term.getValue() && !term.getFunction() && term.getInputs().size() == 2 &&
               einsum.contracted.size() <= 1 && affine;
  // Rows of queries and keys are packed whole: also those of masked pairs, which an index simplified under the mask may
  // put outside. Their products begin the first of the sums that a score is a function of.
  if (plain && term.getSum() == 0 && (!mask || staysInside(einsum, std::nullopt, term, within))) {
    for (unsigned first : {0u, 1u}) {
      const SplitOffset &q = offsets[first], &k = offsets[1 - first];
      if (usesAny(q, space.key) || usesAny(k, space.query))
        continue;
      auto queryWalk = walk(q, other.arguments[first], einsum.contracted);
      auto keyWalk = walk(k, other.arguments[1 - first], einsum.contracted);
      if (!queryWalk || !keyWalk)
        continue;
      ContentTerm content{*queryWalk, *keyWalk, 1, term.getTermScale(), term.getSum()};
      if (!einsum.contracted.empty())
        content.depth = einsum.sizes.at(einsum.contracted.front());
      shape.content.push_back(content);
      shape.roles.push_back(TermRole::Content);
      return true;
    }
  }
  // What depends on the offset alone is one number an offset, contraction and all; nothing of it is a query's vector.
  bool line = biasKindOf(other.offsets, space) == BiasKind::Difference && space.query.size() == 1;
  if (plain && !line && !einsum.contracted.empty() && addOffsetTerm(einsum, offsets, other.arguments, term, shape))
    return true;
  auto addPicked = [&](bool ofMany) {
    return !guard && !term.getValue() && !term.getFunction() &&
           addPickedContent(einsum, other, term, within, ofMany, shape);
  };
  // The products of a query with a few rows that many keys pick are made once; else each key's own row is multiplied.
  if (!line && (addPicked(true) || addRowTerm(einsum, other.arguments, guard, term, shape) || addPicked(false)))
    return true;
  return addOther(otherTerm(term, einsum, std::move(other), offsets, affine, guard));
}
