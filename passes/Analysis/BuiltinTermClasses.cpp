// The built-in term classes, in the order in which they are tried.
#include "passes/Analysis/BuiltinTermClasses.h"
#include "passes/Analysis/TermReader.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
std::string rowsUsed(const TermAnalysis &analysis) {
  int64_t used = analysis.queryExtent + analysis.keyExtent - 1;
  return (used < analysis.rows ? std::to_string(used) + " of " : std::string()) + std::to_string(analysis.rows) +
         " rows";
}

class Content : public TermClass {
public:
  llvm::StringRef name() const override { return "content"; }
  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    if (term.shapes.size() != 2 || term.factor || term.einsum.contracted.empty())
      return std::nullopt;
    TermReader reader(term);
    Reading readings[2] = {reader.read(0), reader.read(1)};
    for (int query : {0, 1}) {
      const Reading &q = readings[query], &k = readings[1 - query];
      auto readsAll = [&](int operand, bool ofQuery) {
        return reader.readsEvenly(operand, ofQuery) || ((ofQuery ? q : k).plain && reader.readsWhole(operand, ofQuery));
      };
      int picked = pickedDimension(term, space, 1 - query);
      if (!q.contracted || !k.contracted || q.key || k.query || !readsAll(query, true) ||
          (picked < 0 && !readsAll(1 - query, false)))
        continue;
      TermAnalysis analysis = reader.start(TermKind::Content);
      analysis.query = query;
      analysis.other = 1 - query;
      analysis.queryLeading = q.leading;
      analysis.otherLeading = k.leading;
      if (picked >= 0) {
        analysis.rowDimension = picked;
        analysis.row = simplify(term.einsum.subscripts[1 - query][picked], reader.domain);
        analysis.rows = term.shapes[1 - query][picked];
      }
      return analysis;
    }
    return std::nullopt;
  }
  /// Returns the dimension of an operand in which keys pick rows by a run-time index (the pages of a cache); -1 if
  /// there is none.
  static int pickedDimension(const Term &term, const ScoreSpace &space, int operand) {
    const auto &subscripts = term.einsum.subscripts[operand];
    for (size_t d = 0; d < subscripts.size(); ++d)
      for (const Expr &read : readNodes(subscripts[d]))
        for (const std::string &symbol : symbolsOf(read))
          if (contains(space.key, symbol))
            return int(d);
    return -1;
  }
  std::string describe(const Term &, const TermAnalysis &analysis) const override {
    if (analysis.rowDimension >= 0)
      return "matmul of queries and keys, row " + print(analysis.row) + " of " + std::to_string(analysis.rows);
    return analysis.otherLeading ? "matmul of queries and keys"
                                 : "matmul of queries and one row a key, shared by all heads";
  }
};

/// The classes that multiply a vector of the query (or the key) by a row of a table that a pair of positions picks.
class RowOfTable : public TermClass {
public:
  RowOfTable(llvm::StringRef label, TermKind kind) : label(label), kind(kind) {}
  llvm::StringRef name() const override { return label; }

  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    if (term.shapes.size() != 2 || term.factor || term.einsum.contracted.empty())
      return std::nullopt;
    TermReader reader(term);
    for (int vector : {0, 1}) {
      int table = 1 - vector;
      Reading v = reader.read(vector), t = reader.read(table);
      bool query = reader.readsWhole(vector, true) && !v.key;
      bool key = reader.readsWhole(vector, false) && !v.query;
      if (!v.plain || !v.contracted || query == key || t.oddDimensions != 1 || !t.contracted || !t.query || !t.key)
        continue;
      // Only leading and contracted axes may read the other dimensions of the table.
      bool clean = true;
      for (size_t d = 0; d < term.einsum.subscripts[table].size(); ++d)
        if (int(d) != t.odd)
          for (const std::string &symbol : symbolsOf(term.einsum.subscripts[table][d]))
            clean &= !contains(space.query, symbol) && !contains(space.key, symbol);
      Expr row = simplify(term.einsum.subscripts[table][t.odd], reader.domain, term.einsum.guard);
      for (const std::string &symbol : symbolsOf(row))
        clean &= contains(space.query, symbol) || contains(space.key, symbol);
      if (!clean)
        continue;
      TermAnalysis analysis = reader.start(kind);
      analysis.query = vector;
      analysis.other = table;
      analysis.queryLeading = v.leading;
      analysis.otherLeading = t.leading;
      analysis.row = row;
      analysis.rowDimension = t.odd;
      analysis.rows = term.shapes[table][t.odd];
      if (fits(analysis, reader, query))
        return analysis;
    }
    return std::nullopt;
  }

  std::string describe(const Term &term, const TermAnalysis &a) const override {
    std::string side = TermReader(term).read(a.query).key ? "key side" : "query side";
    return "row " + print(a.row) + " of a table" + (a.otherLeading ? " a head" : "") + ", " + rowsUsed(a) + ", " + side;
  }

private:
  bool fits(TermAnalysis &analysis, const TermReader &reader, bool query) const {
    const ScoreSpace &space = reader.space;
    auto place = [&](const std::string &queryAxis, const std::string &keyAxis) {
      analysis.offset.query = queryAxis;
      analysis.offset.key = keyAxis;
      analysis.queryPlace = placeOf(space.query, queryAxis);
      analysis.keyPlace = placeOf(space.key, keyAxis);
      analysis.queryExtent = space.sizes.at(queryAxis);
      analysis.keyExtent = space.sizes.at(keyAxis);
    };
    auto offset = asOffset(analysis.row, asSet(space.query), asSet(space.key), reader.domain);
    bool whole = space.query.size() == 1 && space.key.size() == 1;
    if (kind == TermKind::OffsetFunction) {
      std::set<std::string> symbols = symbolsOf(analysis.row);
      if (offset || symbols.size() != 2)
        return false;
      std::string queryAxis, keyAxis;
      for (const std::string &symbol : symbols)
        (contains(space.query, symbol) ? queryAxis : keyAxis) = symbol;
      // f(key - query): the row stays the same when both move by one.
      Expr shifted = substitute(analysis.row, {{queryAxis, Expr::symbol(keyAxis) - Expr::symbol("_offset")}});
      Domain domain = reader.domain;
      domain["_offset"] = {domain[keyAxis].low - domain[queryAxis].high, domain[keyAxis].high - domain[queryAxis].low};
      if (symbolsOf(simplify(shifted, domain)).count(keyAxis))
        return false;
      place(queryAxis, keyAxis);
      return true;
    }
    if (!offset)
      return false;
    bool wanted = kind == TermKind::OffsetQuery       ? query && whole
                  : kind == TermKind::AxisOffsetQuery ? query && !whole
                                                      : !query;
    if (!wanted)
      return false;
    place(offset->query, offset->key);
    analysis.offset = *offset;
    return kind != TermKind::AxisOffsetQuery || analysis.queryPlace == analysis.keyPlace;
  }

  std::string label;
  TermKind kind;
};
} // namespace

void skewer::registerBuiltinTermClasses(RegisterTermClass registerClass) {
  registerClass(std::make_unique<Content>(), 100);
  registerClass(std::make_unique<RowOfTable>("offset, query side", TermKind::OffsetQuery), 200);
  registerClass(std::make_unique<RowOfTable>("offset per map axis, query side", TermKind::AxisOffsetQuery), 300);
  registerClass(std::make_unique<RowOfTable>("offset, key side", TermKind::OffsetKey), 400);
  registerClass(std::make_unique<RowOfTable>("function of the offset", TermKind::OffsetFunction), 500);
  registerPerTokenTermClass(registerClass);
  registerFunctionTermClass(registerClass);
  registerScalarTermClasses(registerClass);
  registerPositionTermClasses(registerClass);
  registerValueTermClasses(registerClass);
}
