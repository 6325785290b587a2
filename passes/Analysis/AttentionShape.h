// Describes an attention for schedules and lowerings: how each operand is walked, in flat positions and strides. The
// list of stages (passes/Stages), the GPU shape (GpuShape.h) and `skewer explain` call shapeOfAttention.
#pragma once
#include "passes/Analysis/BiasKind.h"
#include "passes/Analysis/ElementTerm.h"
#include "passes/Analysis/LengthMap.h"
#include "passes/Analysis/LiveTiles.h"
#include "passes/Analysis/Refusal.h"
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
  uint64_t sum = 0;      // number of the sum that the term is part of; the score is a function of these sums
  bool inPlace = false;  // the schedule says so: keys are read where they lie, not packed into panels
  bool areBytes = false; // queries and keys are i8 in memory, each row times a number (ByteRows.h)
};
class TermStrategy;

/// Any other term. `bias` says which part of it is prepared: all of it, or all except the gates. A gate is an operand
/// with one number for each query.
struct OtherTerm : ElementTerm {
  std::shared_ptr<const attn::Term> term;
  BiasKind bias = BiasKind::Element;
  const TermStrategy *own = nullptr; // computes the term; if null, it is computed element by element (TermStrategy.h)
  bool onMap = false;                // BiasKind::Difference: the differences are those of each axis of KeyBounds::map
  std::vector<unsigned> gates;       // places in `arguments`
  Walk row;                          // BiasKind::Row: the walk of the operand that is not a gate
  /// BiasKind::Row: the stride from one query to the next, if it is known only at the call; `row.query` is unused then.
  std::optional<subscript::Expr> rowStride;
  /// For layers of run-time length whose `offsets` leave the operands at hidden pairs (`guard` contains the mask then):
  /// offsets that stay inside the operands for hidden pairs too, and the guard to use with them. Empty if not derived.
  std::vector<subscript::Expr> insideOffsets;
  std::optional<subscript::Expr> insideGuard;

  bool isGate(unsigned place) const { return llvm::is_contained(gates, place); }
};
/// One conjunct of a mask.
struct MaskPart {
  subscript::Expr predicate; // over all axes
  BiasKind kind = BiasKind::Element;
};

/// The bounds that the mask sets on the key position for all queries (lengths, padding): no query of a head sees a key
/// before `low`, or a key from `high` on. The bounds are expressions over the leading axes. They may lie outside the
/// keys. An open bound is empty.
struct KeyBounds {
  std::optional<subscript::Expr> low, high;
  std::vector<MaskPart> parts; // conjuncts that state these bounds and nothing else
  /// The pairs that the masks of kind Tiles and the interval leave visible, if known at compile time; else null.
  std::shared_ptr<const LiveTiles> tiles = nullptr;
  /// The numbers of queries and keys, if known only at run time, as expressions over reads of the kernel's lengths. The
  /// shape's `queries` and `keys` are upper bounds then.
  std::optional<subscript::Expr> queryLength, keyLength;
  std::optional<LengthMap> map = std::nullopt; // the map of run-time width that the single key axis stands for
};

/// The results that an attention returns besides its main result, each contiguous: the log-sum-exp of each row or, with
/// direct weights, the sum of the row's weights, [leading…, queries]; and the weights, [leading…, queries, keys].
struct FurtherResults {
  bool lse = false, total = false, weights = false;
  /// The predicate of the weights whose keys are visible; empty if all keys are.
  std::optional<subscript::Expr> seen;
};

enum class TermRole { Content, Row, Other };

struct AttentionShape {
  attn::ScoreSpace space;
  int64_t queries = 0, keys = 0, width = 0; // `width`: width of the values
  std::vector<MapAxis> queryAxes, keyAxes;
  std::vector<ContentTerm> content;
  std::vector<RowTerm> rows;
  std::vector<OtherTerm> others;
  double scoreFactor = 1;            // multiplies the sum of all terms; positive
  std::vector<TermRole> roles;       // of each term of the score, in the order of the score
  std::vector<ValueTerm> valueTerms; // in the order of the attention
  Walk value, result;                // `depth` is the stride along the value width
  FurtherResults further;
  /// The function that scores go through (the attention's region), or null; and how many sums of terms it takes.
  mlir::Region *through = nullptr;
  int64_t sums = 1;
  /// Whether the weights are the value of that function, without a softmax after it.
  bool direct = false;
  /// Returns whether the weights are the softmax of the sum of the terms. A term of the query alone does not change
  /// such weights.
  bool isPlainSoftmax() const { return !direct && !through; }
  /// Returns whether the weights of a softmax are only multiplied with the values, so that they may be made in few
  /// digits.
  bool mayRoundWeights() const { return !direct && valueTerms.empty() && !further.lse && !further.weights; }
  /// Returns the weight of a key that is hidden or does not exist: 0, or -0 as a direct weight, which no visible key
  /// has. A sum of weights begins with it, so that the sum keeps this value if no key is seen.
  float noWeight() const { return direct ? -0.0f : 0.0f; }
  /// The interval of key - query + `visibleShift` in which keys are visible, if the mask is an interval; open ends are
  /// INT64_MIN/MAX. The shift is known at run time.
  std::optional<subscript::Range> visible;
  subscript::Expr visibleShift;
  /// The number of first keys that are visible although the interval begins later (memory tokens, sinks), and the
  /// conjunct that states both.
  int64_t prefix = 0;
  std::optional<MaskPart> prefixMask;
  /// The conjuncts of the mask that are not an interval.
  std::vector<MaskPart> masks;
  KeyBounds bounds; // `bounds.parts` are not in `masks`
  bool hasLength() const { return bounds.queryLength || bounds.keyLength; }
};

/// Returns the values and the operands of the terms, each once. "Argument" n of an AttentionShape is the n-th of them.
/// They may be inputs of the kernel or results of earlier stages.
llvm::SmallVector<mlir::Value> operandsOf(attn::AttentionOp);
/// Returns a result in the order in which it is read: behind the rearrangements that are its only readers.
mlir::Value asRead(mlir::Value result);
/// Returns the shape of the attention. Refuses if the values are not walked with even strides; the generic path
/// computes such attentions. Without `picks`, rows that keys pick do not become content terms: for lowerings that can
/// walk keys and values only with strides.
OrRefusal<AttentionShape> shapeOfAttention(attn::AttentionOp, bool picks = true);

/// Refuses an attention with a tensor that has a run-time size other than its first: only the first has no part in
/// strides.
std::optional<Refusal> refuseInnerRuntimeSizes(attn::AttentionOp);

/// Sets `visible` to an interval of key - query that contains all visible pairs, if the masks bound each axis of a map.
void boundByMap(AttentionShape &);

/// Adds the bound that a conjunct sets on the keys of all queries, such as "j < lengths[b]", to `bounds`. If the
/// conjunct says nothing else, makes it one of `bounds.parts` and returns true.
bool takeBounds(const MaskPart &, AttentionShape &);
/// Moves the parts of `bounds` back into `masks`, for lowerings that do not support bounds.
void leaveBounds(AttentionShape &);

/// Moves a conjunct that shows every query the first keys and the keys from a distance on ("j < 16 or i - j < 64") into
/// `visible` and `prefix`. Returns false if the conjunct says more than that, or does not combine with their present
/// values.
bool takePrefix(const MaskPart &, AttentionShape &);
/// Moves `prefix` back into `masks`, for lowerings that support intervals only.
void leavePrefix(AttentionShape &);

} // namespace skewer
