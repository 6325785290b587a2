// Finds the map of keys of run-time width: the width is the number by which index expressions divide positions.
#include "passes/Analysis/LengthMap.h"
#include "passes/Analysis/AttentionShape.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/LaneFit.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Returns whether a number is the same at all positions, and known only at the call.
static bool isOfCall(const Expr &e) { return !e.isConstant() && symbolsOf(e).empty(); }

/// Returns the first divisor of the axis that is known only at the call; nothing if there is none.
static std::optional<Expr> widthIn(const Expr &e, const std::string &axis) {
  bool divides = e.kind() == Kind::FloorDiv || e.kind() == Kind::Mod;
  if (divides && e.operands()[0] == Expr::symbol(axis) && isOfCall(e.operands()[1]))
    return e.operands()[1];
  for (const Expr &operand : e.operands())
    if (auto width = widthIn(operand, axis))
      return width;
  return std::nullopt;
}

Expr LengthMap::moved(const Expr &e) const {
  for (auto [axis, by, row, column] : {std::tuple(&key, &width, kKeyRow, kKeyColumn),
                                       std::tuple(&query, &queryWidth, kQueryRow, kQueryColumn)}) {
    bool isMap = axis == &key || ofQueries;
    if (!isMap)
      continue;
    if (e == Expr::symbol(*axis))
      return Expr::symbol(row) * *by + Expr::symbol(column);
    if (e == floorDiv(Expr::symbol(*axis), *by))
      return Expr::symbol(row);
    if (e == mod(Expr::symbol(*axis), *by))
      return Expr::symbol(column);
  }
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands())
    operands.push_back(moved(operand));
  return operands.empty() ? e : e.withOperands(operands);
}

bool LengthMap::isOfDifferences(const std::vector<Expr> &moved) const {
  return ofQueries && skewer::isOfDifferences(moved, space);
}

/// Returns the most rows that a map of `positions` has; the exact number if the length is a product with the width.
static int64_t mostRows(const std::optional<Expr> &length, const Expr &width, int64_t positions, const Domain &domain) {
  if (!length)
    return positions;
  auto bounds = bound(simplify(floorDiv(*length + width - 1, width), domain), domain, std::nullopt, 0);
  return bounds ? std::min(positions, bounds->range.high) : positions;
}

/// Returns the places of the operands that are one number for each query.
static std::vector<unsigned> gatesOf(const OtherTerm &term, const ScoreSpace &space) {
  std::vector<unsigned> gates;
  std::vector<std::string> others = space.key;
  for (const auto &[axis, size] : term.contracted)
    others.push_back(axis);
  for (auto [place, offset] : llvm::enumerate(term.offsets))
    if (usesAny(offset, space.query) && !usesAny(offset, others) && !term.isArgument(place))
      gates.push_back(place);
  return gates;
}

static void useMap(OtherTerm &term, const ScoreSpace &space, const LengthMap &map) {
  if (term.own || (term.bias != BiasKind::Lanes && term.bias != BiasKind::Element))
    return;
  OtherTerm inside = term;
  if (!term.insideOffsets.empty()) {
    inside.offsets = term.insideOffsets;
    inside.guard = term.insideGuard;
  }
  for (const std::vector<unsigned> &gates : {std::vector<unsigned>(), gatesOf(term, space)}) {
    std::vector<Expr> expressions = expressionsOf(inside, gates);
    llvm::transform(expressions, expressions.begin(), [&](const Expr &e) { return map.moved(e); });
    if (map.isOfDifferences(expressions)) {
      inside.bias = BiasKind::Difference;
      inside.onMap = true;
      inside.gates = gates;
      term = std::move(inside);
      return;
    }
  }
}

static void useMap(RowTerm &term, const LengthMap &map) {
  if (term.keySide || term.kind != RowKind::Any)
    return;
  Expr row = map.moved(term.row);
  std::optional<Expr> guard = term.guard ? std::optional(map.moved(*term.guard)) : std::nullopt;
  auto uses = [&](const char *axis) { return usesAny(row, {axis}) || (guard && usesAny(*guard, {axis})); };
  bool ofRow = uses(LengthMap::kKeyRow), ofColumn = uses(LengthMap::kKeyColumn);
  if (ofRow != ofColumn)
    term.onMap = RowOnMap{row, guard, ofRow};
}

void skewer::findLengthMap(AttentionShape &shape) {
  const ScoreSpace &space = shape.space;
  if (!shape.bounds.keyLength || space.key.size() != 1 || space.query.size() != 1)
    return;
  std::vector<Expr> expressions;
  for (const RowTerm &term : shape.rows)
    expressions.push_back(term.row);
  for (const OtherTerm &term : shape.others)
    llvm::append_range(expressions, expressionsOf(term, {}));
  std::optional<Expr> width, queryWidth;
  for (const Expr &e : expressions) {
    width = width ? width : widthIn(e, space.key[0]);
    queryWidth = queryWidth ? queryWidth : widthIn(e, space.query[0]);
  }
  Domain domain = attn::domainOf(space);
  auto most = [&](const Expr &e) {
    auto bounds = bound(e, domain, std::nullopt, 0);
    return bounds && bounds->range.low >= 1 ? bounds->range.high : 0;
  };
  LengthMap map;
  map.key = space.key[0];
  map.query = space.query[0];
  map.mostWidth = width ? most(*width) : 0;
  if (!map.mostWidth || map.mostWidth > shape.keys)
    return;
  map.width = *width;
  map.mostRows = mostRows(shape.bounds.keyLength, map.width, shape.keys, domain);
  map.space = space;
  map.space.key = {LengthMap::kKeyRow, LengthMap::kKeyColumn};
  map.space.sizes[LengthMap::kKeyRow] = map.mostRows;
  map.space.sizes[LengthMap::kKeyColumn] = map.mostWidth;
  if (queryWidth && most(*queryWidth)) {
    map.ofQueries = true;
    map.queryWidth = *queryWidth;
    map.mostQueryWidth = most(*queryWidth);
    map.mostQueryRows = mostRows(shape.bounds.queryLength, map.queryWidth, shape.queries, domain);
    map.space.query = {LengthMap::kQueryRow, LengthMap::kQueryColumn};
    map.space.sizes[LengthMap::kQueryRow] = map.mostQueryRows;
    map.space.sizes[LengthMap::kQueryColumn] = map.mostQueryWidth;
  }
  for (RowTerm &term : shape.rows)
    useMap(term, map);
  for (OtherTerm &term : shape.others)
    useMap(term, space, map);
  shape.bounds.map = std::move(map);
}
