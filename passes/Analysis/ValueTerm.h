// Terms that a key adds to the result besides its value, in the form that the CPU kernels compute: tables that a pair
// of positions reads.
#pragma once
#include "dialect/IR/Term.h"
#include "mlir/IR/Value.h"
#include "passes/Analysis/Refusal.h"
#include "passes/Analysis/Walk.h"

namespace skewer {

enum class ValueKind {
  Key,  // depends on the key alone: added to the values
  Runs, // depends on key - query, in few runs: weights × rows along diagonals, sums of weights where the row stays
  Axis, // the same on one axis of a map: weights are summed over the other axes first
  Pairs // anything else: read for each query and key
};

/// The offsets key - query from `low` to `high`, both inclusive. They read at element `start` + step*(offset - low),
/// counted from the table's base.
struct OffsetRun {
  int64_t low = 0, high = -1, start = 0, step = 0;
  int64_t length() const { return high - low + 1; }
  /// Returns whether the run stays on one row long enough to sum its weights before the product with the row.
  bool isSummed() const { return step == 0 && length() > 4; }
};

/// Σ_j p_ij · scale · table[base + …]; 0 where the guard does not hold.
struct ValueTerm {
  ValueKind kind = ValueKind::Pairs;
  unsigned argument = 0;                        // number in operandsOf(attention)
  subscript::Expr base;                         // over the leading axes
  int64_t keyStride = 0;                        // Key
  int64_t widthStride = 1;                      // elements for one step of the values' width
  std::vector<OffsetRun> runs;                  // Runs, Axis; ascending
  MapAxis queryAxis, keyAxis;                   // Axis
  subscript::Expr offset;                       // Pairs: the element at width 0, over all axes
  std::optional<subscript::Expr> guard, factor; // Pairs
  double scale = 1;
};

/// Returns the form of a term of the values. Refuses if the term has several operands or a contraction, or if its table
/// cannot be read along the width. `argument` is the number of the operand.
OrRefusal<ValueTerm> valueTermOf(const attn::Term &, unsigned argument);

} // namespace skewer
