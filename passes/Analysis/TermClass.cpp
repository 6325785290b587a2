// Classifies terms, and says in a line what a class means for a term.
#include "passes/Analysis/TermClass.h"
#include "dialect/IR/BuiltinFunctions.h"
#include "dialect/Subscript/Analysis.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/BiasKind.h"
#include "llvm/ADT/StringExtras.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
bool contains(const std::vector<std::string> &list, const std::string &name) { return llvm::is_contained(list, name); }
std::set<std::string> asSet(const std::vector<std::string> &list) { return {list.begin(), list.end()}; }

/// The groups of axes that some expressions use.
struct Uses {
  bool leading = false, query = false, key = false, contracted = false;
};

/// The axes in the subscripts of one operand, and the dimensions that need more than an axis.
struct Reading {
  Uses uses;
  /// The dimensions whose subscripts use positions otherwise than as an axis or a product of axes.
  llvm::SmallVector<size_t> odd;
};

/// Returns the key axes that the operands, the factor and the guard of a term depend on.
std::vector<std::string> keyAxesOf(const Term &term) {
  std::vector<Expr> expressions = {term.factor.value_or(1), term.einsum.guard.value_or(1)};
  for (const std::vector<Expr> &subscripts : term.einsum.subscripts)
    llvm::append_range(expressions, subscripts);
  return axesIn(expressions, term.space->key);
}

class Classifier {
public:
  explicit Classifier(const Term &term)
      : term(term), space(*term.space), einsum(term.einsum),
        product(term.size() == 2 && !term.factor && !term.einsum.contracted.empty()) {
    sizes = einsum.sizes;
    sizes.insert(space.sizes.begin(), space.sizes.end());
    for (const std::string &axis : einsum.contracted) {
      int64_t size = einsum.sizes.count(axis) ? term.sizeOf(axis) : kRuntime;
      found.depth = size == kRuntime || found.depth == kRuntime ? kRuntime : found.depth * size;
    }
    for (size_t operand = 0; operand < term.size(); ++operand)
      readings.push_back(read(operand));
  }

  TermAnalysis run() {
    if (term.isOfValues) {
      if (term.application || !isValueRow())
        found.kind = TermKind::Materialised;
    } else if (term.application) {
      found.kind = TermKind::Function;
    } else if (!isContent() && !isPerToken() && !isRow(/*ofOffset=*/true) && !isOneSided() && !isNumberOfOffset() &&
               !isNumberOfAxes() && !isRow(/*ofOffset=*/false) && !isNumberOfPositions()) {
      found.kind = TermKind::Materialised;
    }
    return found;
  }

private:
  Uses usesOf(llvm::ArrayRef<Expr> expressions) const {
    Uses uses;
    for (const Expr &expression : expressions)
      for (const std::string &symbol : symbolsOf(expression)) {
        uses.leading |= contains(space.leading, symbol);
        uses.query |= contains(space.query, symbol);
        uses.key |= contains(space.key, symbol);
        uses.contracted |= contains(einsum.contracted, symbol);
      }
    return uses;
  }
  bool usesPositions(const Expr &e) const {
    Uses uses = usesOf(e);
    return uses.query || uses.key;
  }
  const std::vector<Expr> &subscriptsOf(size_t operand) const { return einsum.subscripts[operand]; }
  Expr rowAt(size_t operand, size_t dimension) const {
    return simplify(subscriptsOf(operand)[dimension], term.domain, einsum.guard);
  }

  Reading read(size_t operand) const {
    Reading reading;
    auto positionOf = [&](const std::vector<std::string> &axes) {
      return simplify(flatIndex({axes, {}}, space.sizes), term.domain);
    };
    for (auto [d, subscript] : llvm::enumerate(subscriptsOf(operand))) {
      Expr e = simplify(subscript, term.domain);
      Uses uses = usesOf(e);
      reading.uses.leading |= uses.leading;
      reading.uses.query |= uses.query;
      reading.uses.key |= uses.key;
      reading.uses.contracted |= uses.contracted;
      if (usesPositions(e) && !e.isSymbol() && e != positionOf(space.query) && e != positionOf(space.key) &&
          !dimensionFor(e, sizes).isProduct())
        reading.odd.push_back(d);
    }
    return reading;
  }

  /// Returns the axes of the query (or key), but for axes of size 1: a single query has no axis that a subscript could
  /// name.
  std::vector<std::string> axesOf(bool query) const {
    std::vector<std::string> axes;
    for (const std::string &axis : query ? space.query : space.key)
      if (space.sizes.at(axis) != 1)
        axes.push_back(axis);
    return axes;
  }
  /// Returns whether the operand reads every axis of the query (or key) once and in order, so that it has a row for
  /// each position.
  bool readsWhole(size_t operand, bool query) const {
    std::vector<std::string> axes = axesOf(query), read;
    for (const Expr &subscript : subscriptsOf(operand))
      for (const std::string &axis : dimensionFor(simplify(subscript, term.domain), sizes).axes)
        if (contains(axes, axis))
          read.push_back(axis);
    return read == axes;
  }
  /// Returns whether the operand reads whole positions in this way, or rows at an even stride from any place: part of a
  /// tensor, every second row, blocks that overlap.
  bool readsEvenly(size_t operand, bool query) const {
    std::set<std::string> missing = asSet(axesOf(query));
    bool even = true;
    for (const Expr &subscript : subscriptsOf(operand)) {
      auto affine = asAffine(subscript, term.domain);
      even &= affine || !usesPositions(subscript);
      if (affine)
        for (const auto &entry : affine->coefficients)
          missing.erase(entry.first);
    }
    return (even && missing.empty()) || (readings[operand].odd.empty() && readsWhole(operand, query));
  }

  /// Notes the operands of the term's class; -1: there is none.
  bool is(TermKind kind, int query, int other) {
    found.kind = kind;
    found.query = query;
    found.other = other;
    found.queryLeading = query >= 0 && readings[query].uses.leading;
    found.otherLeading = other >= 0 && readings[other].uses.leading;
    return true;
  }
  /// Notes the row of operand `other`.
  void setRow(size_t dimension) {
    found.rowDimension = static_cast<int>(dimension);
    found.row = rowAt(found.other, dimension);
    found.rows = term.shapes[found.other][dimension];
  }

  /// Returns the dimension in which keys pick rows of an operand by a run-time index: the pages of a cache.
  std::optional<size_t> pickedDimension(size_t operand) const {
    for (auto [d, subscript] : llvm::enumerate(subscriptsOf(operand)))
      for (const Expr &read : readNodes(subscript))
        if (usesOf(read).key)
          return d;
    return std::nullopt;
  }
  bool isContent() {
    for (int query : {0, 1}) {
      int key = 1 - query;
      if (!product || readings[query].uses.key || readings[key].uses.query || !readings[query].uses.contracted ||
          !readings[key].uses.contracted || !readsEvenly(query, true))
        continue;
      auto picked = pickedDimension(key);
      if (!picked && !readsEvenly(key, false))
        continue;
      is(TermKind::Content, query, key);
      if (picked)
        setRow(*picked);
      return true;
    }
    return false;
  }

  /// Finds terms that depend on query and key through run-time indices. These are read for each query and each key;
  /// nothing of the size of the score is made from them.
  bool isPerToken() {
    auto reads = [](const Expr &e) { return !readsOf(withoutUniformReads(e)).empty(); }; // but for a part's origin
    bool any = term.factor && reads(*term.factor);
    Uses uses = term.factor ? usesOf(*term.factor) : Uses();
    int table = -1, row = -1, query = -1;
    for (size_t operand = 0; operand < term.size(); ++operand) {
      Uses own = usesOf(subscriptsOf(operand));
      uses.query |= own.query;
      uses.key |= own.key;
      for (auto [d, subscript] : llvm::enumerate(subscriptsOf(operand)))
        if (reads(subscript)) {
          table = static_cast<int>(operand);
          row = static_cast<int>(d);
        }
    }
    if ((!any && table < 0) || !uses.query || !uses.key)
      return false;
    for (int operand = 0; operand < static_cast<int>(term.size()); ++operand)
      if (operand != table && readings[operand].odd.empty() && readings[operand].uses.query)
        query = operand;
    is(TermKind::PerToken, query, table);
    if (table >= 0)
      setRow(row);
    return true;
  }

  /// Returns the offset that alone picks the row of a table; if the row is not affine in it, one without a sign, which
  /// has only axes. Returns nothing if the row depends on anything else.
  std::optional<Offset> offsetIn(const Expr &row) const {
    std::set<std::string> symbols = symbolsOf(row);
    if (auto offset = asOffset(row, asSet(space.query), asSet(space.key), term.domain))
      return symbols.size() == 2 ? offset : std::nullopt;
    Offset offset;
    offset.sign = 0;
    for (const std::string &symbol : symbols) {
      if (contains(space.query, symbol))
        offset.query = symbol;
      if (contains(space.key, symbol))
        offset.key = symbol;
    }
    bool fits = symbols.size() == 2 && !offset.query.empty() && !offset.key.empty() &&
                isOfDifferences({row}, {offset.query}, {offset.key}, term.domain);
    return fits ? std::optional(offset) : std::nullopt;
  }
  bool isWhole() const { return space.query.size() == 1 && space.key.size() == 1; }
  /// Returns whether one offset alone picks rows of the table, in one dimension, and notes the offset.
  bool picksByOffset(size_t table) {
    const Reading &reading = readings[table];
    if (reading.odd.size() != 1)
      return false;
    for (auto [d, subscript] : llvm::enumerate(subscriptsOf(table)))
      if (d != reading.odd.front() && usesPositions(subscript))
        return false;
    auto offset = offsetIn(rowAt(table, reading.odd.front()));
    if (!offset)
      return false;
    found.offset = *offset;
    found.queryExtent = space.sizes.at(offset->query);
    found.keyExtent = space.sizes.at(offset->key);
    return true;
  }

  /// The rows of an operand that positions pick, and the dimensions in which they do; kRuntime if their number is known
  /// only at run time.
  struct PickedRows {
    int64_t rows = 1;
    llvm::SmallVector<size_t> dimensions;
  };
  PickedRows pickedRows(size_t operand) const {
    PickedRows picked;
    for (auto [d, size] : llvm::enumerate(term.shapes[operand])) {
      if (!usesPositions(subscriptsOf(operand)[d]))
        continue;
      picked.dimensions.push_back(d);
      if (size == kRuntime || picked.rows == kRuntime || __builtin_mul_overflow(picked.rows, size, &picked.rows))
        picked.rows = kRuntime;
    }
    return picked;
  }
  /// Returns whether the operand is a table: whether it has fewer rows that positions pick than there are pairs.
  bool isTable(size_t operand) const {
    PickedRows picked = pickedRows(operand);
    return !picked.dimensions.empty() && picked.rows != kRuntime && picked.rows < space.queries() * space.keys();
  }
  /// Notes the row of operand `other`, however many dimensions it has.
  bool setPickedRow() {
    PickedRows picked = pickedRows(found.other);
    if (picked.dimensions.size() == 1)
      setRow(picked.dimensions.front());
    found.rows = picked.rows;
    return true;
  }

  /// Returns the kind of a product whose rows an offset picks.
  TermKind kindByOffset(bool ofKey) const {
    if (found.offset.sign == 0)
      return TermKind::OffsetFunction;
    return ofKey ? TermKind::OffsetKey : isWhole() ? TermKind::OffsetQuery : TermKind::AxisOffsetQuery;
  }
  /// Returns whether the offset is that of rows against columns of a map, not that of one axis.
  bool crossesAxes() const {
    return llvm::find(space.query, found.offset.query) - space.query.begin() !=
           llvm::find(space.key, found.offset.key) - space.key.begin();
  }
  /// Finds products of a vector of the query or the key with a row of a table that both positions pick: `ofOffset`, by
  /// one offset; else in any way.
  bool isRow(bool ofOffset) {
    for (int vector : {0, 1}) {
      int table = 1 - vector;
      if (!product)
        return false;
      const Reading &v = readings[vector], &t = readings[table];
      bool query = readsWhole(vector, true) && !v.uses.key, key = readsWhole(vector, false) && !v.uses.query;
      if (!v.odd.empty() || !v.uses.contracted || !t.uses.contracted || query == key)
        continue;
      found.isOfKey = key;
      if (!ofOffset && (query ? t.uses.key : t.uses.query) && isTable(table))
        return is(TermKind::PositionRow, vector, table) && setPickedRow();
      if (!ofOffset || !t.uses.query || !t.uses.key || !picksByOffset(table))
        continue;
      TermKind kind = kindByOffset(key);
      if (kind == TermKind::AxisOffsetQuery && crossesAxes())
        continue;
      is(kind, vector, table);
      setRow(t.odd.front());
      return true;
    }
    return false;
  }

  /// Finds terms that depend on one side only, or on positions only.
  bool isOneSided() {
    Uses uses = usesOf(expressions(/*withGuard=*/true));
    if (uses.key && uses.query && term.size() > 0)
      return false;
    return is(!uses.key     ? TermKind::QueryOnly
              : !uses.query ? TermKind::KeyOnly
                            : TermKind::Position,
              -1, term.size() == 1 ? 0 : -1);
  }

  /// Returns the subscripts of the operands that are no gates, and the factor.
  std::vector<Expr> expressions(bool withGuard, llvm::ArrayRef<int> gates = {}) const {
    std::vector<Expr> all;
    for (size_t operand = 0; operand < term.size(); ++operand)
      if (!llvm::is_contained(gates, static_cast<int>(operand)))
        for (const Expr &subscript : subscriptsOf(operand))
          all.push_back(withGuard ? subscript : simplify(subscript, term.domain, einsum.guard));
    if (term.factor)
      all.push_back(*term.factor);
    if (withGuard && einsum.guard)
      all.push_back(*einsum.guard);
    return all;
  }

  /// Finds terms that are one number for each offset, of one pair of axes or of several, perhaps times numbers of the
  /// query: T[h, f(j - i)], slope[h] * abs(i - j), r[h]·T[h, j - i], g[h, i]·T[h, f(j - i)].
  bool isNumberOfOffset() {
    llvm::SmallVector<int> gates;
    int table = -1;
    for (int operand = 0; operand < static_cast<int>(term.size()); ++operand) {
      const Uses &uses = readings[operand].uses;
      if (uses.query && !uses.key)
        gates.push_back(operand);
      else if (uses.key && table < 0)
        table = operand;
    }
    auto isOfOffsets = [&](llvm::ArrayRef<int> left) {
      std::vector<Expr> all = expressions(/*withGuard=*/false, left);
      return usesOf(all).key && isOfDifferences(all, space);
    };
    bool isNumber = einsum.contracted.empty();
    if (!isOfOffsets({}))
      return !gates.empty() && isNumber && isOfOffsets(gates) && is(TermKind::GatedOffset, gates.front(), table);
    bool ofTable = isNumber && term.size() == 1;
    return is(TermKind::ScalarOffset, -1, ofTable ? 0 : -1) && (!ofTable || setPickedRow());
  }

  /// Finds terms that depend on the key through some axes of a map alone, so that many keys of a query share a number.
  bool isNumberOfAxes() {
    std::vector<std::string> axes = keyAxesOf(term);
    if (axes.empty() || !einsum.contracted.empty() || countOf(axes, space) >= space.keys())
      return false;
    found.rows = countOf(axes, space);
    return is(TermKind::AxisScalar, -1, term.size() == 1 ? 0 : -1);
  }

  bool isNumberOfPositions() {
    if (term.size() != 1 || !einsum.contracted.empty() || !readings[0].uses.query || !readings[0].uses.key ||
        !isTable(0))
      return false;
    return is(TermKind::PositionScalar, -1, 0) && setPickedRow();
  }

  /// Finds rows that a key adds to its values: its own, or rows of a table that an offset picks.
  bool isValueRow() {
    if (term.size() != 1 || term.factor)
      return false;
    const Reading &reading = readings[0];
    if (!einsum.guard && reading.odd.empty() && !reading.uses.query && readsWhole(0, false))
      return is(TermKind::ValueOfKey, -1, 0);
    if (reading.uses.contracted || !picksByOffset(0))
      return false;
    bool affine = found.offset.sign != 0;
    is(!affine ? TermKind::ValueFunction : isWhole() ? TermKind::ValueOffset : TermKind::AxisValueOffset, -1, 0);
    setRow(reading.odd.front());
    return true;
  }

  const Term &term;
  const ScoreSpace &space;
  const ResolvedEinsum &einsum;
  const bool product; // of two vectors
  AxisSizes sizes;
  std::vector<Reading> readings;
  TermAnalysis found;
};

/// The names of the classes, in the order of TermKind.
constexpr llvm::StringLiteral kLabels[] = {
    "content",
    "per-token index",
    "offset, query side",
    "offset per map axis, query side",
    "offset, key side",
    "function of the offset",
    "query only",
    "key only",
    "position",
    "scalar of the offset",
    "gated scalar of the offset",
    "scalar of map axes",
    "row picked by positions",
    "scalar picked by positions",
    "function",
    "key only, value side",
    "offset, value side",
    "offset per map axis, value side",
    "function of the offset, value side",
    "pair by pair",
};

std::string describeFunction(const Application &application) {
  std::string text = "the function " + signatureOf(*application.function) +
                     (isBuiltinFunction(application.function->name()) ? ", of" : " of a plugin, of");
  const char *separator = " ";
  for (const Application::Argument &argument : application.arguments) {
    text += separator;
    text += argument.operand >= 0 ? "an element" : print(argument.position);
    separator = ", ";
  }
  return text;
}

std::string describeNumber(const Term &term, const TermAnalysis &a) {
  bool ofTable = a.rowDimension >= 0;
  std::string head = a.otherLeading ? " and head" : "";
  if (a.other < 0)
    return std::string("one number an offset: ") +
           (term.einsum.contracted.empty() ? "a product of " : "a sum of products of ") + std::to_string(term.size()) +
           " tensors";
  if (term.factor && !ofTable)
    return "the function " + print(*term.factor) + " of the offset, times one number" +
           (a.otherLeading ? " a head" : "");
  return "one number an offset" + head +
         (ofTable ? ", row " + print(a.row) + " of " + std::to_string(a.rows) : std::string());
}

const TermClasses *classesOf(mlir::MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<AttnDialect>();
  return dialect ? dialect->getRegisteredInterface<TermClasses>() : nullptr;
}
} // namespace

TermClasses &TermClasses::of(AttnDialect *dialect) {
  if (!dialect->getRegisteredInterface<TermClasses>())
    dialect->addInterfaces<TermClasses>();
  return *dialect->getRegisteredInterface<TermClasses>();
}

const TermClass *TermClasses::find(const Term &term, TermAnalysis &analysis) const {
  for (const auto &[order, termClass] : classes)
    if (termClass->isOf(term.isOfValues) && termClass->isOfFunctions() == term.application.has_value())
      if (auto matched = termClass->match(term)) {
        analysis = std::move(*matched);
        return termClass.get();
      }
  return nullptr;
}

llvm::ArrayRef<llvm::StringLiteral> skewer::termClassNames() { return kLabels; }

TermAnalysis skewer::analyse(const Term &term) {
  TermAnalysis analysis;
  const TermClasses *classes = classesOf(TermOp(term.op).getContext());
  const TermClass *ofPlugin = classes ? classes->find(term, analysis) : nullptr;
  if (!ofPlugin)
    analysis = Classifier(term).run();
  analysis.ofPlugin = ofPlugin;
  analysis.className =
      (ofPlugin ? ofPlugin->name() : llvm::StringRef(kLabels[static_cast<size_t>(analysis.kind)])).str();
  analysis.guarded = term.einsum.guard.has_value();
  return analysis;
}
TermAnalysis skewer::analyse(TermOp op) { return analyse(*termOf(op)); }

std::string skewer::describe(const Term &term, const TermAnalysis &a) {
  if (a.ofPlugin)
    return a.ofPlugin->describe(term, a);
  std::string row = a.rowDimension >= 0 ? "row " + print(a.row) : "a row", rows = std::to_string(a.rows);
  std::string side = a.isOfKey ? ", key side" : ", query side", head = a.otherLeading ? " a head" : "";
  switch (a.kind) {
  case TermKind::Content:
    if (a.rowDimension >= 0)
      return "matmul of queries and keys, " + row + " of " + rows;
    return std::string("matmul of queries and ") + (a.otherLeading ? "keys" : "one row a key, shared by all heads");
  case TermKind::PerToken:
    return (a.other < 0 ? print(*term.factor) : row + " of " + rows) + ", read for each query and key" +
           (a.other >= 0 && a.query >= 0 ? side : "");
  case TermKind::OffsetQuery:
  case TermKind::AxisOffsetQuery:
  case TermKind::OffsetKey:
  case TermKind::OffsetFunction: {
    int64_t used = a.queryExtent + a.keyExtent - 1;
    return row + " of a table" + head + ", " + (used < a.rows ? std::to_string(used) + " of " : "") + rows + " rows" +
           side;
  }
  case TermKind::QueryOnly:
    return "the same for all keys of a query";
  case TermKind::KeyOnly:
    return "one number a key, whatever the query";
  case TermKind::Position:
    return "a function of positions, without a tensor";
  case TermKind::ScalarOffset:
    return describeNumber(term, a);
  case TermKind::GatedOffset:
    return "one number an offset, times one a query";
  case TermKind::AxisScalar:
    return std::to_string(a.rows) + " numbers a query, one for each index along " + llvm::join(keyAxesOf(term), ", ");
  case TermKind::PositionRow:
    return row + " of " + rows + " rows of a table" + head + side;
  case TermKind::PositionScalar:
    return "one number for each query and key, " + row + " of " + rows + (a.otherLeading ? ", a table a head" : "");
  case TermKind::Function:
    return describeFunction(*term.application);
  case TermKind::ValueOfKey:
    return "added to the values of the keys";
  case TermKind::ValueOffset:
  case TermKind::AxisValueOffset:
  case TermKind::ValueFunction:
    return row + " of a table" + head + " of " + rows + " rows, value side" +
           (term.einsum.guard ? ", where " + print(*term.einsum.guard) : "");
  case TermKind::Materialised:
  case TermKind::Custom:
    break;
  }
  return "a number for each query and key: no class fits its subscripts '" + print(term.einsum.spec) + "'";
}
std::string skewer::describe(TermOp op) {
  auto term = termOf(op);
  return describe(*term, analyse(*term));
}
