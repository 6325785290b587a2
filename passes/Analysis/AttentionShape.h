// What the CPU lowering needs to know of a scheduled attention: how each operand is walked, in flat positions and
// strides.
#pragma once
#include "passes/Analysis/BiasKind.h"
#include "passes/Analysis/ElementTerm.h"
#include "passes/Analysis/LengthMap.h"
#include "passes/Analysis/LiveTiles.h"
#include "passes/Analysis/RowTerm.h"
#include "passes/Analysis/ValueTerm.h"
#include "passes/Analysis/Walk.h"
#include <optional>

namespace skewer {

/// q_i · k_j.
struct ContentTerm {
  Walk query, key;
  int64_t depth = 1;
  double scale = 1;
  uint64_t sum = 0;     // of those that the score is a function of
  bool inPlace = false; // keys are read where they lie, not brought into panels: as the schedule says
};
/// q_i · R[sign*(key axis - query axis) + constant].
struct OffsetTerm {
  Walk query;
  unsigned table = 0;        // argument
  subscript::Expr tableBase; // over the leading axes
  int64_t rowStride = 0, depthStride = 0, rows = 0, depth = 1;
  std::optional<subscript::Expr> rowLength; // so many of the rows are there
  MapAxis queryAxis, keyAxis;
  int64_t sign = 1, constant = 0;
  subscript::Expr shift; // added to the constant at run time: where a part begins
  double scale = 1;
  std::vector<std::string> tableAxes; // leading axes on which the table's base depends
  uint64_t sum = 0;
};
class TermStrategy;

/// Anything else. `bias` says what of it is prepared: all, or all but the gates, operands that are one number a query.
struct OtherTerm : ElementTerm {
  std::shared_ptr<const attn::Term> term;
  BiasKind bias = BiasKind::Element;
  const TermStrategy *own = nullptr; // computes it, instead of element by element (TermStrategy.h)
  bool onMap = false;                // BiasKind::Difference: along each axis of KeyBounds::map
  std::vector<unsigned> gates;       // places in `arguments`
  Walk row;                          // BiasKind::Row: of the operand that is no gate
  /// … from one query to the next, where that is a number of the call: `row.query` says nothing then.
  std::optional<subscript::Expr> rowStride;
  /// Offsets that stay inside their operands for hidden pairs too, where `offsets` do not (the mask is in `guard` then),
  /// and the guard beside them; of layers of run-time length. Empty: not asked.
  std::vector<subscript::Expr> insideOffsets;
  std::optional<subscript::Expr> insideGuard;

  bool isGate(unsigned place) const { return llvm::is_contained(gates, place); }
};
/// One conjunct of a mask.
struct MaskPart {
  subscript::Expr predicate; // over all axes
  BiasKind kind = BiasKind::Element;
};

/// What the mask says of keys that lie one behind the other, whoever asks (lengths, padding): those before `low` and
/// from `high` on are seen by no query of a head. Over the leading axes; may be beyond the first and the last key; what
/// is open is not there.
struct KeyBounds {
  std::optional<subscript::Expr> low, high;
  std::vector<MaskPart> parts; // conjuncts that say nothing else
  /// Of single pairs, where that is known at compile time: what masks of kind Tiles and the interval leave; else null.
  std::shared_ptr<const LiveTiles> tiles = nullptr;
  /// How many queries and keys there are, where that is known at run time only, over reads of the kernel's lengths: the
  /// shape's `queries` and `keys` are the most then.
  std::optional<subscript::Expr> queryLength, keyLength;
  std::optional<LengthMap> map = std::nullopt; // that the one axis of the keys is, of run-time width
};

/// What an attention is asked for besides its result, contiguous: of rows, [leading…, queries], the log-sum-exp or, of
/// direct weights, their sum; and the weights themselves, [leading…, queries, keys].
struct FurtherResults {
  bool lse = false, total = false, weights = false;
  /// Which of the weights are those of keys that are seen, where not all are.
  std::optional<subscript::Expr> seen;
};

enum class TermRole { Content, Offset, Row, Other };

struct AttentionShape {
  attn::ScoreSpace space;
  int64_t queries = 0, keys = 0, width = 0; // width: of the values
  std::vector<MapAxis> queryAxes, keyAxes;
  std::vector<ContentTerm> content;
  std::vector<OffsetTerm> offsets;
  std::vector<RowTerm> rows;
  std::vector<OtherTerm> others;
  std::vector<TermRole> roles;       // of each term of the score, in its order
  std::vector<ValueTerm> valueTerms; // in their order
  Walk value, result;                // depth: along the value width
  FurtherResults further;
  /// The function that scores go through: the attention's region, null where there is none; of so many sums of terms.
  mlir::Region *through = nullptr;
  int64_t sums = 1;
  /// Weights are that function's value, and no softmax follows.
  bool direct = false;
  /// Whether weights are the softmax of the terms' sum: what depends on the query alone changes none of them.
  bool isPlainSoftmax() const { return !direct && !through; }
  /// key - query of the visible keys, if the mask is such an interval; open ends are INT64_MIN/MAX.
  std::optional<subscript::Range> visible;
  subscript::Expr visibleShift; // … of key - query + this, which is known at run time
  /// Keys before this one are seen although the interval begins later (tokens of a memory, sinks), and the conjunct
  /// that says both.
  int64_t prefix = 0;
  std::optional<MaskPart> prefixMask;
  /// The conjuncts of the mask that are no interval.
  std::vector<MaskPart> masks;
  KeyBounds bounds; // its parts are not among `masks`
  bool hasLength() const { return bounds.queryLength || bounds.keyLength; }
};

/// The values and what the terms read, each once: "argument" n of an AttentionShape is the n-th of them. Whether they
/// are the kernel's inputs or results of earlier stages makes no difference here.
llvm::SmallVector<mlir::Value> operandsOf(attn::AttentionOp);
/// Nothing where the values are not walked with even strides: the generic path takes those. `reason` says which.
/// Without `picks`, for who walks keys and values with strides alone, rows that keys pick are no content.
std::optional<AttentionShape> shapeOfAttention(attn::AttentionOp, std::string &reason, bool picks = true);

/// Where masks bound each axis of a map, sets `visible` to the interval of positions that holds what they leave.
void boundByMap(AttentionShape &);

/// What a conjunct implies of all queries' keys, "j < lengths[b]", is put into the bounds; where it says no more, it is
/// one of their parts from now on, and the result is true.
bool takeBounds(const MaskPart &, AttentionShape &);
/// For who knows no bounds: those parts are among `masks` again.
void leaveBounds(AttentionShape &);

/// A conjunct that lets every query see the first keys, or those from a distance on: "j < 16 or i - j < 64". Takes it
/// into `visible` and `prefix`; false where that is not all that it says, or not beside what they say already.
bool takePrefix(const MaskPart &, AttentionShape &);
/// For who knows intervals alone: the prefix is one of `masks` again.
void leavePrefix(AttentionShape &);

} // namespace skewer
