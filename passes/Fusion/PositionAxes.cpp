// Names the axes of an attention's positions: divides queries and keys of a map into its axes, and makes groups of
// heads that share keys a leading axis.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Fusion/AttentionCandidate.h"
#include "passes/Fusion/Factorise.h"
#include "passes/Fusion/QueryDimensions.h"
#include "passes/Fusion/VaryingMasks.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

std::vector<Expr *> AttentionCandidate::expressions() {
  std::vector<Expr *> all;
  auto add = [&](Summand &summand) {
    for (Factor &factor : summand.factors)
      for (Expr &subscript : factor.subscripts)
        all.push_back(&subscript);
    if (summand.value)
      all.push_back(&*summand.value);
    if (summand.application)
      for (Application::Argument &argument : summand.application->arguments)
        all.push_back(&argument.position);
    all.push_back(&summand.guard);
  };
  for (Summand &term : terms)
    add(term);
  for (Summand &term : valueTerms)
    add(term);
  add(value);
  if (mask)
    all.push_back(&*mask);
  return all;
}

void AttentionCandidate::factorise() {
  if (product->getParentOfType<func::FuncOp>()->hasAttr(kWholePositions))
    return;
  std::vector<Expr *> all = expressions();
  std::vector<Expr> plain;
  for (Expr *e : all)
    plain.push_back(*e);
  Substitution positions;
  for (std::vector<std::string> *side : {&query, &key}) {
    std::string symbol = (*side)[0];
    std::vector<int64_t> factors = factorsOf(symbol, sizes[symbol], plain);
    if (factors.size() == 1)
      continue;
    for (Expr *e : all)
      *e = byLines(*e, symbol, factors);
    *side = axisNames(symbol, factors.size());
    sizes.erase(symbol);
    for (size_t k = 0; k < factors.size(); ++k)
      sizes[(*side)[k]] = factors[k];
    positions[symbol] = flatIndex({*side, {}}, sizes);
  }
  if (positions.empty())
    return;
  Domain domain = domainOf(sizes);
  for (Summand &term : terms)
    for (const auto &[axis, size] : term.contracted)
      domain[axis] = {0, size - 1};
  if (mask)
    mask = simplify(substitute(*mask, positions), domain);
  // The values must read whole axes: the mask may imply something about one of them (j mod 2 == 0), but must not remove
  // it.
  std::set<const Expr *> ofValues;
  for (const Factor &factor : value.factors)
    for (const Expr &subscript : factor.subscripts)
      ofValues.insert(&subscript);
  for (Expr *e : all)
    if (!mask || e != &*mask)
      *e = simplify(substitute(*e, positions), domain, ofValues.count(e) ? std::nullopt : assumable(mask, product));
  for (std::vector<Expr> *indices : {&resultIndices, &at})
    for (Expr &e : *indices)
      e = simplify(substitute(e, positions), domain);
  leadWithGroups();
}

/// Makes heads that share their keys a leading axis. They look like a query axis outside of those that count positions.
/// If the heads have enough rows, positions are whole again with the leading axis, and what is known of masks and
/// offsets of one head applies. If no index relates queries to keys, heads and queries stay together, one row after the
/// other.
void AttentionCandidate::leadWithGroups() {
  int64_t rows = 1;
  for (size_t k = 1; k < query.size(); ++k)
    rows *= sizes[query[k]];
  // The query axes that share an index expression with a key axis.
  std::set<std::string> meeting;
  for (const Expr *e : expressions()) {
    std::set<std::string> symbols = symbolsOf(*e);
    if (llvm::any_of(key, [&](const std::string &axis) { return symbols.count(axis) > 0; }))
      llvm::copy_if(query, std::inserter(meeting, meeting.end()),
                    [&](const std::string &axis) { return symbols.count(axis) > 0; });
  }
  // Terms that depend on the query alone have already been summed over flat positions.
  if (query.size() <= key.size() || rows < kRowsOfHead || !queryOnly.empty() || meeting.empty() ||
      meeting.count(query.front()))
    return;
  std::string name = nextLeadingName(leading);
  std::vector<std::string> left = axisNames(kQueryAxis, query.size() - 1);
  Substitution renamed = {{query.front(), Expr::symbol(name)}};
  AxisSizes before = sizes;
  for (const std::string &axis : query)
    sizes.erase(axis);
  sizes[name] = before[query.front()];
  for (size_t k = 0; k < left.size(); ++k) {
    renamed[query[k + 1]] = Expr::symbol(left[k]);
    sizes[left[k]] = before[query[k + 1]];
  }
  leading.push_back(name);
  query = left;
  for (Expr *e : expressions())
    *e = substitute(*e, renamed);
  for (std::vector<Expr> *indices : {&resultIndices, &at})
    for (Expr &e : *indices)
      e = substitute(e, renamed);
}
