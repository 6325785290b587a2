// Built-in classes of terms whose table rows are picked by functions of positions other than an offset, and of terms
// whose numbers by offset are multiplied by each other or by numbers of the query.
#include "passes/Analysis/BiasKind.h"
#include "passes/Analysis/BuiltinTermClasses.h"
#include "passes/Analysis/TermReader.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
struct Sides {
  bool query = false, key = false;
};
Sides sidesOf(const std::vector<Expr> &expressions, const ScoreSpace &space) {
  Sides sides;
  for (const Expr &expression : expressions)
    for (const std::string &symbol : symbolsOf(expression)) {
      sides.query |= contains(space.query, symbol);
      sides.key |= contains(space.key, symbol);
    }
  return sides;
}

/// The rows of an operand that positions pick. The operand is a table if it has fewer such rows than there are pairs.
struct PickedRows {
  int64_t rows = 1;
  int dimension = -1; // the picked dimension, if there is only one
  Expr row;
};
std::optional<PickedRows> pickedRows(const Term &term, size_t operand, const TermReader &reader) {
  const ScoreSpace &space = reader.space;
  PickedRows picked;
  int dimensions = 0;
  for (size_t d = 0; d < term.shapes[operand].size(); ++d) {
    const Expr &subscript = term.einsum.subscripts[operand][d];
    Sides sides = sidesOf({subscript}, space);
    if (!sides.query && !sides.key)
      continue;
    if (term.shapes[operand][d] == kRuntime ||
        __builtin_mul_overflow(picked.rows, term.shapes[operand][d], &picked.rows))
      return std::nullopt;
    picked.dimension = dimensions++ ? -1 : int(d);
    picked.row = simplify(subscript, reader.domain, term.einsum.guard);
  }
  if (dimensions == 0 || picked.rows >= space.queries() * space.keys())
    return std::nullopt;
  if (dimensions > 1)
    picked.row = Expr();
  return picked;
}
std::string rowText(const TermAnalysis &analysis) {
  return (analysis.rowDimension >= 0 ? "row " + print(analysis.row) : std::string("a row")) + " of " +
         std::to_string(analysis.rows);
}

/// q_i·R[f(i, j)], k_j·R[f(i, j)], with any function of the positions: rational steps between maps, learned logits of
/// one axis of a map, tables with extra rows for a class token.
class RowOfPositions : public TermClass {
public:
  llvm::StringRef name() const override { return "row picked by positions"; }
  std::optional<TermAnalysis> match(const Term &term) const override {
    if (term.shapes.size() != 2 || term.factor || term.einsum.contracted.empty())
      return std::nullopt;
    TermReader reader(term);
    for (int vector : {0, 1}) {
      int table = 1 - vector;
      Reading v = reader.read(vector), t = reader.read(table);
      auto picked = pickedRows(term, table, reader);
      bool query = reader.readsWhole(vector, true) && !v.key, key = reader.readsWhole(vector, false) && !v.query;
      if (!v.plain || !v.contracted || !t.contracted || query == key || !picked || (query ? !t.key : !t.query))
        continue;
      TermAnalysis analysis = reader.start(TermKind::PositionFunction);
      analysis.query = vector;
      analysis.other = table;
      analysis.queryLeading = v.leading;
      analysis.otherLeading = t.leading;
      analysis.row = picked->row;
      analysis.rowDimension = picked->dimension;
      analysis.rows = picked->rows;
      return analysis;
    }
    return std::nullopt;
  }
  std::string describe(const Term &term, const TermAnalysis &a) const override {
    TermReader reader(term);
    return rowText(a) + " rows of a table" + (a.otherLeading ? " a head" : "") +
           (reader.read(a.query).query ? ", query side" : ", key side");
  }
};

/// T[h, f(i, j)]: one number for each query and key, from a table smaller than the scores.
class ScalarOfPositions : public TermClass {
public:
  llvm::StringRef name() const override { return "scalar picked by positions"; }
  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    if (term.shapes.size() != 1 || !term.einsum.contracted.empty())
      return std::nullopt;
    TermReader reader(term);
    auto picked = pickedRows(term, 0, reader);
    Sides sides = sidesOf(term.einsum.subscripts[0], space);
    if (!picked || !sides.query || !sides.key)
      return std::nullopt;
    TermAnalysis analysis = reader.start(TermKind::PositionFunction);
    analysis.other = 0;
    analysis.otherLeading = reader.read(0).leading;
    analysis.row = picked->row;
    analysis.rowDimension = picked->dimension;
    analysis.rows = picked->rows;
    return analysis;
  }
  std::string describe(const Term &, const TermAnalysis &a) const override {
    return "one number for each query and key, " + rowText(a) + (a.otherLeading ? ", a table a head" : "");
  }
};

/// r[h]·T[h, j - i], Σ_s T[s, h, j - i]: products and sums of numbers by offset.
class ScalarsOfOffset : public TermClass {
public:
  llvm::StringRef name() const override { return "scalar of the offset"; }
  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    std::vector<Expr> all;
    for (const std::vector<Expr> &subscripts : term.einsum.subscripts)
      all.insert(all.end(), subscripts.begin(), subscripts.end());
    for (const auto &expression : {term.factor, term.einsum.guard})
      if (expression)
        all.push_back(*expression);
    Sides sides = sidesOf(all, space);
    if (term.shapes.empty() || !sides.query || !sides.key || !isOfDifferences(all, space))
      return std::nullopt;
    return TermReader(term).start(TermKind::ScalarOffset);
  }
  std::string describe(const Term &term, const TermAnalysis &) const override {
    std::string sum = term.einsum.contracted.empty() ? "a product of " : "a sum of products of ";
    return "one number an offset: " + sum + std::to_string(term.shapes.size()) + " tensors";
  }
};

/// g[h, i]·T[h, f(j - i)]: numbers by offset, times tensors of the query.
class GatedScalarOffset : public TermClass {
public:
  llvm::StringRef name() const override { return "gated scalar of the offset"; }
  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    TermReader reader(term);
    TermAnalysis analysis = reader.start(TermKind::ScalarOffset);
    std::vector<Expr> ofOffset;
    for (size_t operand = 0; operand < term.shapes.size(); ++operand) {
      const std::vector<Expr> &subscripts = term.einsum.subscripts[operand];
      Sides sides = sidesOf(subscripts, space);
      bool gate = sides.query && !sides.key;
      if (gate && analysis.query < 0)
        analysis.query = int(operand);
      if (gate)
        continue;
      ofOffset.insert(ofOffset.end(), subscripts.begin(), subscripts.end());
      if (analysis.other < 0 && sides.key)
        analysis.other = int(operand);
    }
    for (const auto &expression : {term.factor, term.einsum.guard})
      if (expression)
        ofOffset.push_back(*expression);
    bool numbers = term.einsum.contracted.empty() && sidesOf(ofOffset, space).key && isOfDifferences(ofOffset, space);
    return analysis.query >= 0 && numbers ? std::optional<TermAnalysis>(analysis) : std::nullopt;
  }
  std::string describe(const Term &, const TermAnalysis &) const override {
    return "one number an offset, times one a query";
  }
};
} // namespace

void skewer::registerPositionTermClasses(RegisterTermClass registerClass) {
  registerClass(std::make_unique<ScalarsOfOffset>(), 910);
  registerClass(std::make_unique<GatedScalarOffset>(), 910);
  registerClass(std::make_unique<RowOfPositions>(), 920);
  registerClass(std::make_unique<ScalarOfPositions>(), 930);
}
