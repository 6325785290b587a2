// Built-in classes of terms that are one number for each query and key, or that depend on one side only.
#include "passes/Analysis/BuiltinTermClasses.h"
#include "passes/Analysis/TermReader.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Returns every symbol that the term's value depends on.
std::set<std::string> symbolsOfTerm(const Term &term) {
  std::set<std::string> symbols;
  for (const auto &subscripts : term.einsum.subscripts)
    for (const Expr &subscript : subscripts)
      symbols.merge(symbolsOf(subscript));
  if (term.factor)
    symbols.merge(symbolsOf(*term.factor));
  if (term.einsum.guard)
    symbols.merge(symbolsOf(*term.einsum.guard));
  return symbols;
}
bool meets(const std::set<std::string> &symbols, const std::vector<std::string> &axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const std::string &axis) { return symbols.count(axis) > 0; });
}

/// T[h, f(j - i)], T[h, (iy - jy + 6)*13 + ix - jx + 6], slope[h] * abs(i - j).
class ScalarOffset : public TermClass {
public:
  llvm::StringRef name() const override { return "scalar of the offset"; }

  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    if (term.shapes.size() != 1 || !term.einsum.contracted.empty() || space.query.size() != space.key.size())
      return std::nullopt;
    TermReader reader(term);
    TermAnalysis analysis = reader.start(TermKind::ScalarOffset);
    analysis.other = 0;
    std::set<std::string> used;
    auto offsetOnly = [&](const Expr &e) {
      used.merge(symbolsOf(e));
      return invariant(e, reader);
    };
    int rows = 0;
    for (size_t d = 0; d < term.einsum.subscripts[0].size(); ++d) {
      Expr e = simplify(term.einsum.subscripts[0][d], reader.domain, term.einsum.guard);
      std::set<std::string> symbols = symbolsOf(e);
      if (e.isConstant() || (e.isSymbol() && contains(space.leading, e.name()))) {
        analysis.otherLeading |= !e.isConstant();
        continue;
      }
      if (meets(symbols, space.leading) || !offsetOnly(e))
        return std::nullopt;
      ++rows;
      analysis.rowDimension = int(d);
      analysis.row = e;
      analysis.rows = term.shapes[0][d];
    }
    if (term.factor && (meets(symbolsOf(*term.factor), space.leading) || !offsetOnly(*term.factor)))
      return std::nullopt;
    if (rows > 1) { // a row for each map axis: the subscripts give them
      analysis.rowDimension = -1;
      analysis.row = Expr();
      analysis.rows = 0;
    }
    if (!meets(used, space.query) || !meets(used, space.key))
      return std::nullopt;
    // The single pair of axes, if there is only one.
    for (size_t place = 0, found = 0; place < space.query.size(); ++place)
      if (used.count(space.query[place]) || used.count(space.key[place])) {
        bool only = found++ == 0;
        analysis.offset = only ? Offset{space.query[place], space.key[place], 1, 0, Expr()} : Offset();
        analysis.queryPlace = analysis.keyPlace = only ? int(place) : -1;
        analysis.queryExtent = only ? space.sizes.at(space.query[place]) : 0;
        analysis.keyExtent = only ? space.sizes.at(space.key[place]) : 0;
      }
    return analysis;
  }

  std::string describe(const Term &term, const TermAnalysis &a) const override {
    if (term.factor && a.rowDimension < 0)
      return "the function " + print(*term.factor) + " of the offset, times one number" +
             (a.otherLeading ? " a head" : "");
    return "one number an offset" + std::string(a.otherLeading ? " and head" : "") +
           (a.rowDimension >= 0 ? ", row " + print(a.row) + " of " + std::to_string(a.rows) : "");
  }

private:
  /// Returns whether the expression stays the same when queries and keys move together.
  static bool invariant(const Expr &e, const TermReader &reader) {
    const ScoreSpace &space = reader.space;
    Substitution substitution;
    Domain domain = reader.domain;
    for (size_t place = 0; place < space.query.size(); ++place) {
      const std::string &query = space.query[place], &key = space.key[place];
      std::string offset = "_offset" + std::to_string(place);
      substitution[query] = Expr::symbol(key) - Expr::symbol(offset);
      if (domain.count(query) && domain.count(key))
        domain[offset] = {domain[key].low - domain[query].high, domain[key].high - domain[query].low};
    }
    return !meets(symbolsOf(simplify(substitute(e, substitution), domain)), space.key);
  }
};

/// Terms that depend on one side only, or on positions only.
class OneSided : public TermClass {
public:
  OneSided(llvm::StringRef label, TermKind kind, llvm::StringRef line) : label(label), line(line), kind(kind) {}
  llvm::StringRef name() const override { return label; }

  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    std::set<std::string> symbols = symbolsOfTerm(term);
    bool query = meets(symbols, space.query), key = meets(symbols, space.key);
    bool fits = kind == TermKind::KeyOnly ? key && !query : kind == TermKind::QueryOnly ? !key : term.shapes.empty();
    if (!fits)
      return std::nullopt;
    TermAnalysis analysis = TermReader(term).start(kind);
    if (term.shapes.size() == 1)
      analysis.other = 0;
    for (const std::string &axis : space.leading)
      analysis.otherLeading |= analysis.other == 0 && symbols.count(axis);
    return analysis;
  }
  std::string describe(const Term &, const TermAnalysis &) const override { return line; }

private:
  std::string label, line;
  TermKind kind;
};
} // namespace

void skewer::registerScalarTermClasses(RegisterTermClass registerClass) {
  registerClass(std::make_unique<OneSided>("query only", TermKind::QueryOnly, "the same for all keys of a query"), 600);
  registerClass(std::make_unique<OneSided>("key only", TermKind::KeyOnly, "one number a key, whatever the query"), 700);
  registerClass(std::make_unique<OneSided>("position", TermKind::Position, "a function of positions, without a tensor"),
                800);
  registerClass(std::make_unique<ScalarOffset>(), 900);
}
