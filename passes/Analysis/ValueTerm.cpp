// Finds how a term of the values depends on positions: on the key, on the offset in runs, or on each pair.
#include "passes/Analysis/ValueTerm.h"
#include "passes/Analysis/Strides.h"
#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
// The most runs, since each run needs code of its own, and the most offsets. A function with more is read for each
// pair.
constexpr size_t kMostRuns = 48;
constexpr int64_t kMostOffsets = 1 << 22;

class Reader {
public:
  explicit Reader(const Term &term)
      : space(*term.space), einsum(term.einsum), shape(term.shapes[0]), factor(term.factor) {
    domain = domainOf(einsum.sizes);
    for (const auto &[axis, range] : domainOf(space.sizes))
      domain[axis] = range;
    extents = extentsOf(TermOp(term.op).getInputs()[0]);
    for (const std::vector<std::string> *side : {&space.query, &space.key})
      positions.insert(side->begin(), side->end());
  }

  OrRefusal<ValueTerm> read() {
    ValueTerm term;
    const std::string &width = space.value.front();
    Expr flat = rowMajorIn(extents, einsum.subscripts[0]);
    Expr step = simplify(substitute(flat, {{width, Expr::symbol(width) + Expr(1)}}) - flat);
    bool single = space.sizes.at(width) == 1;
    if (!step.isConstant() && !single)
      return Refusal{"a term of the values is not read at even strides along their width"};
    term.widthStride = single ? 1 : step.value();
    Expr first = simplify(substitute(flat, {{width, Expr(0)}}), domain, einsum.guard);
    term.offset = first;
    term.guard = einsum.guard;
    term.factor = factor;

    Substitution leadingToZero, positionsToZero;
    for (const std::string &symbol : symbolsOf(first))
      (positions.count(symbol) ? positionsToZero : leadingToZero)[symbol] = Expr(0);
    Expr base = simplify(substitute(first, positionsToZero), domain);
    Expr moving = simplify(substitute(first, leadingToZero), domain, einsum.guard);
    // If leading axes and positions occur only as summands, the table has one base for each head.
    Expr mixed = simplify(first - base - moving, domain, einsum.guard);
    bool reads = !readsOf(first).empty() || (einsum.guard && !readsOf(*einsum.guard).empty());
    if (mixed.isConstant() && !factor && !reads) {
      term.base = simplify(base + mixed, domain);
      if (readKey(term, moving) || readRuns(term, moving))
        return term;
    }
    if (term.widthStride != 1)
      return Refusal{"a term of the values that is read for each query and key is not contiguous"};
    term.kind = ValueKind::Pairs;
    return term;
  }

private:
  bool readKey(ValueTerm &term, const Expr &moving) {
    if (einsum.guard)
      return false;
    auto affine = asAffine(moving, domain);
    if (!affine || !isInsideForEveryKey())
      return false;
    auto stride = evenStride(affine->coefficients, space.key, space.sizes);
    if (!stride)
      return false;
    for (const std::string &axis : space.query)
      if (affine->coefficients.count(axis))
        return false;
    term.kind = ValueKind::Key;
    term.keyStride = *stride;
    term.base = term.base + Expr(affine->constant);
    return true;
  }

  /// Returns whether the table can be read for every key. Values are packed for all keys, also for keys that the mask
  /// hides from every query, so the rows that are added to them must exist for these keys too.
  bool isInsideForEveryKey() {
    for (size_t d = 0; d < shape.size(); ++d) {
      const Expr &index = einsum.subscripts[0][d];
      std::set<std::string> symbols = symbolsOf(index);
      bool moves = std::any_of(symbols.begin(), symbols.end(), [&](auto &symbol) { return positions.count(symbol); });
      if (moves && proveWithin(index, {0, shape[d] - 1}, domain).outcome != Proof::Proven)
        return false;
    }
    return true;
  }

  /// Returns an expression of positions as a function of key - query on the term's axes; nothing if it is none.
  std::optional<Expr> ofOffset(const Expr &e) {
    Expr shifted = substitute(e, {{query, Expr::symbol(key) - Expr::symbol("_offset")}});
    Domain extended = domain;
    extended["_offset"] = {domain[key].low - domain[query].high, domain[key].high - domain[query].low};
    extended.erase(key); // the result must hold for every key
    Expr simple = simplify(shifted, extended);
    for (const std::string &symbol : symbolsOf(simple))
      if (symbol != "_offset")
        return std::nullopt;
    return simple;
  }

  bool readRuns(ValueTerm &term, const Expr &moving) {
    std::set<std::string> used = symbolsOf(moving);
    if (einsum.guard)
      used.merge(symbolsOf(*einsum.guard));
    query = key = "";
    for (const std::string &symbol : used) {
      if (!positions.count(symbol))
        return false;
      bool isQuery = std::find(space.query.begin(), space.query.end(), symbol) != space.query.end();
      std::string &side = isQuery ? query : key;
      if (!side.empty())
        return false;
      side = symbol;
    }
    if (query.empty())
      query = space.query.back();
    if (key.empty())
      key = space.key.back();
    bool whole = space.query.size() == 1 && space.key.size() == 1;
    auto at = ofOffset(moving), present = ofOffset(einsum.guard.value_or(Expr(1)));
    if (!at || !present)
      return false;
    // Offsets that read outside of the table are masked.
    std::vector<std::pair<Expr, int64_t>> rows;
    for (size_t d = 0; d < shape.size(); ++d) {
      Substitution others;
      bool picked = false;
      for (const std::string &symbol : symbolsOf(einsum.subscripts[0][d]))
        if (positions.count(symbol))
          picked = true;
        else
          others[symbol] = Expr(0);
      auto row = picked ? ofOffset(substitute(einsum.subscripts[0][d], others)) : std::nullopt;
      if (picked && (!row || shape[d] == kRuntime))
        return false;
      if (picked)
        rows.push_back({*row, shape[d]});
    }
    int64_t low = 1 - space.sizes.at(query), high = space.sizes.at(key) - 1;
    if (high - low > kMostOffsets)
      return false;
    for (int64_t u = low; u <= high; ++u) {
      Assignment offset{{"_offset", u}};
      auto holds = evaluate(*present, offset);
      auto element = evaluate(*at, offset);
      bool reads = holds.value_or(0) != 0 && element;
      for (const auto &[row, extent] : rows) {
        auto index = evaluate(row, offset);
        reads &= index && *index >= 0 && *index < extent;
      }
      if (!reads)
        continue;
      OffsetRun *last = term.runs.empty() ? nullptr : &term.runs.back();
      if (last && last->high == u - 1) {
        int64_t end = last->start + last->step * (last->length() - 1), step = *element - end;
        if (last->length() == 1 || step == last->step) {
          last->step = step;
          last->high = u;
          continue;
        }
      }
      term.runs.push_back({u, u, *element, 0});
      if (term.runs.size() > kMostRuns)
        return term.runs.clear(), false;
    }
    term.kind = whole ? ValueKind::Runs : ValueKind::Axis;
    auto axisOf = [&](const std::vector<std::string> &axes, const std::string &name) {
      MapAxis result;
      for (size_t k = axes.size(); k-- > 0 && axes[k] != name;)
        result.inner *= space.sizes.at(axes[k]);
      result.extent = space.sizes.at(name);
      return result;
    };
    term.queryAxis = axisOf(space.query, query);
    term.keyAxis = axisOf(space.key, key);
    return true;
  }

  const ScoreSpace &space;
  const ResolvedEinsum &einsum;
  const std::vector<int64_t> &shape;
  const std::optional<Expr> &factor;
  std::vector<Expr> extents;
  Domain domain;
  std::set<std::string> positions;
  std::string query, key;
};
} // namespace

OrRefusal<ValueTerm> skewer::valueTermOf(const Term &term, unsigned argument) {
  if (term.size() != 1 || !term.einsum.contracted.empty())
    return Refusal{"a term of the values is not one operand that is read once"};
  auto found = Reader(term).read();
  if (found) {
    found->argument = argument;
    found->scale = term.scale;
  }
  return found;
}
