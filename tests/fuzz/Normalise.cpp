// Changes a spec so that its parts fit together: a drawn spec, and every smaller one that is tried.
#include "tests/fuzz/RandomSpec.h"
#include <algorithm>

namespace skewer::fuzz {

const char *nameOf(TermKind kind) {
  static const char *const names[kTermKinds] = {
      "offset-query",   "offset-key",   "axis-query",   "axis-key",      "strided-axis", "key-table",
      "key-axis-table", "key-scalar",   "query-scalar", "scalar-offset", "scalar-map",   "scalar-map-axes",
      "slope",          "position",     "gated",        "matrix",        "value-offset", "value-axis",
      "token-rows",     "token-scalar", "token-number"};
  return names[static_cast<int>(kind)];
}
const char *nameOf(Mask mask) {
  static const char *const names[kMasks] = {"none",       "causal",  "causal-bottom", "strict", "sliding",
                                            "band",       "prefix",  "blocks",        "odd",    "per-head",
                                            "map-window", "lengths", "documents",     "reach"};
  return names[static_cast<int>(mask)];
}

bool isOnMap(TermKind kind) {
  return kind == TermKind::AxisQuery || kind == TermKind::AxisKey || kind == TermKind::StridedAxis ||
         kind == TermKind::KeyAxisTable || kind == TermKind::ScalarMap || kind == TermKind::ScalarMapAxes ||
         kind == TermKind::ValueAxis;
}
bool isValueSide(TermKind kind) { return kind == TermKind::ValueOffset || kind == TermKind::ValueAxis; }
bool isContracted(TermKind kind) {
  return kind == TermKind::OffsetQuery || kind == TermKind::OffsetKey || kind == TermKind::AxisQuery ||
         kind == TermKind::AxisKey || kind == TermKind::StridedAxis || kind == TermKind::KeyTable ||
         kind == TermKind::KeyAxisTable || kind == TermKind::TokenRows;
}
bool isOfTokens(TermKind kind) {
  return kind == TermKind::TokenRows || kind == TermKind::TokenScalar || kind == TermKind::TokenNumber;
}
bool isScalar(TermKind kind) {
  return kind == TermKind::KeyScalar || kind == TermKind::QueryScalar || kind == TermKind::ScalarOffset ||
         kind == TermKind::ScalarMap || kind == TermKind::ScalarMapAxes || kind == TermKind::Gated ||
         kind == TermKind::Matrix || kind == TermKind::TokenScalar;
}

bool isWholeScore(TermKind kind) {
  return kind == TermKind::OffsetQuery || kind == TermKind::AxisQuery || kind == TermKind::StridedAxis ||
         kind == TermKind::KeyTable || kind == TermKind::KeyAxisTable || kind == TermKind::Gated ||
         kind == TermKind::TokenRows;
}

static TermKind withoutMap(TermKind kind) {
  switch (kind) {
  case TermKind::AxisQuery:
  case TermKind::StridedAxis:
    return TermKind::OffsetQuery;
  case TermKind::AxisKey:
    return TermKind::OffsetKey;
  case TermKind::KeyAxisTable:
    return TermKind::KeyTable;
  case TermKind::ScalarMap:
  case TermKind::ScalarMapAxes:
    return TermKind::ScalarOffset;
  case TermKind::ValueAxis:
    return TermKind::ValueOffset;
  default:
    return kind;
  }
}

static bool hasOffset(TermKind kind) {
  return kind != TermKind::StridedAxis && kind != TermKind::KeyTable && kind != TermKind::KeyAxisTable &&
         kind != TermKind::KeyScalar && kind != TermKind::QueryScalar && kind != TermKind::Matrix &&
         kind != TermKind::Position && !isOfTokens(kind);
}

static void normaliseRow(const Spec &spec, Term &term) {
  if (!hasOffset(term.kind))
    term.row = RowForm::Plain;
  // A score that a softmax masks away may be read outside; other functions see every score.
  if (term.row == RowForm::Causal && spec.weights != Weights::Softmax)
    term.row = RowForm::Plain;
  bool isCausal = spec.mask == Mask::Causal || spec.mask == Mask::Strict;
  bool oneAxis = term.kind == TermKind::OffsetQuery || term.kind == TermKind::OffsetKey;
  if (term.row == RowForm::Causal && (!isCausal || !oneAxis))
    term.row = RowForm::Plain;
  bool isMapScalar = term.kind == TermKind::ScalarMap || term.kind == TermKind::ScalarMapAxes;
  if (isMapScalar && term.row != RowForm::Absolute)
    term.row = RowForm::Plain;
  if (term.kind == TermKind::Slope && term.row != RowForm::Plain && term.row != RowForm::Clamped)
    term.row = RowForm::Absolute;
  if (term.row == RowForm::Windowed)
    term.guard = Guard::Window;
  // A guard names axes of the tensor that it stands behind.
  bool isOfKey = term.kind != TermKind::TokenRows && isOfTokens(term.kind) && term.token == TokenForm::Key;
  if (term.kind == TermKind::QueryScalar || term.kind == TermKind::KeyScalar || isOfKey)
    term.guard = Guard::None;
  if (term.row != RowForm::Plain && term.row != RowForm::Halved)
    term.sign = 1;
  if (term.row != RowForm::Plain || !hasOffset(term.kind) || isMapScalar || term.kind == TermKind::Slope)
    term.low = term.high = 0;
}

static void normaliseSpelling(const Spec &spec, Term &term) {
  Spelling &spelling = term.spelling;
  bool isPastedSkew =
      spelling == Spelling::Skew || spelling == Spelling::RelativeToAbsolute || spelling == Spelling::RelativeShift;
  bool isSquare =
      spec.queries == spec.keys && term.guard == Guard::None && term.kind == TermKind::OffsetQuery && spec.content;
  if (isPastedSkew && (!isSquare || term.row != RowForm::Plain || term.sign != 1 || term.low || term.high))
    spelling = Spelling::Einsum;
  // Music Transformer's form is right under the causal mask alone.
  if (spelling == Spelling::CausalShift &&
      (!isSquare || term.row != RowForm::Causal || spec.mask != Mask::Causal || spec.cap != 0 || isPart(spec)))
    spelling = Spelling::Einsum;
  bool readsInside = term.row != RowForm::Windowed && term.row != RowForm::Causal;
  bool isRow = term.kind == TermKind::OffsetQuery || term.kind == TermKind::OffsetKey;
  // A gathered row is over whole positions: where the mask names the map's axes, the content must have named them.
  bool namesAxes = spec.content || !spec.mapNames;
  if (spelling == Spelling::Gather && (!isRow || !readsInside || !namesAxes))
    spelling = Spelling::Einsum;
  if (spelling == Spelling::Index && (!isScalar(term.kind) || !readsInside || !spec.content || spec.groupedText))
    spelling = Spelling::Einsum;
  bool isOwnEinsum = spelling == Spelling::Einsum && (isContracted(term.kind) || isValueSide(term.kind));
  bool isWhole = spec.queryPart.beyond < 0 && spec.keyPart.beyond < 0;
  if (!spec.map || !spec.content || !isOwnEinsum || !isWhole)
    term.otherNames = false;
}

/// A part of a map is a stretch of its tokens, row by row. Key heads that several heads share are there as a whole.
static void normaliseParts(Spec &spec) {
  spec.queryPart.beyond = std::min(spec.queryPart.beyond, spec.map ? spec.queryMap[0] * spec.queryMap[1] - 1 : 64);
  spec.keyPart.beyond = std::min(spec.keyPart.beyond, spec.map ? spec.keyMap[0] * spec.keyMap[1] - 1 : 64);
  if (spec.headPart.beyond > 0)
    spec.headPart.beyond -= spec.headPart.beyond % (spec.heads / spec.groups);
  for (Part *part : {&spec.queryPart, &spec.keyPart, &spec.headPart})
    part->origin = std::clamp<int64_t>(part->origin, 0, std::max<int64_t>(part->beyond, 0));
  spec.wholeOperands &= isPart(spec);
  spec.mapNames &= spec.queryPart.beyond < 0 && spec.keyPart.beyond < 0;
  spec.groupedText &= spec.headPart.beyond < 0;
}

static void normalisePrologue(Spec &spec) {
  bool isWhole = spec.queryPart.beyond < 0 && spec.keyPart.beyond < 0;
  if (spec.turn == Turn::Rope2d && (!spec.map || !isWhole || spec.dim % 4))
    spec.turn = Turn::Rope;
  if (spec.turn == Turn::Rope2dHalf && (!spec.map || !isWhole || spec.dim % 4))
    spec.turn = Turn::RopeHalf;
  // The schemes have a batch axis.
  if (spec.dim % 2 || spec.batch == Batch::None)
    spec.turn = Turn::None;
  if (spec.norm == Norm::Cosine && (!spec.content || spec.groups != spec.heads))
    spec.norm = Norm::None;
  // Over lengths that do not hold what was added a score could be of any size.
  spec.contentBias &= spec.norm != Norm::Cosine;
  spec.keyBias &= spec.norm != Norm::Cosine;
  bool isOneWidth = spec.width == spec.dim;
  if (spec.packing == Packing::All && (spec.queries != spec.keys || spec.groups != spec.heads))
    spec.packing = Packing::KeysValues;
  if (spec.packing != Packing::None && !isOneWidth)
    spec.packing = Packing::None;
  spec.depthMajorKeys &= spec.packing == Packing::None;
}

/// A direct weight has no logarithm of a sum; what divides the result is a number for each head and query, in that
/// order.
static void normaliseWeights(Spec &spec) {
  bool isSoftmax = spec.weights == Weights::Softmax || spec.weights == Weights::Shifted;
  bool isPositive = spec.weights == Weights::Sigmoid || spec.weights == Weights::Exponential;
  spec.lse &= isSoftmax;
  spec.divided &= isPositive && !spec.tokenMajor && !spec.groupedText && spec.packing == Packing::None &&
                  spec.result == ResultOrder::Same;
  spec.content |= spec.weights != Weights::Softmax; // gives the axes names
}

static void normaliseValues(Spec &spec) {
  spec.content |= spec.gated || spec.compared; // gives the axes names
  spec.contentLast &= !spec.gated && !spec.compared;
  spec.compared &= spec.weights == Weights::Softmax;
}

void normalise(Spec &spec) {
  if (spec.heads % spec.groups)
    spec.groups = 1;
  normaliseParts(spec);
  if (spec.map) {
    spec.queries = spec.queryMap[0] * spec.queryMap[1] - std::max<int64_t>(spec.queryPart.beyond, 0);
    spec.keys = spec.keyMap[0] * spec.keyMap[1] - std::max<int64_t>(spec.keyPart.beyond, 0);
  } else {
    spec.mapNames = false;
    if (spec.mask == Mask::MapWindow)
      spec.mask = Mask::Band;
  }
  // Tensors are brought to one shape two by two, by the names of axes: only one may have fewer axes, or none with a
  // name, than the content that comes after it.
  int partial = 0;
  bool needsNames = false, isWhole = false, isScored = false;
  for (Term &term : spec.terms) {
    if (!spec.map)
      term.kind = withoutMap(term.kind);
    needsNames |= term.kind == TermKind::Slope || term.kind == TermKind::Position || term.kind == TermKind::TokenNumber;
    isWhole |= isWholeScore(term.kind);
    bool isPasted = term.spelling != Spelling::Einsum && term.spelling != Spelling::Index;
    partial += (!isWholeScore(term.kind) || isPasted) && !isValueSide(term.kind);
    isScored |= isScalar(term.kind) && term.kind != TermKind::Gated;
  }
  // Closed forms and masks a head or a batch row name axes, which the content gives them.
  bool isOfBatch = spec.mask == Mask::Lengths || spec.mask == Mask::Documents || spec.mask == Mask::Reach;
  spec.content |= needsNames || !isWhole || spec.mask == Mask::PerHead || isOfBatch;
  normaliseWeights(spec);
  spec.groupedText &= spec.groups < spec.heads && !needsNames && !isScored && spec.mask != Mask::PerHead;
  spec.contentLast &= partial <= 1;
  spec.residual &= spec.width == spec.dim && spec.result == ResultOrder::Same;
  normalisePrologue(spec);
  normaliseValues(spec);
  if (spec.batch == Batch::None)
    spec.batchSize = 1;
  for (Term &term : spec.terms) {
    normaliseRow(spec, term);
    normaliseSpelling(spec, term);
    // The terms that come after the content name positions as it does.
    spec.contentLast &= !term.otherNames && (!spec.map || term.spelling != Spelling::Gather);
    term.ofKey &= (spec.content && term.kind == TermKind::TokenRows) || term.kind == TermKind::ValueOffset;
    bool isClosedForm =
        term.kind == TermKind::Position || term.kind == TermKind::Slope || term.kind == TermKind::TokenNumber;
    term.plain &= isContracted(term.kind) && (spec.norm != Norm::None || spec.turn != Turn::None);
    if (isValueSide(term.kind) || isClosedForm) {
      term.bias = false;
      term.spelling = Spelling::Einsum;
    }
  }
}

double costOf(const Spec &spec) {
  double depth = static_cast<double>(spec.width + (spec.content ? spec.dim : 0));
  for (const Term &term : spec.terms)
    depth += isContracted(term.kind) || isValueSide(term.kind) ? static_cast<double>(spec.dim) : 2;
  return depth * static_cast<double>(spec.batchSize * spec.heads * spec.queries * spec.keys);
}

int64_t wholeQueries(const Spec &spec) { return spec.queries + std::max<int64_t>(spec.queryPart.beyond, 0); }
int64_t wholeKeys(const Spec &spec) { return spec.keys + std::max<int64_t>(spec.keyPart.beyond, 0); }
int64_t wholeHeads(const Spec &spec) { return spec.heads + std::max<int64_t>(spec.headPart.beyond, 0); }
bool isPart(const Spec &spec) {
  return spec.queryPart.beyond >= 0 || spec.keyPart.beyond >= 0 || spec.headPart.beyond >= 0;
}

std::map<std::string, int64_t> runTimeSizes(const Spec &spec) {
  if (spec.batch != Batch::RunTime)
    return {};
  return {{"batch", spec.batchSize}};
}
std::map<std::string, int64_t> originsOf(const Spec &spec) {
  std::map<std::string, int64_t> origins;
  auto add = [&](const char *name, const Part &part) {
    if (part.beyond >= 0)
      origins[name] = part.origin;
  };
  add("q0", spec.queryPart);
  add("k0", spec.keyPart);
  add("head0", spec.headPart);
  return origins;
}

} // namespace skewer::fuzz
