// The built-in classes of terms that a key adds to the result besides its value: tables that a pair of positions reads.
#include "passes/Analysis/BuiltinTermClasses.h"
#include "passes/Analysis/TermReader.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Σ p·V2[j]: the key reads it and the query does not, so it is added to the values.
class ValueOfKey : public TermClass {
public:
  llvm::StringRef name() const override { return "key only, value side"; }
  bool isOf(bool valueSide) const override { return valueSide; }
  std::optional<TermAnalysis> match(const Term &term) const override {
    if (term.shapes.size() != 1 || term.factor || term.einsum.guard)
      return std::nullopt;
    TermReader reader(term);
    Reading reading = reader.read(0);
    if (!reading.plain || reading.query || !reader.readsWhole(0, false))
      return std::nullopt;
    TermAnalysis analysis = reader.start(TermKind::ValueOfKey);
    analysis.other = 0;
    analysis.otherLeading = reading.leading;
    return analysis;
  }
  std::string describe(const Term &, const TermAnalysis &) const override {
    return "added to the values of the keys";
  }
};

/// Σ p·RV[f(j - i)], by whole positions or by one axis of a map.
class ValueOfOffset : public TermClass {
public:
  ValueOfOffset(llvm::StringRef label, TermKind kind) : label(label), kind(kind) {}
  llvm::StringRef name() const override { return label; }
  bool isOf(bool valueSide) const override { return valueSide; }

  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    if (term.shapes.size() != 1 || term.factor)
      return std::nullopt;
    TermReader reader(term);
    Reading reading = reader.read(0);
    if (reading.oddDimensions != 1 || reading.contracted)
      return std::nullopt;
    const auto &subscripts = term.einsum.subscripts[0];
    for (size_t d = 0; d < subscripts.size(); ++d)
      if (int(d) != reading.odd)
        for (const std::string &symbol : symbolsOf(subscripts[d]))
          if (contains(space.query, symbol) || contains(space.key, symbol))
            return std::nullopt;
    TermAnalysis analysis = reader.start(kind);
    analysis.other = 0;
    analysis.otherLeading = reading.leading;
    analysis.row = simplify(subscripts[reading.odd], reader.domain, term.einsum.guard);
    analysis.rowDimension = reading.odd;
    analysis.rows = term.shapes[0][reading.odd];
    if (!fits(analysis, reader))
      return std::nullopt;
    return analysis;
  }

  std::string describe(const Term &term, const TermAnalysis &a) const override {
    std::string text = "row " + print(a.row) + " of a table" + (a.otherLeading ? " a head" : "") + " of " +
                       std::to_string(a.rows) + " rows, value side";
    return term.einsum.guard ? text + ", where " + print(*term.einsum.guard) : text;
  }

private:
  bool fits(TermAnalysis &analysis, const TermReader &reader) const {
    const ScoreSpace &space = reader.space;
    std::set<std::string> symbols = symbolsOf(analysis.row);
    std::string query, key;
    for (const std::string &symbol : symbols)
      if (contains(space.query, symbol))
        query = symbol;
      else if (contains(space.key, symbol))
        key = symbol;
    if (symbols.size() != 2 || query.empty() || key.empty())
      return false;
    bool whole = space.query.size() == 1 && space.key.size() == 1;
    auto offset = asOffset(analysis.row, asSet(space.query), asSet(space.key), reader.domain);
    bool wanted = kind == TermKind::ValueOffset       ? offset && whole
                  : kind == TermKind::AxisValueOffset ? offset && !whole
                                                      : !offset;
    if (!wanted)
      return false;
    if (offset)
      analysis.offset = *offset;
    else { // f(key - query): the row stays the same when both move by one
      Expr shifted = substitute(analysis.row, {{query, Expr::symbol(key) - Expr::symbol("_offset")}});
      Domain domain = reader.domain;
      domain["_offset"] = {domain[key].low - domain[query].high, domain[key].high - domain[query].low};
      if (symbolsOf(simplify(shifted, domain)).count(key))
        return false;
    }
    analysis.offset.query = query;
    analysis.offset.key = key;
    analysis.queryPlace = placeOf(space.query, query);
    analysis.keyPlace = placeOf(space.key, key);
    analysis.queryExtent = space.sizes.at(query);
    analysis.keyExtent = space.sizes.at(key);
    return true;
  }

  std::string label;
  TermKind kind;
};
} // namespace

void skewer::registerValueTermClasses(RegisterTermClass registerClass) {
  registerClass(std::make_unique<ValueOfKey>(), 1000);
  registerClass(std::make_unique<ValueOfOffset>("offset, value side", TermKind::ValueOffset), 1100);
  registerClass(std::make_unique<ValueOfOffset>("offset per map axis, value side", TermKind::AxisValueOffset), 1200);
  registerClass(std::make_unique<ValueOfOffset>("function of the offset, value side", TermKind::ValueFunction), 1300);
}
