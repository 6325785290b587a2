// Checks that an attention can be one fused GPU kernel, and sorts its terms by the strategies that compute them.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Analysis/Strides.h"
#include "passes/Gpu/Shape/GpuStrategies.h"
#include "passes/Gpu/Shape/ProductType.h"
#include "passes/Stages/NarrowRows.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;

namespace {

// The logits of up to kRowsBeforeBand rows are computed once per block, not in a band for each tile. The logits of more
// than kMostLookupRows rows do not fit into shared memory.
constexpr int64_t kRowsBeforeBand = 64, kMostLookupRows = 512;
// The most numbers of a query that take the place of logits. A block of 64 queries then has room for several terms.
constexpr int64_t kMostNumbers = 128;
// The same limit if most offsets share a row. Bands would load that one row again and again, for all blocks from one
// place of the second-level cache: with 73, 129 and 257 rows for 1000 keys they took 6.0, 4.0 and 3.4 times as long
// (H200). More logits would leave no room for a block of 128 queries.
constexpr int64_t kSharedRowsBeforeBand = 288;

constexpr double kLargestF16 = 65504;

/// Returns whether the logits of the table's rows are computed once per block, before the tiles of keys.
bool isBeforeBand(const RowTerm &row, const AttentionShape &shape) {
  int64_t rows = row.endRow - row.firstRow;
  bool shares = 2 * rows < shape.queries + shape.keys;
  return rows <= (shares ? kSharedRowsBeforeBand : kRowsBeforeBand);
}

/// Returns the product of the term's vectors with the rows [first, end) of its table, as far as they exist.
TableProduct productOf(const RowTerm &term, int64_t first, int64_t end) {
  TableProduct result{term.vector, {}, term.depth, end - first, term.rowLength, term.scale};
  result.table = {term.table,  term.tableBase + Expr(first * term.rowStride), 0, term.rowStride, term.depthStride,
                  std::nullopt};
  if (term.rowLength && end - first < term.rows)
    result.rowLength = subscript::min(*term.rowLength - Expr(first), Expr(end - first));
  return result;
}

/// Returns the lookup of a term whose row is linear in one query axis and one key axis of a map.
LookupTerm axisLookup(const RowTerm &term) {
  const LinearRow &at = term.linear;
  Expr query = Expr::symbol(at.query), key = Expr::symbol(at.key), offset = at.sign > 0 ? key - query : query - key;
  int64_t below = at.sign > 0 ? at.queryAxis.extent : at.keyAxis.extent,
          above = at.sign > 0 ? at.keyAxis.extent : at.queryAxis.extent;
  int64_t first = std::max<int64_t>(0, at.constant - below + 1), last = std::min(term.rows, at.constant + above) - 1;
  bool isKnown = at.shift.isConstant(0) && !term.rowLength;
  if (!isKnown) // known only at run time: any row may be read
    first = 0, last = term.rows - 1;
  LookupTerm result{productOf(term, first, last + 1), offset + at.shift + Expr(at.constant - first), {}, {}, {}, {}};
  if (isKnown)
    result.reach = LookupReach{at.queryAxis, at.keyAxis.extent, at.sign, at.constant - first};
  return result;
}

/// Returns the rows of far offsets, if the row depends on key - query and is one row on either side.
std::optional<FarRows> farRowsOf(const RowTerm &term) {
  if (term.kind != RowKind::Offset || term.guard)
    return std::nullopt;
  const std::vector<int64_t> &rows = term.offsets.rows;
  if (rows.empty() || rows.front() < term.firstRow || rows.back() < term.firstRow)
    return std::nullopt;
  auto other = [](int64_t first) { return [first](int64_t row) { return row != first; }; };
  auto near = llvm::find_if(rows, other(rows.front()));
  auto behind = std::find_if(rows.rbegin(), rows.rend(), other(rows.back()));
  return FarRows{term.offsets.low + int64_t(near - rows.begin()) - 1,
                 term.offsets.high() - int64_t(behind - rows.rbegin()) + 1, rows.front() - term.firstRow,
                 rows.back() - term.firstRow};
}

LookupTerm lookupOf(const RowTerm &term) {
  return {
      productOf(term, term.firstRow, term.endRow), term.row - Expr(term.firstRow), term.guard, {}, farRowsOf(term), {}};
}

/// Returns the lookup of a term that is one number for each query and each tuple of indices of some key axes, or of
/// none, if there are fewer tuples than keys. A score then costs a read of shared memory at most.
std::optional<LookupTerm> numbersLookup(const ElementTerm &term, const AttentionShape &shape) {
  std::vector<std::string> axes = axesIn(expressionsOf(term), shape.space.key);
  int64_t count = countOf(axes, shape.space);
  if (!term.contracted.empty() || count >= shape.keys || count > kMostNumbers)
    return std::nullopt;
  LookupTerm result;
  result.depth = 0;
  result.rows = count;
  result.row = 0;
  for (const std::string &axis : axes)
    result.row = result.row * Expr(shape.space.sizes.at(axis)) + Expr::symbol(axis);
  result.row = simplify(result.row, subscript::domainOf(shape.space.sizes));
  result.numbers = term;
  return result;
}

BandTerm bandOf(const RowTerm &term) {
  TableProduct product = productOf(term, 0, term.rows);
  if (term.kind != RowKind::Linear)
    return {product, term.keySide, 1, 0, 0, term.offsets, {}};
  const LinearRow &row = term.linear;
  return {product, /*ofKey=*/false, row.sign, row.constant, row.shift, {}, {}};
}

/// Returns whether a term has no contraction and depends on key - query alone, where both are single axes.
bool isLineOfOffsets(const ElementTerm &term, const attn::ScoreSpace &space) {
  if (!term.contracted.empty() || space.query.size() != 1 || space.key.size() != 1)
    return false;
  return isOfDifferences(expressionsOf(term), space);
}

/// Returns the gated line of a term if each of its operands depends on the query alone or on key - query alone. The
/// operands of the query are read for every query, so the term must have no guard.
std::optional<GatedLine> gatedLineOf(const ElementTerm &term, const attn::ScoreSpace &space) {
  if (term.guard || !term.contracted.empty())
    return std::nullopt;
  GatedLine result{term, {}};
  result.line.arguments.clear();
  result.line.offsets.clear();
  for (auto [place, argument, offset] : llvm::enumerate(term.arguments, term.offsets)) {
    bool isGate = usesAny(offset, space.query) && !usesAny(offset, space.key) && !term.isArgument(place);
    ElementTerm &part = isGate ? result.gate : result.line;
    if (term.isArgument(place))
      for (auto [now, before] : llvm::zip(result.line.application->arguments, term.application->arguments))
        if (before.operand == int(place))
          now.operand = int(part.arguments.size());
    part.arguments.push_back(argument);
    part.offsets.push_back(offset);
  }
  if (result.gate.arguments.empty() || !isLineOfOffsets(result.line, space))
    return std::nullopt;
  return result;
}

} // namespace

std::optional<Refusal> skewer::gpu::refuseUnknown(Operation *op, ArrayRef<StringRef> known) {
  for (NamedAttribute attribute : op->getAttrs())
    if (!llvm::is_contained(known, attribute.getName().getValue()) &&
        attribute.getName().getValue().find('.') == StringRef::npos)
      return Refusal{"'" + attribute.getName().str() + "' of '" + op->getName().getStringRef().str() +
                     "' is not made for GPUs yet"};
  return std::nullopt;
}

ArrayRef<StringRef> skewer::gpu::knownOfTerms() {
  static const StringRef known[] = {"subscripts", "sizes",     "guard", "value",       "scale",
                                    "function",   "arguments", "sum",   "index_names", "operandSegmentSizes"};
  return known;
}

std::optional<double> skewer::gpu::commonScaleOf(const GpuShape &shape) {
  if (!shape.attention.isPlainSoftmax() || shape.attention.content.empty() || !shape.elements.empty() ||
      !shape.lines.empty() || !shape.gatedLines.empty())
    return std::nullopt;
  double scale = shape.attention.content.front().scale;
  auto same = [&](const auto &term) { return term.scale == scale; };
  // Looked-up logits are multiplied, before they are added, by their scale divided by the common scale.
  auto isNear = [&](const LookupTerm &term) { return !term.numbers && std::abs(term.scale) <= 0x1p20 * scale; };
  bool ofOneScale = scale > 0 && llvm::all_of(shape.attention.content, same) &&
                    llvm::all_of(shape.bands, [&](const BandTerm &term) { return !term.ofKey && same(term); }) &&
                    llvm::all_of(shape.lookups, isNear);
  return ofOneScale ? std::optional(scale) : std::nullopt;
}

namespace {
/// Puts each term of a score into the shape's list for the strategy that computes it.
struct TermLists {
  attn::AttentionOp attention;
  const AttentionShape &shape;
  ArrayRef<Value> operands;
  const std::optional<Expr> &mask;
  GpuShape &result;
  size_t rows = 0; // number of row terms added so far

  /// Adds a term, and the name of its strategy.
  void add(const attn::Term &term, TermRole role) {
    const RowTerm *row = role == TermRole::Row ? &shape.rows[rows++] : nullptr;
    SmallVector<StringRef> fitting;
    std::optional<BandTerm> band;
    std::optional<LookupTerm> lookup;
    // Only the first sum is computed as products of tiles.
    if (role == TermRole::Content) {
      choose(StringRef(strategy::kMatmul));
      return;
    }
    if (row && !term.sum)
      findProducts(*row, band, lookup);
    if (band)
      fitting.push_back(band->ofKey ? strategy::kKeyBand : strategy::kBand);
    if (lookup)
      fitting.insert(row->kind != RowKind::Linear && isBeforeBand(*row, shape) ? fitting.begin() : fitting.end(),
                     strategy::kLookup);
    if (!fitting.empty()) {
      fitting.push_back(strategy::kPerScore);
      StringRef chosen = choose(fitting);
      if (chosen == strategy::kLookup)
        return result.lookups.push_back(std::move(*lookup));
      if (chosen != strategy::kPerScore)
        return result.bands.push_back(std::move(*band));
      return result.elements.push_back(elementTermOf(term));
    }
    ElementTerm element = elementTermOf(term);
    std::optional<GatedLine> gated;
    if (!term.sum && isLineOfOffsets(element, shape.space))
      fitting.push_back(strategy::kLine);
    else if (!term.sum && (gated = gatedLineOf(element, shape.space)))
      fitting.push_back(strategy::kGatedLine);
    else if (!term.sum && (lookup = numbersLookup(element, shape)))
      fitting.push_back(strategy::kLookup);
    fitting.push_back(strategy::kPerScore);
    StringRef chosen = choose(fitting);
    if (chosen == strategy::kLookup)
      return result.lookups.push_back(std::move(*lookup));
    if (chosen == strategy::kGatedLine)
      return result.gatedLines.push_back(std::move(*gated));
    (chosen == strategy::kLine ? result.lines : result.elements).push_back(std::move(element));
  }

private:
  StringRef choose(ArrayRef<StringRef> fitting) {
    result.strategies.push_back(chosenStrategy(attention, result.strategies.size(), fitting));
    return result.strategies.back();
  }
  /// Returns the term with its guard for hidden pairs, since scores are computed for masked pairs too.
  ElementTerm elementTermOf(const attn::Term &term) const {
    ElementTerm element = flatTermOf(term, operands);
    element.guard = guardOf(term, mask);
    return element;
  }
  void findProducts(const RowTerm &row, std::optional<BandTerm> &band, std::optional<LookupTerm> &lookup) const {
    if (row.kind == RowKind::Linear) {
      if (row.linear.isWhole(shape.queries, shape.keys))
        band = bandOf(row);
      else if (lookup = axisLookup(row); lookup->rows > kMostLookupRows)
        lookup.reset();
      return;
    }
    int64_t count = row.endRow - row.firstRow;
    if (row.kind == RowKind::Offset && (row.keySide || count > 0))
      band = bandOf(row);
    if (!row.keySide && count > 0 && count <= kMostLookupRows)
      lookup = lookupOf(row);
  }
};
} // namespace

bool skewer::gpu::convertsE4M3(StringRef target) {
  // PTX ISA, "cvt": from e4m3x2 on sm_90 since PTX 7.8; on sm_89 since 8.1, which is newer than the code for sm_89.
  unsigned version = 0;
  return target.consume_front("sm_") && !target.consumeInteger(10, version) && version >= 90;
}

StringRef skewer::gpu::chosenStrategy(attn::AttentionOp attention, size_t number, ArrayRef<StringRef> fitting) {
  auto schedule = dyn_cast_or_null<attn::GpuScheduleAttr>(attention.getScheduleAttr());
  if (!schedule || number >= schedule.getStrategies().size())
    return fitting.front();
  const StringRef *found = llvm::find(fitting, schedule.getStrategies()[number].getValue());
  return found == fitting.end() ? fitting.front() : *found;
}

OrRefusal<AttentionShape> skewer::gpu::tiledShape(attn::AttentionOp attention) {
  auto shape = gpuShapeOf(attention);
  if (!shape)
    return shape.refusal();
  return std::move(shape->attention);
}

OrRefusal<GpuShape> skewer::gpu::gpuShapeOf(attn::AttentionOp attention) {
  if (auto known = attention->getAttrOfType<StringAttr>(kGpuByRows))
    return Refusal{known.str()};
  GpuShape result;
  SmallVector<Value> operands = operandsOf(attention);
  if (auto refusal = refuseInnerRuntimeSizes(attention))
    return *refusal;
  auto shape = shapeOfAttention(attention, /*picks=*/false);
  if (!shape)
    return shape.refusal();
  if (shape->further.weights)
    return Refusal{"its weights are a result too, which tiles of GPUs do not store"};
  if (llvm::any_of(shape->content, [](const ContentTerm &term) { return term.sum > 0; }))
    return Refusal{"its score is a function of several sums of products; tiles of GPUs hold one"};
  leavePrefix(*shape);
  result.firstSeen = shape->bounds.low;
  result.endOfSeen = shape->bounds.high;
  leaveBounds(*shape);
  if (!shape->hasLength()) // with run-time lengths, the tiles are known only at run time
    takeTiles(*shape);
  if (int64_t most = kMostColumns * kMostParts; shape->width > most)
    return Refusal{"its values are " + std::to_string(shape->width) + " wide; blocks divide up to " +
                   std::to_string(most)};
  constexpr int64_t kMost = int64_t(1) << 30;
  if (shape->queries > kMost || shape->keys > kMost)
    return Refusal{"it has more than 2^30 queries or keys"};
  for (Value ofRows : {attention.getLse(), attention.getTotal()})
    if (ofRows && elementTypeOf(ofRows.getType()) != ElementType::F32)
      return Refusal{"one number of each row is not returned as f32"};
  result.element = typeOfProducts(attention, *shape);
  for (Value operand : operands) {
    auto rows = narrowRows(operand);
    result.operandTypes.push_back(getElementTypeOrSelf(rows ? rows->stored : operand));
    result.areScaled.push_back(rows && !rows->scales.empty());
  }
  // Weights are rounded to the operands' type before the product with the values. Weights of a softmax are at most 1.
  bool isBounded = shape->through && rangeOf(*shape->through).isWithin(kLargestF16);
  if (shape->direct && result.element.isF16() && !isBounded)
    return Refusal{"weights that no softmax makes may be larger than f16 holds"};

  if (auto refusal = refuseUnknown(attention, {"space", "sizes", "mask", "value_spec", "direct", "schedule",
                                               "index_names", "operandSegmentSizes", "resultSegmentSizes"}))
    return *refusal;
  auto view = attn::viewOf(attention);
  TermLists lists{attention, *shape, operands, view->mask, result};
  for (auto [term, role] : llvm::zip(view->score, shape->roles)) {
    if (auto refusal = refuseUnknown(term.op, knownOfTerms()))
      return *refusal;
    lists.add(term, role);
  }
  if (auto schedule = dyn_cast_or_null<attn::GpuScheduleAttr>(attention.getScheduleAttr())) {
    result.tile = {schedule.getRows(),    schedule.getKeys(),     schedule.getStages(), schedule.getKeepQueries(),
                   schedule.getColumns(), schedule.getWarpRows(), schedule.getEngine()};
    result.target = schedule.getTarget();
    result.tile.copies = schedule.getCopies();
    result.tile.handsOverApart = result.tile.copies == kTma;
    if (auto parts = attention->getAttrOfType<IntegerAttr>(kGpuKeyParts))
      result.tile.keyParts = parts.getInt();
  }
  result.attention = std::move(*shape);
  for (auto [term, known] : llvm::zip(attention.getValues().getOps<attn::TermOp>(), result.attention.valueTerms))
    if (auto refusal = addValueTerm(known, term, result))
      return *refusal;
  return result;
}
