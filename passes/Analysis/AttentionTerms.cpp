// Sorts the terms of the score by what their index expressions let a kernel do: AttentionAnalyzer::addTerm and its
// parts.
#include "passes/Analysis/AttentionAnalyzer.h"
#include "passes/Analysis/EarlyTerms.h"
#include "passes/Analysis/LaneFit.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer {
static bool usesAny(const SplitOffset &offset, const std::vector<std::string> &axes) {
  return llvm::any_of(axes, [&](const std::string &axis) { return offset.axes.count(axis) != 0; });
}
} // namespace skewer

std::optional<RowTerm> AttentionAnalyzer::tableOf(const Term &term, unsigned table, ArrayRef<size_t> picked) {
  Value operand = TermOp(term.op).getInputs()[table];
  const std::vector<int64_t> &sizes = term.shapes[table];
  // Rows are evenly spaced if all dimensions behind the first picked one have known sizes.
  std::vector<Expr> extents = attn::extentsOf(operand), rest = term.einsum.subscripts[table];
  auto isKnown = [](const Expr &e) { return e.isConstant(); };
  if (!llvm::all_of(ArrayRef<Expr>(extents).drop_front(picked.front() + 1), isKnown))
    return std::nullopt;
  RowTerm result;
  result.table = argumentOf(operand);
  result.rows = result.rowStride = 1;
  for (size_t dimension : picked) {
    result.rows *= sizes[dimension];
    rest[dimension] = 0;
  }
  for (size_t later = picked.back() + 1; later < sizes.size(); ++later)
    result.rowStride *= sizes[later];
  if (const Expr &length = extents[picked.front()]; !length.isConstant()) {
    result.rowLength = length;
    for (size_t dimension : picked.drop_front())
      result.rowLength = *result.rowLength * Expr(sizes[dimension]);
  }
  // The place without the row: a base over the leading axes, and the contracted axis.
  auto remaining = split(flatten(rest, operand), term.domain);
  if (!remaining || usesAny(*remaining, space.key) || usesAny(*remaining, space.query))
    return std::nullopt;
  result.tableBase = remaining->base;
  result.tableAxes = leadingAxesIn({remaining->base}, space);
  // Tables are packed before anything of run-time size is known.
  if (countOf(result.tableAxes, space) == kRuntime)
    return std::nullopt;
  if (!term.einsum.contracted.empty()) {
    const std::string &depth = term.einsum.contracted.front();
    auto found = remaining->axes.find(depth);
    result.depthStride = found == remaining->axes.end() ? 0 : found->second;
    result.depth = term.einsum.sizes.at(depth);
  }
  result.scale = term.scale;
  result.sum = term.sum;
  return result;
}

bool AttentionAnalyzer::addLinearRow(const Term &term, ArrayRef<SplitOffset> offsets, ArrayRef<unsigned> arguments,
                                     AttentionShape &shape) {
  const ResolvedEinsum &einsum = term.einsum;
  auto inputs = TermOp(term.op).getInputs();
  for (unsigned table : {1u, 0u}) {
    const SplitOffset &q = offsets[1 - table], &t = offsets[table];
    if (usesAny(q, space.key) || !usesAny(t, space.key) || !usesAny(t, space.query) ||
        !staysInside(inputs[1 - table], einsum.subscripts[1 - table], term.domain, std::nullopt))
      continue;
    // Find the dimension of the table that holds the row, and the axes that pick it.
    for (auto [dimension, subscript] : llvm::enumerate(einsum.subscripts[table])) {
      auto offset = asOffset(subscript, query, key, term.domain);
      if (!offset)
        continue;
      auto queryWalk = walk(q, arguments[1 - table], einsum.contracted);
      auto result = tableOf(term, table, dimension);
      if (!queryWalk || !result)
        return false;
      auto find = [](const std::vector<std::string> &axes, const std::vector<MapAxis> &maps, const std::string &name) {
        auto place = llvm::find(axes, name);
        return place == axes.end() ? MapAxis() : maps[place - axes.begin()];
      };
      result->kind = RowKind::Linear;
      result->vector = *queryWalk;
      result->linear = {offset->query,
                        offset->key,
                        find(space.query, shape.queryAxes, offset->query),
                        find(space.key, shape.keyAxes, offset->key),
                        offset->sign,
                        offset->constant,
                        offset->shift};
      // A line over the keys is skewed by whole positions; a window over a single axis needs a map of keys.
      if (!result->linear.isWhole(shape.queries, shape.keys) && shape.keyAxes.size() == 1)
        continue;
      shape.rows.push_back(std::move(*result));
      shape.roles.push_back(TermRole::Row);
      return true;
    }
  }
  return false;
}

bool AttentionAnalyzer::addRowTerm(const Term &term, ArrayRef<unsigned> arguments, const std::optional<Expr> &guard,
                                   AttentionShape &shape) {
  const ResolvedEinsum &einsum = term.einsum;
  auto inputs = TermOp(term.op).getInputs();
  if (term.factor || term.application || term.size() != 2 || einsum.contracted.size() != 1)
    return false;
  for (unsigned table : {1u, 0u}) {
    auto parts = split(flatten(einsum.subscripts[1 - table], inputs[1 - table]), term.domain);
    if (!parts || (usesAny(*parts, space.query) && usesAny(*parts, space.key)) ||
        !staysInside(inputs[1 - table], einsum.subscripts[1 - table], term.domain, std::nullopt))
      continue;
    auto vector = walk(*parts, arguments[1 - table], einsum.contracted);
    // The dimensions that positions pick must be adjacent: together they are the row.
    SmallVector<size_t> picked;
    Expr row = 0;
    for (auto [dimension, subscript] : llvm::enumerate(einsum.subscripts[table]))
      if (llvm::any_of(symbolsOf(subscript), [&](const std::string &s) { return query.count(s) || key.count(s); })) {
        picked.push_back(dimension);
        row = row * Expr(term.shapes[table][dimension]) + subscript;
      }
    if (!vector || picked.empty() || picked.back() - picked.front() + 1 != picked.size())
      continue;
    auto result = tableOf(term, table, picked);
    if (!result)
      continue;
    result->keySide = usesAny(*parts, space.key);
    result->vector = *vector;
    result->row = simplify(row, term.domain, guard);
    result->guard = guard;
    if (symbolsOf(result->row).count(einsum.contracted.front()) || !findRowKind(*result, space))
      continue;
    shape.rows.push_back(std::move(*result));
    shape.roles.push_back(TermRole::Row);
    return true;
  }
  return false;
}

void AttentionAnalyzer::findKind(OtherTerm &term, ArrayRef<SplitOffset> parts, bool affine) {
  std::vector<unsigned> gates;
  for (auto [place, offset] : llvm::enumerate(term.offsets)) {
    auto symbols = symbolsOf(offset);
    bool ofQuery = llvm::any_of(symbols, [&](const std::string &s) { return query.count(s) != 0; });
    bool ofElse = llvm::any_of(symbols, [&](const std::string &s) { return key.count(s) != 0; }) ||
                  llvm::any_of(term.contracted, [&](const auto &axis) { return symbols.count(axis.first) != 0; });
    if (ofQuery && !ofElse && !term.isArgument(place))
      gates.push_back(place);
  }
  // A table of scores is computed once per call, before the run-time lengths are known.
  auto kindOf = [&](const std::vector<Expr> &expressions) {
    BiasKind kind = biasKindOf(expressions, space);
    return kind == BiasKind::Table && !lengths.empty() ? BiasKind::Element : kind;
  };
  term.bias = kindOf(expressionsOf(term));
  if (term.bias == BiasKind::Difference || term.bias == BiasKind::Key)
    return;
  // Rows that lie in an operand are loaded from there, not copied to a table.
  if (term.offsets.size() == gates.size() + 1 && !term.factor && !term.application && !term.guard && affine &&
      term.contracted.empty()) {
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
  BiasKind inner = kindOf(expressionsOf(term, gates));
  if (inner != BiasKind::Element) {
    term.bias = inner;
    term.gates = gates;
  }
}

/// Clamps the rows of a term into its operands. Hidden pairs can read any row, so the term then needs no mask, and can
/// be prepared although the mask depends on more than the term does.
void AttentionAnalyzer::readAnyWhereHidden(OtherTerm &term, const std::optional<Expr> &guard) {
  const Term &read = *term.term;
  OtherTerm inside = term;
  inside.guard = guard;
  for (auto [place, operand] : llvm::enumerate(TermOp(read.op).getInputs())) {
    std::vector<Expr> subscripts = read.einsum.subscripts[place];
    for (auto [subscript, extent] : llvm::zip(subscripts, read.shapes[place]))
      if (extent != kRuntime && proveWithin(subscript, {0, extent - 1}, read.domain, guard).outcome != Proof::Proven)
        subscript = min(max(subscript, Expr(0)), Expr(extent - 1));
    inside.offsets[place] = simplify(flatten(subscripts, operand), read.domain);
  }
  findKind(inside, {}, false);
  if (inside.bias != BiasKind::Element)
    term = std::move(inside);
}

void AttentionAnalyzer::keepInside(OtherTerm &term, const std::optional<Expr> &guard) {
  const Term &read = *term.term;
  term.insideGuard = guard;
  for (auto [place, operand] : llvm::enumerate(TermOp(read.op).getInputs())) {
    std::vector<Expr> subscripts = read.einsum.subscripts[place];
    for (auto [subscript, extent] : llvm::zip(subscripts, attn::extentsOf(operand)))
      if (!extent.isConstant() ||
          (extent.value() != kRuntime &&
           proveWithin(subscript, {0, extent.value() - 1}, read.domain, guard).outcome != Proof::Proven))
        subscript = min(max(subscript, Expr(0)), extent - 1);
    term.insideOffsets.push_back(flatten(subscripts, operand));
  }
}

bool AttentionAnalyzer::findRowsOfCall(OtherTerm &term) {
  if (term.factor || term.application || term.guard || !term.contracted.empty() || space.query.size() != 1 ||
      space.key.size() != 1)
    return false;
  const Domain &within = term.term->domain;
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
  // All pairs within the lengths are read, hidden ones too.
  Expr inLayer = 1;
  for (const auto &[axis, length] : lengths)
    inLayer = logicalAnd(inLayer, less(Expr::symbol(axis), length));
  for (auto [subscript, extent] :
       llvm::zip(term.term->einsum.subscripts[*rows], attn::extentsOf(TermOp(term.term->op).getInputs()[*rows])))
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

/// Returns a term as one without a class, with the part of it that can be prepared.
OtherTerm AttentionAnalyzer::otherTerm(const Term &read, const ElementTerm &flat, ArrayRef<SplitOffset> parts,
                                       bool affine) {
  OtherTerm term;
  static_cast<ElementTerm &>(term) = flat;
  term.term = {view, &read};
  std::optional<Expr> guard = ownGuardOf(read, mask);
  // Values are prepared for masked pairs too. At these, a subscript can leave its operand.
  term.guard = guardOf(read, mask);
  bool leaves = mask && !read.staysInside(guard);
  findKind(term, parts, affine);
  if (leaves && picks && term.bias == BiasKind::Element)
    readAnyWhereHidden(term, guard);
  if (leaves && picks && !lengths.empty() && term.bias == BiasKind::Element)
    keepInside(term, guard);
  if (picks && !lengths.empty() && term.bias == BiasKind::Element && findRowsOfCall(term))
    return term;
  if (term.bias == BiasKind::Element && fitsLanes(term, space))
    term.bias = BiasKind::Lanes;
  return term;
}

/// Adds a content term of queries that are walked evenly and keys whose rows are picked; false if the term is not one.
bool AttentionAnalyzer::addPickedContent(const Term &term, const ElementTerm &operands, bool ofMany,
                                         AttentionShape &shape) {
  const ResolvedEinsum &einsum = term.einsum;
  if (term.size() != 2 || einsum.contracted.size() != 1 || (mask && !term.staysInside(std::nullopt)))
    return false;
  for (unsigned first : {0u, 1u}) {
    auto query = split(operands.offsets[first], term.domain);
    if (!query || usesAny(*query, space.key))
      continue;
    auto queryWalk = walk(*query, operands.arguments[first], einsum.contracted);
    auto keyWalk =
        pickedWalk(operands.offsets[1 - first], operands.arguments[1 - first], einsum.contracted, term.domain);
    if (!queryWalk || !keyWalk || keyWalk->depth != 1)
      continue;
    int64_t rows = 1; // number of rows that the keys can pick
    for (auto [subscript, size] : llvm::zip(einsum.subscripts[1 - first], term.shapes[1 - first]))
      if (llvm::any_of(symbolsOf(subscript), [&](const std::string &symbol) { return key.count(symbol) > 0; }))
        rows *= size;
    if (ofMany && rows < space.keys())
      continue;
    shape.content.push_back({*queryWalk, *keyWalk, term.sizeOf(einsum.contracted.front()), term.scale, term.sum});
    shape.roles.push_back(TermRole::Content);
    return true;
  }
  return false;
}

void AttentionAnalyzer::addTerm(const Term &term, AttentionShape &shape) {
  const ResolvedEinsum &einsum = term.einsum;
  ElementTerm flat = flatTermOf(term, operands);
  std::vector<SplitOffset> offsets;
  bool affine = true;
  for (auto [operand, subscripts] : llvm::zip(TermOp(term.op).getInputs(), einsum.subscripts)) {
    if (auto parts = split(flatten(subscripts, operand), term.domain))
      offsets.push_back(*parts);
    else
      affine = false;
  }
  std::optional<Expr> guard = ownGuardOf(term, mask);
  auto addOther = [&](OtherTerm form) {
    shape.others.push_back(std::move(form));
    shape.roles.push_back(TermRole::Other);
  };
  // A strategy may take the term before any class does.
  if (auto *early = attention->getDialect()->getRegisteredInterface<EarlyTerms>()) {
    OtherTerm form = otherTerm(term, flat, offsets, affine);
    form.own = early->keep(form, shape);
    if (form.own)
      return addOther(std::move(form));
  }
  bool isProduct = !guard && !term.factor && !term.application;
  bool plain = isProduct && term.size() == 2 && einsum.contracted.size() <= 1 && affine;
  // Rows of queries and keys are packed completely, also those of masked pairs, for which an index that was simplified
  // under the mask can lie outside. The products start the first of the sums that the score is a function of.
  if (plain && term.sum == 0 && (!mask || term.staysInside(std::nullopt))) {
    for (unsigned first : {0u, 1u}) {
      const SplitOffset &q = offsets[first], &k = offsets[1 - first];
      if (usesAny(q, space.key) || usesAny(k, space.query))
        continue;
      auto queryWalk = walk(q, flat.arguments[first], einsum.contracted);
      auto keyWalk = walk(k, flat.arguments[1 - first], einsum.contracted);
      if (!queryWalk || !keyWalk)
        continue;
      ContentTerm content{*queryWalk, *keyWalk, 1, term.scale, term.sum};
      if (!einsum.contracted.empty())
        content.depth = term.sizeOf(einsum.contracted.front());
      shape.content.push_back(content);
      shape.roles.push_back(TermRole::Content);
      return;
    }
  }
  // A term that depends on the offset alone is one number for each offset, also with a contraction: no operand of it is
  // a vector of the query.
  bool line = biasKindOf(flat.offsets, space) == BiasKind::Difference && space.query.size() == 1;
  if (plain && !line && !einsum.contracted.empty() && addLinearRow(term, offsets, flat.arguments, shape))
    return;
  auto addPicked = [&](bool ofMany) { return isProduct && addPickedContent(term, flat, ofMany, shape); };
  // If many keys pick from a few rows, the products of a query with these rows are computed once. Otherwise the query
  // is multiplied by the row of each key.
  if (!line && (addPicked(true) || addRowTerm(term, flat.arguments, guard, shape) || addPicked(false)))
    return;
  addOther(otherTerm(term, flat, offsets, affine));
}
